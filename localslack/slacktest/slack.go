// Package slacktest is a small language for tests about an app on Slack: people
// say and click things, the test expects what the app shows them.
//
//	ws := slacktest.New(t)
//	ana, mgr := ws.User("ana"), ws.User("mgr")
//	ask := ana.Says("#ops", "@countersign delete doc_42")
//	card := ws.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
//	mgr.Clicks(card, "approval_approve")
//	ws.ExpectUpdate(card, slacktest.Text("approved"))
//	ws.NoStray()
//
// Every wait is driven by the server's changes and has a deadline; nothing
// sleeps. It is a package of its own so that the server links no testing code.
// When a test ends, every rule of Slack that the app broke fails it, unless
// the test allowed that.
package slacktest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/blockkit"
)

// The tokens that the server takes.
const (
	AppToken = "xapp-1-local"
	BotToken = "xoxb-local"
)

// Slack is one running local Slack with its expectations.
type Slack struct {
	Server *localslack.Server
	// Wait bounds every expectation; a minute unless the test sets another: a slow machine
	// fails no test, and what is there ends the wait at once.
	Wait time.Duration

	t       testing.TB
	seen    map[string]bool // messages of the bot that an expectation took
	allowed []string
}

// New starts a local Slack with the default cast, changed by the options, and
// ends it with the test.
func New(t testing.TB, options ...func(*localslack.Config)) *Slack {
	t.Helper()
	cfg := Cast()
	for _, o := range options {
		o(&cfg)
	}
	srv, err := localslack.New(cfg)
	if err != nil {
		t.Fatalf("local Slack: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("local Slack: %v", err)
	}
	if err := srv.Start(l); err != nil {
		t.Fatalf("local Slack: %v", err)
	}
	s := &Slack{Server: srv, Wait: time.Minute, t: t, seen: map[string]bool{}}
	t.Cleanup(s.end)
	return s
}

// Cast is the default workspace: ana (member), mgr (manager), fin (finance),
// oli (outsider), gus (guest), eve (deactivated); #ops with all but eve, the
// private #vault with ana, mgr and the bot, #quiet without the bot.
func Cast() localslack.Config {
	bot := "U0BOT"
	return localslack.Config{
		AppToken: AppToken, BotToken: BotToken,
		App: localslack.Manifest{
			App: localslack.App{ID: "A0LOCAL", BotID: "B0LOCAL", UserID: bot, Name: "countersign"}, Commands: []string{"/countersign"},
		},
		Team: localslack.Team{ID: "T0LOCAL", Name: "Local", Domain: "local"},
		People: []localslack.Person{
			{ID: "U0ANA", Name: "ana", RealName: "Ana"},
			{ID: "U0MGR", Name: "mgr", RealName: "Manager"},
			{ID: "U0FIN", Name: "fin", RealName: "Finance"},
			{ID: "U0OLI", Name: "oli", RealName: "Outsider", TeamID: "T0OTHER"},
			{ID: "U0GUS", Name: "gus", RealName: "Guest", IsRestricted: true},
			{ID: "U0EVE", Name: "eve", RealName: "Former", Deleted: true},
		},
		Usergroups: []localslack.Usergroup{
			{ID: "S0MGR", Handle: "managers", Name: "Managers", Members: []string{"U0MGR"}},
			{ID: "S0FIN", Handle: "finance", Name: "Finance", Members: []string{"U0FIN", "U0MGR"}},
		},
		Channels: []localslack.Channel{
			{ID: "C0OPS", Name: "ops", Members: []string{bot, "U0ANA", "U0MGR", "U0FIN", "U0OLI", "U0GUS"}},
			{ID: "C0VAULT", Name: "vault", Kind: localslack.Private, Members: []string{bot, "U0ANA", "U0MGR"}},
			{ID: "C0QUIET", Name: "quiet", Members: []string{"U0ANA", "U0MGR"}},
		},
		Limits: localslack.Limits{Factor: 20},
	}
}

// Env is what an app of ours reads to find this server.
func (s *Slack) Env() map[string]string {
	return map[string]string{"SLACK_APP_TOKEN": AppToken, "SLACK_BOT_TOKEN": BotToken, "SLACK_API_URL": s.Server.APIURL()}
}

// Allow lets the app break these rules (localslack.Violation…) in this test.
func (s *Slack) Allow(kinds ...string) { s.allowed = append(s.allowed, kinds...) }

// end closes the server and fails the test for what the app broke.
func (s *Slack) end() {
	if err := s.Server.Close(); err != nil {
		s.t.Errorf("closing local Slack: %v", err)
	}
	for _, v := range s.Server.Violations() {
		if !slices.Contains(s.allowed, v.Kind) {
			s.t.Errorf("the app broke a rule of Slack: %s %s", v.Kind, v.Detail)
		}
	}
}

// Channel finds a channel's id by "#name" or id.
func (s *Slack) Channel(name string) string {
	s.t.Helper()
	for _, c := range s.Server.Workspace().Channels("") {
		if c.ID == name || c.Name == strings.TrimPrefix(name, "#") && c.Name != "" {
			return c.ID
		}
	}
	s.t.Fatalf("no channel %s", name)
	return ""
}

// until waits for a condition that a change of the workspace makes true.
func (s *Slack) until(what string, holds func() bool) {
	s.t.Helper()
	ws := s.Server.Workspace()
	w := ws.Watch(ws.Seq())
	defer w.Close()
	ctx, cancel := context.WithTimeout(context.Background(), s.Wait)
	defer cancel()
	for !holds() {
		if _, err := w.Next(ctx); err != nil {
			s.t.Fatalf("waited %s for %s\n%s", s.Wait, what, s.Transcript())
		}
	}
}

// Until waits for a condition about the server that a change makes true.
func (s *Slack) Until(what string, holds func(*localslack.Server) bool) {
	s.t.Helper()
	s.until(what, func() bool { return holds(s.Server) })
}

// Transcript is everything that was said, for failures and goldens.
func (s *Slack) Transcript() string {
	var b strings.Builder
	ws := s.Server.Workspace()
	for _, c := range ws.Channels("") {
		for _, m := range ws.Messages(c.ID, "") {
			indent := ""
			if m.IsReply() {
				indent = "    "
			}
			who, _ := ws.Person(m.User)
			only := ""
			if p, ok := ws.Person(m.EphemeralTo); ok {
				only = " (only for " + p.Name + ")"
			}
			fmt.Fprintf(&b, "%s#%s %s%s: %s\n", indent, c.Name, who.Name, only, m.Text)
			for _, t := range blockkit.Texts(m.Blocks) {
				fmt.Fprintf(&b, "%s    | %s\n", indent, t)
			}
		}
	}
	for _, n := range ws.Notices("") {
		fmt.Fprintf(&b, "notice to %s: %s\n", n.User, n.Text)
	}
	return b.String()
}

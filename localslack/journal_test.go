package localslack_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/slacktest"

	"github.com/google/go-cmp/cmp"
)

// keeping makes a server that keeps what it holds in a folder.
func keeping(dir string) func(*localslack.Config) {
	return func(c *localslack.Config) { c.Dir = dir }
}

// started is a server that a test ends by itself, to start it again.
func started(t *testing.T, dir string) *localslack.Server {
	t.Helper()
	cfg := slacktest.Cast()
	keeping(dir)(&cfg)
	s, err := localslack.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(l); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEverythingIsThereAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newDesk(t, keeping(dir))
	ana := d.ws.User("ana")
	m := ana.Says("#ops", "hello")
	ana.Edits(m, "hello again")
	ana.Reacts(m, "eyes")
	gone := ana.Says("#ops", "gone")
	ana.Deletes(gone)
	d.open(ana, editModal())
	d.call("views.publish", map[string]any{"user_id": ana.ID, "view": map[string]any{"type": "home", "blocks": blocks(t, card)}})
	if err := d.ws.Server.PutPerson(localslack.Person{ID: "U0MGR", Name: "mgr", RealName: "Renamed", TeamID: "T0LOCAL"}); err != nil {
		t.Fatal(err)
	}

	again := started(t, dir)
	defer again.Close()
	old, now := d.ws.Server.Workspace(), again.Workspace()
	if diff := cmp.Diff(old.People(), now.People()); diff != "" {
		t.Errorf("people (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(old.Channels(""), now.Channels("")); diff != "" {
		t.Errorf("channels (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(old.Messages("C0OPS", ""), now.Messages("C0OPS", "")); diff != "" {
		t.Errorf("messages (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(old.Views(ana.ID), now.Views(ana.ID)); diff != "" {
		t.Errorf("views (-before +after):\n%s", diff)
	}
	home, ok := now.Home(ana.ID)
	if want, _ := old.Home(ana.ID); !ok || cmp.Diff(want, home) != "" {
		t.Errorf("home %v", home)
	}
	late, err := again.Say(t.Context(), localslack.Post{User: ana.ID, Channel: "C0OPS", Text: "after"})
	if err != nil || late.TS <= m.TS {
		t.Errorf("a new message got ts %s after %s: %v", late.TS, m.TS, err)
	}
}

func TestACutLastLineLosesOnlyItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := started(t, dir)
	for _, text := range []string{"one", "two"} {
		if _, err := s.Say(t.Context(), localslack.Post{User: "U0ANA", Channel: "C0QUIET", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "slack.jsonl")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw[:len(raw)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	again := started(t, dir)
	defer again.Close()
	if got := again.Workspace().Messages("C0QUIET", ""); len(got) != 1 || got[0].Text != "one" {
		t.Errorf("got %v", got)
	}
	if _, err := again.Say(t.Context(), localslack.Post{User: "U0ANA", Channel: "C0QUIET", Text: "three"}); err != nil {
		t.Fatal(err)
	}
	third := started(t, dir)
	defer third.Close()
	if got := third.Workspace().Messages("C0QUIET", ""); len(got) != 2 {
		t.Errorf("after writing on: %v", got)
	}
}

func TestALongJournalIsRewritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := started(t, dir)
	m, err := s.Say(t.Context(), localslack.Post{User: "U0ANA", Channel: "C0QUIET", Text: "first"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 1100 {
		if _, err := s.EditMessage(t.Context(), "U0ANA", "C0QUIET", m.TS, fmt.Sprint("edit ", n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Say(t.Context(), localslack.Post{User: "U0ANA", Channel: "C0OPS", Text: "@countersign unheard"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := started(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "slack.jsonl"))
	if lines := strings.Count(string(raw), "\n"); err != nil || lines > 50 {
		t.Errorf("%d lines are left: %v", lines, err)
	}
	again := started(t, dir)
	defer again.Close()
	if got, _ := again.Workspace().Message("C0QUIET", m.TS); got.Text != "edit 1099" || got.Version != 1101 {
		t.Errorf("got %q, version %d", got.Text, got.Version)
	}
	if n := strings.Count(string(raw), `"kind":"event"`); n != 2 { // a mention and its message
		t.Errorf("%d undelivered events are left", n)
	}
}

func TestABrokenJournalIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "slack.jsonl"), []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := slacktest.Cast()
	cfg.Dir = dir
	if _, err := localslack.New(cfg); err == nil {
		t.Error("it started")
	}
}

func TestUnackedEventsOutliveTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := started(t, dir)
	if _, err := s.Say(t.Context(), localslack.Post{User: "U0ANA", Channel: "C0OPS", Text: "@countersign stop"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ws := slacktest.New(t, keeping(dir))
	a := connected(t, ws)
	if e := a.take("app_mention"); e.RetryAttempt != 1 {
		t.Errorf("attempt %d", e.RetryAttempt)
	}
	a.take("message")
	ws.ExpectAcked()

	third := slacktest.New(t, keeping(dir), func(c *localslack.Config) { c.Timing.Ack = 50 * time.Millisecond })
	b := connected(t, third)
	third.User("ana").Says("#quiet", "nothing for the bot")
	b.call("auth.test", nil)
	if n := len(third.Server.Deliveries()); n != 0 {
		t.Errorf("%d acked events came again", n)
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	s, err := localslack.New(slacktest.Cast())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if s.Start(l) == nil {
		t.Error("it serves every network")
	}
}

// Package doctor examines everything that serving needs, with the configuration
// that would be served: Slack, people, the database, clocks, the model, the tools.
// What is broken comes with what to do about it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"countersign/agent/llm"
	"countersign/approvals/policy"
	"countersign/bot"
	"countersign/bot/survey"
	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/tools"
)

// Level says how bad a finding is.
type Level string

// The levels. A warning does not keep the bot from working.
const (
	OK     Level = "ok"
	Warn   Level = "warning"
	Broken Level = "broken"
)

// Finding is one thing that was looked at.
type Finding struct {
	Level Level
	Area  string // slack, people, database, clock, model, tools, config
	Text  string // one sentence; holds no secrets
	Fix   string // one sentence: what to do; empty for what is fine
}

// Slack is what is asked of Slack; bot/survey answers.
type Slack interface {
	Token(ctx context.Context) (survey.Token, error)
	Open(ctx context.Context) error
	Greet(ctx context.Context) (others int, err error)
	Channel(ctx context.Context, id string) (survey.Channel, error)
	Joined(ctx context.Context) (survey.Channel, bool, error)
	Usergroups(ctx context.Context) ([]survey.Usergroup, error)
	Person(ctx context.Context, self bot.Self, user string) (policy.Person, error)
}

// Database is what is asked of the database.
type Database interface {
	SchemaVersion(ctx context.Context) (current, known int64, err error)
	DatabaseNow(ctx context.Context) (time.Time, error)
	// Codes names the people whose secrets of one-time codes were never sealed, and
	// those whose cannot be opened with the configured keys.
	Codes(ctx context.Context) (plain, lost []string, err error)
	// Sightings gives when each kind of what Slack sends was last seen.
	Sightings(ctx context.Context, installation string) (map[string]time.Time, error)
	Close() error
}

// Subject is what is examined. A nil part is left out.
type Subject struct {
	Config   *config.Config
	Slack    Slack
	Database func(ctx context.Context) (Database, error)
	Model    llm.Model
	Tools    func(ctx context.Context) (*tools.Registry, error)
	Absent   func() map[string]string // asked after Tools: MCP servers that are not connected, and why
	Scopes   []string                 // that the bot token must have
	Events   []string                 // that the app must subscribe to
	Now      func() time.Time
	MaxSkew  time.Duration // between our clock and the database's, beyond which nothing is claimed
	Running  string        // what a countersign that serves here already says of itself; empty: none does
	Brief    bool          // leave out what costs money or takes part in the traffic
}

// timeout bounds one area; Slack's page of a large workspace takes a second each.
const timeout = 30 * time.Second

// Examine looks at every area and gives what it finds, in a fixed order. It takes
// no longer than the context allows.
func Examine(ctx context.Context, s *Subject) []Finding {
	e := &examiner{Subject: s}
	e.warnings()
	for _, area := range []func(context.Context){e.listener, e.database, e.slack, e.events, e.model, e.tools} {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		area(bounded)
		cancel()
	}
	return e.findings
}

// examiner collects findings.
type examiner struct {
	*Subject
	findings []Finding
	token    survey.Token
	skewed   bool // our clock is known to be wrong
	current  bool // the database has our schema
}

func (e *examiner) ok(area, format string, args ...any) {
	e.findings = append(e.findings, Finding{Level: OK, Area: area, Text: fmt.Sprintf(format, args...)})
}

func (e *examiner) warn(area, fix, format string, args ...any) {
	e.findings = append(e.findings, Finding{Level: Warn, Area: area, Text: fmt.Sprintf(format, args...), Fix: fix})
}

func (e *examiner) broken(area, fix, format string, args ...any) {
	e.findings = append(e.findings, Finding{Level: Broken, Area: area, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// warnings repeats what the configuration itself is warned about, and what it lacks.
func (e *examiner) warnings() {
	var missing config.Problems
	if errors.As(e.Config.ServeProblems(), &missing) {
		for _, p := range missing {
			what, fix, _ := strings.Cut(p.Text, "; ")
			e.broken("config", upper(fix)+".", "%s %s.", p.Key, what)
		}
	}
	for _, w := range e.Config.Warnings() {
		e.warn("config", "Change that setting, if it is not meant so.", "%s.", w)
	}
	if len(e.findings) == 0 {
		e.ok("config", "The configuration is sound.")
	}
	if e.Running != "" {
		e.ok("config", "A countersign serves here already and says: %s.", e.Running)
	}
}

// listener looks whether our own address is free.
func (e *examiner) listener(ctx context.Context) {
	addr := e.Config.HTTP.Addr
	if e.Running != "" || e.Brief || addr == "" {
		return
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		e.broken("config", "Stop what listens there, or set COUNTERSIGN_HTTP_ADDR (http.addr) to another address; empty means none.", "The address %s cannot be listened on.", addr)
		return
	}
	if err := l.Close(); err != nil {
		return // it was free
	}
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// sentence is what may be said of an error: a fault's own words, or the whole
// text, which for the operator is no secret.
func sentence(err error) string {
	if fault.CodeOf(err) != fault.Internal {
		return fault.Message(err)
	}
	return err.Error() + "."
}

// Package apptest is the test house: a whole countersign, wired as in production,
// against the local Slack, the scripted model, a real database and real tools.
package apptest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"countersign/agent/llm/playbook"
	"countersign/bot"
	"countersign/internal/app"
	"countersign/internal/config"
	"countersign/internal/manifest"
	"countersign/internal/shop"
	"countersign/internal/store/storetest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// patience is how long a test waits for what must come: long, because whole worlds run
// side by side on few cores, and what is there ends the wait at once.
const patience = 2 * time.Minute

// World is one countersign with everything around it.
type World struct {
	Slack *slacktest.Slack
	Shop  *shop.Shop
	Dir   string
	Model *httptest.Server
	URL   string // of the database

	t     testing.TB
	opt   Options
	shop  *httptest.Server
	mu    sync.Mutex
	procs []*Process
	ended bool
}

// Options change a world. The zero value is SQLite, the scenes, and the tools of the shop.
type Options struct {
	Database  string                     // sqlite (default), postgres, or the address of an empty database
	YAML      string                     // added to the configuration
	Model     http.Handler               // instead of the scripted one
	Extra     []tools.Tool               // tools beside those of the shop
	Slack     []func(*localslack.Config) // changes of the workspace
	Env       map[string]string          // added to the environment
	Lease     time.Duration              // 0: six seconds
	Now       func() time.Time           // nil: the real clock
	Approvals string                     // instead of the usual approvals section
	Roles     string                     // lines added to the roles
	Think     time.Duration              // of the scripted model
	Sweep     time.Duration              // of leases; 0: two seconds
	Gaps      bot.Gaps                   // zero: short ones
	Log       io.Writer                  // what the process logs goes here too; nil: nowhere else
	Level     slog.Level                 // of what goes there; zero: info
	Traces    trace.TracerProvider       // nil: nothing is traced
}

// Process is one running countersign of a world.
type Process struct {
	App    *app.App
	cancel context.CancelFunc
	done   chan error
}

// New makes a world without a running process.
func New(t testing.TB, o Options) *World {
	t.Helper()
	w := &World{Dir: t.TempDir(), t: t, opt: o}
	w.Slack = slacktest.New(t, append([]func(*localslack.Config){granted, hurried, lenient}, o.Slack...)...)
	w.Slack.Wait = patience
	w.must(shop.Seed(w.Dir))
	now := o.Now
	if now == nil {
		now = time.Now
	}
	var err error
	w.Shop, err = shop.Open(w.Dir, now)
	w.must(err)
	t.Cleanup(func() { _ = w.Shop.Close() }) // the folder goes with it
	w.shop = httptest.NewServer(w.Shop.Handler())
	t.Cleanup(w.shop.Close)
	model := o.Model
	if model == nil {
		model, err = playbook.New(playbook.Scenes(), playbook.Options{Think: o.Think})
		w.must(err)
	}
	w.Model = httptest.NewServer(model)
	t.Cleanup(w.Model.Close)
	w.URL = w.database()
	return w
}

// granted gives the app what its manifest asks for and nothing more: every world
// shows that this is enough.
func granted(c *localslack.Config) {
	cfg := config.Default()
	cfg.Roles = map[string]config.Role{"manager": {Usergroups: []config.UsergroupID{"S0MGR"}}}
	if m, err := manifest.For(cfg, ""); err == nil { // with the default name there is none
		c.App.Scopes, c.App.Events = m.ScopeNames(), m.EventNames()
	}
}

// hurried has Slack's three tries of an event within what a test waits: its own come a
// minute and five minutes later, and what happens while a process starts anew needs them.
func hurried(c *localslack.Config) {
	c.Timing.Retries = []time.Duration{0, patience / 40, patience / 4}
}

// lenient gives the app more than Slack's three seconds, which the soak measures: a machine
// that does other things must not look like a broken rule.
func lenient(c *localslack.Config) { c.Timing.Ack, c.Timing.Trigger = ackWithin, time.Minute }

const ackWithin = 10 * time.Second

// Start makes a world with one running process.
func Start(t testing.TB, o Options) *World {
	t.Helper()
	w := New(t, o)
	w.Run()
	return w
}

func (w *World) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// database gives a fresh database: a file, or a schema of the test server.
func (w *World) database() string {
	if strings.Contains(w.opt.Database, "://") {
		return w.opt.Database
	}
	if w.opt.Database != "postgres" {
		address, _ := storetest.File(w.t)
		return address
	}
	return Postgres(w.t)
}

// Postgres gives the address of a fresh database on the test server. Without a
// server the test is skipped; `make test` always brings one.
func Postgres(t testing.TB) string {
	t.Helper()
	address, _ := storetest.Database(t)
	return address
}

// Config is the world's configuration.
func (w *World) Config() *config.Config {
	w.t.Helper()
	text, env := w.Settings()
	cfg, err := config.Parse("countersign.yaml", []byte(text), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	w.must(err)
	return cfg
}

// Settings are the world's configuration as an operator has it: the text of the
// file, and the environment.
func (w *World) Settings() (text string, env map[string]string) {
	w.t.Helper()
	approvals := w.opt.Approvals
	if approvals == "" {
		approvals = "approvals: {approvers: [manager], ttl: 1h, sweep: 200ms}"
	}
	text = strings.NewReplacer("@SHOP@", w.shop.URL, "@DIR@", w.Dir, "@APPROVALS@", approvals, "@ROLES@", w.opt.Roles).Replace(settings) + w.opt.YAML
	env = w.Slack.Env()
	env["DATABASE_URL"], env["OPENAI_BASE_URL"], env["OPENAI_API_KEY"], env["OPENAI_MODEL"] = w.URL, w.Model.URL+"/v1", "test", playbook.Model
	env["COUNTERSIGN_HTTP_ADDR"] = Free(w.t)
	env["CODES_KEY"] = CodesKey
	for k, v := range w.opt.Env {
		env[k] = v
	}
	return text, env
}

// Free gives an address on which nobody listens, and which nothing else takes meanwhile.
func Free(t testing.TB) string {
	t.Helper()
	port, err := storetest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// Run starts one more process and waits until Slack greeted it.
func (w *World) Run() *Process {
	w.t.Helper()
	return w.RunBetween(nil)
}

// RunBetween is Run with something between the parts and the database.
func (w *World) RunBetween(between func(app.Ports) app.Ports) *Process {
	w.t.Helper()
	return w.run(w.opt.Now, between)
}

// RunByClock is Run with a clock of this process's own.
func (w *World) RunByClock(now func() time.Time) *Process {
	w.t.Helper()
	return w.run(now, nil)
}

func (w *World) run(now func() time.Time, between func(app.Ports) app.Ports) *Process {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	gaps := w.opt.Gaps
	if gaps == (bot.Gaps{}) {
		gaps = bot.Gaps{Post: 60 * time.Millisecond, Update: 70 * time.Millisecond, Progress: 50 * time.Millisecond}
	}
	var log io.Writer = testWriter{w.t}
	if w.opt.Log != nil {
		log = io.MultiWriter(log, w.opt.Log)
	}
	a, err := app.New(ctx, w.Config(), app.Options{
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: w.level()})), Now: now,
		Gaps: gaps, Traces: w.opt.Traces, AckWithin: ackWithin,
		Lease: w.opt.Lease, Sweep: w.opt.Sweep, Extra: w.opt.Extra, Between: between,
	})
	if err != nil {
		cancel()
		w.t.Fatalf("wire: %v", err)
	}
	p := &Process{App: a, cancel: cancel, done: make(chan error, 1)}
	go func() { p.done <- a.Run(ctx) }()
	w.mu.Lock()
	w.procs = append(w.procs, p)
	w.mu.Unlock()
	w.t.Cleanup(p.stop)
	w.Until("a connection", func() bool { return a.Status().Connected > 0 })
	return p
}

// level is warnings alone, unless somebody reads the log.
func (w *World) level() slog.Level {
	if w.opt.Log == nil {
		return slog.LevelWarn
	}
	return w.opt.Level
}

// Stop ends a process as SIGTERM does.
func (p *Process) stop() {
	p.cancel()
	select {
	case <-p.done:
	case <-time.After(patience):
	}
	p.done <- nil
}

// Stop ends a process as SIGTERM does.
func (w *World) Stop(p *Process) {
	w.t.Helper()
	p.cancel()
	select {
	case err := <-p.done:
		p.done <- nil
		if err != nil && !strings.Contains(err.Error(), "context canceled") {
			w.t.Errorf("the process ended with %v", err)
		}
	case <-time.After(patience):
		w.t.Fatal("the process does not stop")
	}
}

// Newest is the process that was started last.
func (w *World) Newest() *app.App {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.procs[len(w.procs)-1].App
}

// Finish says that the story is over, Ended whether it is.
func (w *World) Finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// Ended says whether the story is over.
func (w *World) Ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// Kill takes a process away without letting it end well: it is used on one that
// a Mortal cut off from the database, so that nothing it does while it goes counts.
func (w *World) Kill(p *Process) { p.stop() }

// Press clicks a button that may be gone by now, as people do.
func (w *World) Press(p slacktest.Person, m slacktest.Message, action string) {
	_, err := p.Press(localslack.Click{User: p.ID, Channel: m.Channel, TS: m.TS, ActionID: action})
	if err != nil {
		w.t.Logf("%s pressed %s: %v", p.ID, action, err)
	}
}

// Until waits for something that no change of the workspace announces.
func (w *World) Until(what string, holds func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			w.t.Fatalf("no %s within %s\n%s", what, patience, w.Slack.Transcript())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// File reads a file of the shop's folder; "" when it is not there.
func (w *World) File(name string) string {
	text, err := os.ReadFile(filepath.Join(w.Dir, name))
	if err != nil {
		return ""
	}
	return string(text)
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	defer func() { _ = recover() }() // a log line after the test's end
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

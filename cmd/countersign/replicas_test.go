//go:build unix

package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// counters gives the workspace more channels, because Slack takes one message a second in each.
func counters(n int) func(*localslack.Config) {
	return func(c *localslack.Config) {
		for i := range n {
			c.Channels = append(c.Channels, localslack.Channel{ID: fmt.Sprintf("C0TILL%d", i), Name: fmt.Sprintf("till-%d", i), Members: c.Channels[0].Members})
		}
		c.Timing.Retries = []time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second} // Slack's own are minutes apart
	}
}

// replica is one process of the built program.
type replica struct {
	d      *desk
	binary string
	extra  []string // of the environment
	log    *os.File
	cmd    *exec.Cmd
	ended  chan struct{}
}

func (r *replica) start() {
	r.d.t.Helper()
	_, env := r.d.Settings() // each gets an address of its own
	r.cmd = exec.Command(r.binary, "--config", r.d.file, "serve")
	for name, value := range env {
		r.cmd.Env = append(r.cmd.Env, name+"="+value)
	}
	r.cmd.Env = append(r.cmd.Env, r.extra...) // the last of a name counts
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	if err := r.cmd.Start(); err != nil {
		r.d.t.Fatal(err)
	}
	cmd, ended := r.cmd, make(chan struct{})
	r.ended = ended
	go func() { _ = cmd.Wait(); close(ended) }() // killed: what it ended with says nothing
}

func (r *replica) kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	<-r.ended
}

// rush is the load: who asks for what, and the people who settle what waits.
type rush struct {
	d       *desk
	till    *till
	asks    map[string]slacktest.Message // by number
	pressed map[string]time.Time
	asked   int // questions about an unknown outcome
}

func (l *rush) ask(i, channels int) {
	number := fmt.Sprint(i) + []string{"s", "k", ""}[i%3]
	l.asks[number] = l.d.Slack.User("ana").Says(fmt.Sprintf("#till-%d", i%channels), "@countersign charge number "+number+" please")
}

// settle presses what waits for a person, as patient people do: again after a while.
func (l *rush) settle() {
	mgr := l.d.Slack.User("mgr")
	for _, m := range l.d.Slack.All() {
		now := m.Now()
		if len(now.Blocks) == 0 || time.Since(l.pressed[m.Channel+m.TS]) < 2*time.Second {
			continue
		}
		number := l.numberOf(now)
		unknown := "uncertain_run"
		if l.till.charged(number) > 0 {
			unknown = "uncertain_happened"
		}
		switch blocks := string(now.Blocks); {
		case strings.Contains(blocks, "approval_approve"):
			l.press(mgr, m, "approval_approve")
		case strings.Contains(blocks, unknown) && strings.Contains(blocks, "`manager`"): // also of what the asker let run again
			l.press(mgr, m, unknown)
		case strings.Contains(blocks, unknown):
			l.press(l.d.Slack.User("ana"), m, unknown) // without approvers the asker settles
		}
	}
}

func (l *rush) press(who slacktest.Person, m slacktest.Message, action string) {
	if l.pressed[m.Channel+m.TS].IsZero() && action != "approval_approve" {
		l.asked++
	}
	l.pressed[m.Channel+m.TS] = time.Now()
	l.d.Press(who, m, action)
}

func (l *rush) numberOf(m localslack.Message) string {
	for number, ask := range l.asks {
		if ask.Channel == m.Channel && ask.TS == m.ThreadTS {
			return number
		}
	}
	return ""
}

// open lists what has no answer yet, or more than one.
func (l *rush) open() map[string]int {
	answers := map[string]int{}
	for _, m := range l.d.Slack.All(slacktest.MetaHas("subject", "/answer")) {
		answers[m.Channel+m.Now().ThreadTS]++
	}
	out := map[string]int{}
	for number, ask := range l.asks {
		if n := answers[ask.Channel+ask.TS]; n != 1 {
			out[number] = n
		}
	}
	return out
}

// The program is built and served twice on one Postgres, and one of the two is killed
// with SIGKILL again and again while people ask, while calls are under way: every request
// becomes one run with one answer, every charge happens once, what the service knows by
// its key is called again, and what nobody can know is asked about.
// COUNTERSIGN_KILLS is how long, with a kill every twenty seconds; else it is short.
func TestReplicasAreKilledUnderLoad(t *testing.T) {
	lasts, every := 12*time.Second, 4*time.Second
	if long := os.Getenv("COUNTERSIGN_KILLS"); long != "" {
		var err error
		if lasts, err = time.ParseDuration(long); err != nil {
			t.Fatal(err)
		}
		every = 20 * time.Second
	}
	const channels = 8
	service := &till{takes: 2 * time.Second, counts: map[string]int{}, keys: map[string]string{}}
	shop := httptest.NewServer(service)
	t.Cleanup(shop.Close)
	d := sit(t, apptest.New(t, apptest.Options{
		Database: "postgres", Model: cashier(), YAML: charges(shop.URL), Slack: []func(*localslack.Config){counters(channels)},
	}))
	d.Slack.Allow(localslack.ViolationHotLoop, localslack.ViolationAckUnknown) // Slack counts the starts of killed processes, too
	d.must("migrate")
	both := replicas(t, d)
	l := &rush{d: d, till: service, asks: map[string]slacktest.Message{}, pressed: map[string]time.Time{}}
	d.Until("connections of both", func() bool { return d.Slack.Server.Connections() == 4 })
	began, kills := time.Now(), 0
	pace := time.NewTicker(700 * time.Millisecond)
	defer pace.Stop()
	for ; time.Since(began) < lasts || kills < 2 && time.Since(began) < lasts+2*time.Minute; <-pace.C {
		l.ask(len(l.asks), channels)
		l.settle()
		if time.Since(began) > time.Duration(kills+1)*every && service.busy() {
			both[kills%2].kill()
			both[kills%2].start()
			kills++
		}
	}
	d.Until("an answer to everybody", func() bool { <-pace.C; l.settle(); return len(l.open()) == 0 })
	t.Logf("%d requests, %d kills that cut %d calls short, %d of them called again by key, %d questions about unknown outcomes, all answered after %s",
		len(l.asks), kills, service.cut, service.again, l.asked, time.Since(began).Round(time.Second))
	l.verify(kills)
	if kills >= 10 && (service.cut == 0 || service.again == 0 || l.asked == 0) {
		t.Error("no kill met a call, so nothing was shown")
	}
}

// program builds countersign.
func program(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "countersign")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// logOf is a log of a process, shown when the test fails.
func logOf(t *testing.T) *os.File {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s:\n%s", log.Name(), text)
		}
		_ = log.Close() // it was written by the process
	})
	return log
}

func replicas(t *testing.T, d *desk) []*replica {
	t.Helper()
	binary := program(t)
	var out []*replica
	for range 2 {
		r := &replica{d: d, binary: binary, log: logOf(t)}
		r.start()
		t.Cleanup(r.kill)
		out = append(out, r)
	}
	return out
}

// verify holds the database and the till against what was asked for.
func (l *rush) verify(kills int) {
	t := l.d.t
	t.Helper()
	if kills < 2 {
		t.Errorf("%d kills", kills)
	}
	if l.till.other > 0 {
		t.Errorf("%d calls had other bytes under a known key", l.till.other)
	}
	for number := range l.asks {
		if n := l.till.charged(number); n != 1 {
			t.Errorf("number %s was charged %d times", number, n)
		}
	}
	var ended int
	for line := range strings.Lines(l.d.must("runs", "list", "--all", "-n", fmt.Sprint(2*len(l.asks)))) {
		if strings.Contains(line, string(agent.Success)) {
			ended++
		}
	}
	if ended != len(l.asks) {
		t.Errorf("%d runs succeeded of %d requests", ended, len(l.asks))
	}
	if out := l.d.must("audit", "verify"); !strings.Contains(out, "ok") {
		t.Error(out)
	}
}

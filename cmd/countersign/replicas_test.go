//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// till counts the charges that it was asked for, by number.
type till struct {
	mu     sync.Mutex
	counts map[string]int
}

// ServeHTTP charges.
func (s *till) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.counts[strings.TrimPrefix(r.URL.Path, "/")]++
	s.mu.Unlock()
	fmt.Fprintln(w, `{"charged": true}`)
}

func (s *till) charged(number string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[number]
}

// cashier is a model that charges the number that it is told, then says so. Every
// third charge takes a signature.
func cashier() http.Handler {
	number := func(r apptest.Request) string {
		for _, m := range r.Messages {
			if _, after, ok := strings.Cut(m.Content, "charge number "); ok && m.Role == "user" {
				return strings.Fields(after)[0]
			}
		}
		return "none"
	}
	return apptest.Play(apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		n := number(r)
		tool := "charge"
		if strings.HasSuffix(n, "s") {
			tool = "charge_signed"
		}
		return apptest.Calls(tool, fmt.Sprintf(`{"thought":"asked for","number":%q}`, n))
	}}, apptest.Turn{From: func(r apptest.Request) apptest.Turn { return apptest.Says("Done with number " + number(r) + ".") }})
}

// charges are the tools of the till. No service here honours a key: a call of unknown
// outcome has to be asked about.
func charges(url string) string {
	const one = `    - name: %s
      description: Charge a number.
      method: POST
      url: "%s/{number}"
      risk: %s
      private_network: true
      parameters: {type: object, properties: {number: {type: string, pattern: "^[0-9]+s?$"}}, required: [number]}
`
	return fmt.Sprintf(one, "charge", url, "medium") + fmt.Sprintf(one, "charge_signed", url, "high") +
		"limits: {open_approvals: {per_run: 5, per_asker: 1000}}\n"
}

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
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	if err := r.cmd.Start(); err != nil {
		r.d.t.Fatal(err)
	}
	cmd, ended := r.cmd, make(chan struct{})
	r.ended = ended
	go func() { _ = cmd.Wait(); close(ended) }() // killed: what it ended with says nothing
}

func (r *replica) kill() {
	if err := r.cmd.Process.Kill(); err != nil {
		r.d.t.Log(err)
	}
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
	number := fmt.Sprint(i)
	if i%3 == 0 {
		number += "s"
	}
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
		case strings.Contains(blocks, unknown) && strings.HasSuffix(number, "s"):
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
// with SIGKILL again and again while people ask: every request becomes one run with one
// answer, every charge happens once, and what nobody can know is asked about.
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
	service := &till{counts: map[string]int{}}
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
	for ; time.Since(began) < lasts; <-pace.C {
		l.ask(len(l.asks), channels)
		l.settle()
		if time.Since(began) > time.Duration(kills+1)*every {
			both[kills%2].kill()
			both[kills%2].start()
			kills++
		}
	}
	d.Until("an answer to everybody", func() bool { <-pace.C; l.settle(); return len(l.open()) == 0 })
	t.Logf("%d requests, %d kills, %d questions about unknown outcomes, all answered after %s", len(l.asks), kills, l.asked, time.Since(began).Round(time.Second))
	l.verify(kills)
}

func replicas(t *testing.T, d *desk) []*replica {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "countersign")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out []*replica
	for i := range 2 {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		r := &replica{d: d, binary: binary, log: log}
		r.start()
		t.Cleanup(func() {
			r.kill()
			if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
				t.Logf("replica %d:\n%s", i, text)
			}
			_ = log.Close() // it was written by the process
		})
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

package bot_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// The soak plays so many requests at once, and looks at the process between rounds.
const (
	soakBurst  = 200
	soakSettle = 8 * time.Minute // a busy machine may need it
	soakMemory = 8 << 20         // bytes that the bot may hold more of at the end
	soakGrowth = 60              // goroutines
)

// soaking is one soak: random people ask, decide and break things.
type soaking struct {
	*apptest.World
	t       *testing.T
	rand    *rand.Rand
	wipe    *apptest.Counter
	asked   map[string]slacktest.Message // by what was asked
	clicked map[string]int
}

// With COUNTERSIGN_SOAK=10m everything that Slack can do to us happens for ten minutes
// (`make soak`); nothing may be lost, doubled or leaked.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("COUNTERSIGN_SOAK"))
	if err != nil || length <= 0 {
		t.Skip("COUNTERSIGN_SOAK is not set to a duration; make soak sets it")
	}
	runtime.MemProfileRate = soakSample
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &soaking{t: t, rand: rand.New(rand.NewPCG(seed, 1)), wipe: &apptest.Counter{Name: "wipe", Risk: tools.High}, asked: map[string]slacktest.Message{}, clicked: map[string]int{}}
	s.World = apptest.Start(t, apptest.Options{
		Extra: []tools.Tool{s.wipe, &apptest.Counter{Name: "look", Risk: tools.Low}}, Model: apptest.Play(s.turn(), s.turn(), s.turn()),
		YAML: "\nlimits: {open_approvals: {per_run: 5, per_asker: 10000}}\n",
		Slack: []func(*localslack.Config){func(c *localslack.Config) {
			// Slack's three retries, then its delayed events: hourly for a day, all of it scaled.
			c.Timing.Retries = append([]time.Duration{0, 10 * time.Second, 30 * time.Second}, slices.Repeat([]time.Duration{10 * time.Second}, 24)...)
			c.Timing.Warning = time.Second
			c.Timing.Ping, c.Timing.Pong = 10*time.Second, 30*time.Second
			c.Limits.Factor = 200
		}},
	})
	s.Slack.Wait = soakSettle
	s.burst(20)
	s.settle()
	before := measure()
	for end := time.Now().Add(length); time.Now().Before(end); {
		s.round()
	}
	s.Slack.Server.Mend()
	s.Slack.Server.EnableLink()
	s.settle()
	s.judge()
	after := measure()
	for end := time.Now().Add(soakSettle); after.goroutines > before.goroutines+soakGrowth && time.Now().Before(end); after = measure() {
		time.Sleep(time.Second) // idle connections of HTTP clients end after a while; a leak does not
	}
	t.Logf("%d requests; goroutines %d → %d, the bot's heap %d → %d KiB, the heap of what is around it %d → %d KiB", len(s.asked),
		before.goroutines, after.goroutines, before.heap>>10, after.heap>>10, before.around>>10, after.around>>10)
	t.Log("\n" + after.grown(before))
	t.Log("\n" + s.Slack.Server.Report().String())
	if after.goroutines > before.goroutines+soakGrowth {
		t.Errorf("goroutines grew from %d to %d", before.goroutines, after.goroutines)
	}
	if after.heap > before.heap+soakMemory {
		t.Errorf("the bot's heap grew from %d to %d KiB over %d requests; most of it by\n%s", before.heap>>10, after.heap>>10, len(s.asked), after.grown(before))
	}
}

// turn is a slow model that looks, wipes or answers by what the request says.
func (s *soaking) turn() apptest.Turn {
	return apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		what := ""
		for _, m := range r.Messages {
			if i := strings.Index(m.Content, "soak-"); m.Role == "user" && i >= 0 {
				what = strings.Fields(m.Content[i:])[0]
			}
			if m.Role == "tool" {
				return apptest.Says("finished " + what)
			}
		}
		if strings.HasSuffix(what, "w") {
			return apptest.Calls("wipe", fmt.Sprintf(`{"what":%q}`, what))
		}
		return apptest.Calls("look", fmt.Sprintf(`{"what":%q}`, what))
	}}
}

func (s *soaking) burst(n int) {
	people := []slacktest.Person{s.Slack.User("ana"), s.Slack.User("fin")}
	for range n {
		what := fmt.Sprintf("soak-%d", len(s.asked))
		if s.rand.IntN(6) == 0 {
			what += "w"
		}
		s.asked[what] = people[s.rand.IntN(len(people))].Says("#ops", "@countersign do "+what+" please")
	}
}

// round breaks something, lets people act, and mends it.
func (s *soaking) round() {
	server := s.Slack.Server
	switch s.rand.IntN(12) {
	case 0:
		server.Disconnect("warning")
	case 1:
		server.Disconnect("refresh_requested")
	case 2:
		server.CloseConnections([]int{1000, 1001, 1006, 1011}[s.rand.IntN(4)])
	case 3:
		server.CutFrame()
	case 4:
		server.BreakAPI(localslack.APIFault{Method: "chat.postMessage", Times: 3, Cut: true, AfterStore: true})
	case 5:
		server.BreakAPI(localslack.APIFault{Method: "chat.update", Times: 2, RetryAfter: 2 * time.Second})
	case 6:
		server.BreakAPI(localslack.APIFault{Method: "chat.postMessage", Times: 1, RetryAfter: 2 * time.Second})
	case 7:
		server.BreakAPI(localslack.APIFault{Times: 5, Status: 500})
	case 8:
		server.BreakDelivery(localslack.DeliveryFault{Times: 20, Copies: []localslack.Copy{{NewEventID: true}, {After: 300 * time.Millisecond, Attempt: 1}}})
	case 9:
		server.BreakDelivery(localslack.DeliveryFault{Type: "app_mention", Times: 10, Delay: time.Duration(s.rand.IntN(900)) * time.Millisecond})
	case 10:
		server.BreakDelivery(localslack.DeliveryFault{Times: 2, Drop: true})
	case 11:
		if s.rand.IntN(3) == 0 {
			server.HalfOpen()
		}
	}
	n := 1 + s.rand.IntN(4)
	if len(s.asked) < 3*soakBurst && s.rand.IntN(25) == 0 {
		n = soakBurst
	}
	s.burst(n)
	s.decide()
	time.Sleep(time.Duration(200+s.rand.IntN(600)) * time.Millisecond)
	if s.rand.IntN(4) == 0 {
		server.Mend()
	}
}

// decide presses on cards that wait, now and then twice, now and then by two people.
func (s *soaking) decide() {
	for _, m := range s.Slack.All(slacktest.Button("approval_approve")) {
		for range 1 + s.rand.IntN(2) {
			_, _ = s.Slack.User("mgr").Press(localslack.Click{Channel: m.Channel, TS: m.TS, ActionID: "approval_approve"}) // it may be lost: it is pressed again
		}
	}
}

// settle lets everything come to its end without faults.
func (s *soaking) settle() {
	s.t.Helper()
	s.Slack.Server.Mend()
	deadline := time.Now().Add(soakSettle)
	for {
		s.decide()
		if s.Slack.Server.Waiting() == 0 && s.open(1) == 0 && len(s.Slack.All(answer)) >= len(s.asked) && len(s.Slack.All(slacktest.Button("run_stop"))) == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Errorf("after %v: %d runs open, %d answers for %d requests, %d deliveries wait, %d live progress lines", soakSettle, s.open(1000),
				len(s.Slack.All(answer)), len(s.asked), s.Slack.Server.Waiting(), len(s.Slack.All(slacktest.Button("run_stop"))))
			return
		}
		time.Sleep(time.Second)
	}
}

// open counts the runs that are not over, at most so many.
func (s *soaking) open(most int) int {
	all, err := s.Newest().Store().Runs(s.t.Context(), true, most)
	if err != nil {
		return most
	}
	return len(all)
}

// judge looks at every request and at everything that Slack saw of us.
func (s *soaking) judge() {
	s.t.Helper()
	posted := map[string]map[string]int{} // by thread and kind
	for _, m := range s.Slack.All() {
		now := m.Now()
		root := now.Root()
		if posted[root] == nil {
			posted[root] = map[string]int{}
		}
		for _, kind := range []string{"/answer", "/progress", "/card/"} {
			if now.Metadata != nil && strings.Contains(string(now.Metadata.EventPayload), kind) {
				posted[root][kind]++
			}
		}
	}
	ran := map[string]int{}
	for _, c := range s.wipe.All() {
		ran[string(c.Args)]++
	}
	for what, ask := range s.asked {
		cards := 0
		if strings.HasSuffix(what, "w") {
			cards = 1
			if n := ran[fmt.Sprintf(`{"what":%q}`, what)]; n != 1 {
				s.t.Errorf("%s was wiped %d times", what, n)
			}
		}
		got := posted[ask.TS]
		if got["/answer"] != 1 || got["/progress"] != 1 || got["/card/"] != cards {
			s.t.Errorf("%s has %v", what, got)
		}
	}
	if all, err := s.Newest().Store().Runs(s.t.Context(), false, 100_000); err != nil || len(all) != len(s.asked) {
		s.t.Errorf("%d runs for %d requests, %v", len(all), len(s.asked), err)
	}
	if lost := s.Slack.Server.Lost(); len(lost) > 0 {
		s.t.Errorf("%d events were lost", len(lost))
	}
	if p99 := s.Slack.Server.Report().AckP99; p99 > time.Second {
		s.t.Errorf("acknowledgements take %v at p99", p99)
	}
}

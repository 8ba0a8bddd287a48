package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// hands are many people at one countersign of two replicas that are killed at random.
type hands struct {
	*stage
	random  *rand.Rand
	tool    *apptest.Counter
	people  []slacktest.Person
	asked   int
	deaths  int
	flying  chan struct{} // presses under way
	all     sync.WaitGroup
	mortals [2]*apptest.Mortal
	procs   [2]*apptest.Process
	proofs  sync.Map // by person: the step of the last code that they typed
}

const (
	manyPeople   = 50
	manyOnCall   = 10 // of them, who may break the glass
	manyChannels = 6
	mostWaiting  = 12 // histories that are open at once
)

// wanted is how a script reads what to wipe.
var wanted = regexp.MustCompile(`wipe ((?:one|two|short|pair|same)-\d+)`)

// handsGate are the rules by which they play: everything that may let a call run.
const handsGate = "approvals: {approvers: [manager], ttl: 30s, sweep: 200ms, totp_key: '${CODES_KEY}', break_glass: [oncall], grants: {count: 3, within: 1h}}"

const handsRules = `limits: {open_approvals: {per_run: 5, per_asker: 1000}}
rules:
  - {tool: wipe, when: "args.what.startsWith('two')", quorum: 2}
  - {tool: wipe, when: "args.what.startsWith('short')", ttl: 1s}
  - {tool: wipe, when: "args.what.startsWith('pair')", batch: true}
`

func newHands(t *testing.T, seed uint64) *hands {
	t.Helper()
	h := &hands{random: rand.New(rand.NewPCG(seed, 1)), tool: &apptest.Counter{Name: "wipe", Risk: tools.High}, flying: make(chan struct{}, 24)}
	first := apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		found := wanted.FindStringSubmatch(r.Raw)
		switch {
		case found == nil:
			return wipes("nothing")
		case strings.HasPrefix(found[1], "pair"):
			return wipes(found[1]+"a", found[1]+"b")
		}
		return wipes(found[1])
	}}
	w := apptest.New(t, apptest.Options{
		Database: "postgres", Extra: []tools.Tool{h.tool}, Model: apptest.Play(first, apptest.Says("That is all.")), Lease: 2 * time.Second, Sweep: 200 * time.Millisecond,
		Slack: []func(*localslack.Config){crowd}, Approvals: handsGate, YAML: handsRules, Roles: "  oncall: {users: [" + strings.Join(oncall(), ", ") + "]}\n",
	})
	h.stage = stageOf(t, w)
	// Each death opens connections anew; what a dying process took is not acknowledged in time.
	w.Slack.Allow(localslack.ViolationHotLoop, localslack.ViolationAckLate)
	for i := range manyPeople {
		h.people = append(h.people, w.Slack.User("m"+strconv.Itoa(i)))
	}
	h.people = append(h.people, h.ana, h.oli, h.gus) // whose presses never count
	for i := range h.procs {
		h.revive(i)
	}
	for _, p := range h.people[:manyOnCall] {
		h.enrolls(p)
	}
	return h
}

// crowd adds the people and channels.
func crowd(c *localslack.Config) {
	bot := c.App.App.UserID
	for i := range manyPeople {
		id := fmt.Sprintf("U0M%02d", i)
		c.People = append(c.People, localslack.Person{ID: id, Name: "m" + strconv.Itoa(i), RealName: "Manager"})
		c.Usergroups[0].Members = append(c.Usergroups[0].Members, id)
	}
	for i := range manyChannels {
		in := []string{bot, "U0ANA", "U0OLI", "U0GUS"}
		for k := range manyPeople {
			in = append(in, fmt.Sprintf("U0M%02d", k))
		}
		c.Channels = append(c.Channels, localslack.Channel{ID: fmt.Sprintf("C0MANY%d", i), Name: "many" + strconv.Itoa(i), Members: in})
	}
	c.Limits.Factor, c.Timing.Ack = 200, 3*time.Second // nobody waits long for the dead
}

// revive starts a replica that will die at one of its next commits.
func (h *hands) revive(i int) {
	m := &apptest.Mortal{At: 40 + h.random.Int64N(400), After: h.random.IntN(2) == 0}
	h.mortals[i] = m
	h.procs[i] = h.RunBetween(func(p app.Ports) app.Ports { return m.Between(p) })
}

// bury takes away what died and starts another in its place.
func (h *hands) bury() {
	for i, m := range h.mortals {
		if m.Dead() {
			h.deaths++
			h.Kill(h.procs[i])
			h.revive(i)
		}
	}
}

// ask begins one more history. What is the same in a channel may run under a standing grant.
func (h *hands) ask() {
	h.asked++
	kind, n, channel := []string{"one", "two", "short", "pair", "same"}[h.random.IntN(5)], h.asked, h.random.IntN(manyChannels)
	if kind == "same" {
		n = channel
	}
	h.ana.Says("#many"+strconv.Itoa(channel), fmt.Sprintf("@countersign wipe %s-%d", kind, n))
}

// settle decides what is left, as patient people do.
func (h *hands) settle() {
	for _, action := range []string{"uncertain_stop", "approval_approve"} {
		for _, m := range h.Slack.All(slacktest.Button(action)) {
			who := h.people[h.random.IntN(manyPeople)]
			h.fly(func() { h.press(who, m, action, "one") })
		}
	}
}

func (h *hands) open() int {
	ctx, done := context.WithTimeout(h.t.Context(), time.Minute) // more patient than the program is
	defer done()
	runs, err := h.Newest().Store().Runs(ctx, true, 10_000)
	if err != nil {
		h.t.Fatal(err)
	}
	return len(runs)
}

// play lets everybody act until enough histories were begun and all have ended.
func (h *hands) play(histories int, atMost time.Duration) {
	started := time.Now()
	last := started.Add(atMost + 5*time.Minute)
	for {
		over := h.asked >= histories || time.Since(started) > atMost
		open := h.open()
		switch {
		case over && open == 0:
			h.all.Wait()
			return
		case time.Now().After(last):
			h.t.Fatalf("%d histories are open after %s\n%s", open, time.Since(started), h.Slack.Transcript())
		case !over && open < mostWaiting:
			h.ask()
		}
		for _, m := range h.Slack.All(slacktest.Button("approval_reject")) {
			h.act(m)
		}
		h.beside()
		if over || h.random.IntN(8) == 0 {
			h.settle()
		}
		h.bury()
		time.Sleep(20 * time.Millisecond) // people are not faster
	}
}

// TestManyHands lets fifty people approve, edit, reject, answer, claim, stop, decide
// several calls in one press, break the glass, give and revoke standing grants and come
// too late at two replicas that die at random: every approval has one outcome, no call
// happens more often than it was countersigned or granted, no grant is overrun, every card
// says what the database says, and the record is whole. COUNTERSIGN_HISTORIES asks for a
// number of histories.
func TestManyHands(t *testing.T) { // not beside others: fifty people are enough for a machine
	histories, atMost, seed := 1_000_000, 10*time.Second, uint64(time.Now().UnixNano())
	if testing.Short() {
		atMost = 3 * time.Second
	}
	if n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_HISTORIES")); err == nil {
		histories, atMost = n, 2*time.Hour
	}
	t.Logf("seed %d", seed)
	h := newHands(t, seed)
	h.play(histories, atMost)
	h.Finish()
	t.Logf("%d histories, %d deaths, %d calls", h.asked, h.deaths, h.tool.Count())
	cases, err := h.Newest().Store().Cases(t.Context(), true, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	granted := h.mustKeepTheGrants()
	if runs := h.number("SELECT count(*) FROM runs"); runs != h.asked || len(cases)+len(granted) < h.asked {
		t.Fatalf("%d approvals and %d calls under grants in %d runs of %d histories", len(cases), len(granted), runs, h.asked)
	}
	h.mustAgree(cases, granted)
	h.mustHavePlayed(cases, len(granted))
	if err := h.Newest().Store().VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

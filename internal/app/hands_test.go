package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot"
	"countersign/bot/words"
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
}

const (
	manyPeople   = 50
	manyChannels = 6
	mostWaiting  = 12 // histories that are open at once
)

// wanted is how a script reads what to wipe.
var wanted = regexp.MustCompile(`wipe ((?:one|two|short)-\d+)`)

func newHands(t *testing.T, seed uint64) *hands {
	t.Helper()
	h := &hands{random: rand.New(rand.NewPCG(seed, 1)), tool: &apptest.Counter{Name: "wipe", Risk: tools.High}, flying: make(chan struct{}, 24)}
	first := apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		what := "nothing"
		if found := wanted.FindStringSubmatch(r.Raw); found != nil {
			what = found[1]
		}
		return apptest.Calls("wipe", `{"thought":"asked for","what":"`+what+`"}`)
	}}
	w := apptest.New(t, apptest.Options{
		Database: "postgres", Extra: []tools.Tool{h.tool}, Model: apptest.Play(first, apptest.Says("That is all.")), Lease: time.Second, Sweep: 200 * time.Millisecond,
		Slack: []func(*localslack.Config){crowd}, Approvals: "approvals: {approvers: [manager], ttl: 30s, sweep: 200ms}",
		YAML: "limits: {open_approvals: {per_run: 5, per_asker: 1000}}\nrules:\n" +
			"  - {tool: wipe, when: \"args.what.startsWith('two')\", quorum: 2}\n  - {tool: wipe, when: \"args.what.startsWith('short')\", ttl: 1s}\n",
	})
	h.stage = stageOf(t, w)
	w.Slack.Allow("too_many_opens") // each death opens connections anew
	for i := range manyPeople {
		h.people = append(h.people, w.Slack.User("m"+strconv.Itoa(i)))
	}
	h.people = append(h.people, h.ana, h.oli, h.gus) // whose presses never count
	for i := range h.procs {
		h.revive(i)
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
	c.Limits.Factor = 200
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

// ask begins one more history.
func (h *hands) ask() {
	h.asked++
	kind := []string{"one", "two", "short"}[h.random.IntN(3)]
	h.ana.Says("#many"+strconv.Itoa(h.random.IntN(manyChannels)), fmt.Sprintf("@countersign wipe %s-%d", kind, h.asked))
}

// act lets somebody do something to some card, as people do: late, twice, wrongly.
func (h *hands) act(m slacktest.Message) {
	who := h.people[h.random.IntN(len(h.people))]
	action := []string{"approval_approve", "approval_approve", "approval_approve", "approval_claim", "approval_reject", "approval_edit", "approval_respond", "run_stop"}[h.random.IntN(8)]
	twice, kind := h.random.IntN(3) == 0, []string{"one", "two"}[h.random.IntN(2)]
	h.fly(func() {
		h.press(who, m, action, kind)
		if twice {
			h.press(who, m, action, kind)
		}
	})
}

func (h *hands) fly(f func()) {
	select {
	case h.flying <- struct{}{}:
	default:
		return // enough hands are busy
	}
	h.all.Go(func() {
		defer func() { <-h.flying }()
		f()
	})
}

func (h *hands) press(who slacktest.Person, m slacktest.Message, action, kind string) {
	out, err := who.Press(localslack.Click{Channel: m.Channel, TS: m.TS, ActionID: action})
	if err != nil || !out.Acked || action != "approval_reject" && action != "approval_edit" && action != "approval_respond" {
		return
	}
	h.submit(who, kind)
}

// submit fills the form that a press opened, when it comes.
func (h *hands) submit(who slacktest.Person, kind string) {
	server := h.Slack.Server
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		open := server.Workspace().Views(who.ID)
		if len(open) == 0 {
			continue
		}
		v := open[len(open)-1]
		typed := func(s string) map[string]json.RawMessage {
			raw, _ := json.Marshal(map[string]string{"type": "plain_text_input", "value": s}) // of two strings
			return map[string]json.RawMessage{"value": raw}
		}
		values := map[string]map[string]json.RawMessage{}
		switch v.CallbackID {
		case "approval_edit_modal":
			values["arg:what"] = typed(kind + "-" + strconv.Itoa(int(time.Now().UnixNano()%1e9)))
		case "approval_reject_modal", "approval_respond_modal":
			values["reason"] = typed("because")
		case "loading":
			continue
		}
		if v.CallbackID != "settled" {
			_, _ = server.Submit(context.Background(), localslack.Submission{User: who.ID, ViewID: v.ID, Values: values})
		}
		_, _ = server.CloseView(context.Background(), who.ID, v.ID, true) // it may be gone
		return
	}
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
	runs, err := h.Newest().Store().Runs(h.t.Context(), true, 10_000)
	if err != nil {
		h.t.Fatal(err)
	}
	return len(runs)
}

// play lets everybody act until enough histories were begun and all have ended.
func (h *hands) play(histories int, atMost time.Duration) {
	started := time.Now()
	last := started.Add(atMost + 60*time.Second)
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
		if over || h.random.IntN(8) == 0 {
			h.settle()
		}
		h.bury()
		time.Sleep(20 * time.Millisecond) // people are not faster
	}
}

// TestManyHands lets fifty people approve, edit, reject, answer, claim, stop and come
// too late at two replicas that die at random: every approval has one outcome, no call
// happens more often than it was countersigned, every card says what the database
// says, and the record is whole. COUNTERSIGN_HISTORIES asks for a number of histories.
func TestManyHands(t *testing.T) {
	t.Parallel()
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
	if err != nil || len(cases) < h.asked {
		t.Fatalf("%d approvals of %d histories, %v", len(cases), h.asked, err)
	}
	h.mustAgree(cases)
	if err := h.Newest().Store().VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

// mustAgree holds what was done and what is shown against the database.
func (h *hands) mustAgree(cases []decisions.Case) {
	h.t.Helper()
	calls, redeemed := map[string]int{}, map[string]int{}
	for _, c := range h.tool.All() {
		calls[c.Run+"-"+c.Step+string(c.Args)]++
	}
	for i := range cases {
		a := &cases[i].Approval
		if !approvals.Machine.Terminal(a.State) {
			h.t.Errorf("approval %s of an ended run is %s", a.ID, a.State)
		}
		if a.State == approvals.Redeemed {
			redeemed[fmt.Sprintf("%s-%d%s", a.Run, a.Step, a.Current().Args)]++
		}
		h.mustBeDecided(a)
	}
	for key, n := range calls {
		if n > redeemed[key] {
			h.t.Errorf("%s was called %d times, and countersigned %d times", key, n, redeemed[key])
		}
	}
	different := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if different = h.differs(cases); different == "" {
			return
		}
	}
	h.t.Errorf("a card says something else than the database: %s", different)
}

// mustBeDecided checks that the outcome is that of the decisions.
func (h *hands) mustBeDecided(a *approvals.Approval) {
	h.t.Helper()
	final := 0
	for _, d := range a.Decisions {
		if !d.Void && (d.Verdict == approvals.Reject || d.Verdict == approvals.Respond) {
			final++
		}
		if d.By.User == "U0ANA" || d.By.User == "U0OLI" || d.By.User == "U0GUS" {
			h.t.Errorf("a decision of %s counted on %s", d.By.User, a.ID)
		}
	}
	refused := a.State == approvals.Rejected || a.State == approvals.Answered
	if refused != (final == 1) || final > 1 {
		h.t.Errorf("approval %s is %s after %d refusals", a.ID, a.State, final)
	}
	if n := a.Approvals(); a.State == approvals.Redeemed && n < a.Current().Requirement.Quorum {
		h.t.Errorf("approval %s ran with %d of %d people", a.ID, n, a.Current().Requirement.Quorum)
	}
}

// delivery is what the database says of a card's delivery.
func (h *hands) delivery(a *approvals.Approval) []bot.Delivery {
	w, err := h.Newest().Store().Whole(h.t.Context(), a.Run)
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.DeleteFunc(w.Deliveries, func(d bot.Delivery) bool { return d.Subject != approvals.CardSubject(a.ID, a.Channel) })
}

// differs names a card that does not say what the database says; "" when there is none.
func (h *hands) differs(cases []decisions.Case) string {
	catalogue, err := words.Load()
	if err != nil {
		h.t.Fatal(err)
	}
	shown := map[string][]string{}
	for _, m := range h.Slack.All(slacktest.MetaHas("subject", "/card/")) {
		now := m.Now()
		var payload struct {
			Approval string `json:"approval"`
		}
		if now.Metadata != nil && json.Unmarshal(now.Metadata.EventPayload, &payload) == nil {
			shown[payload.Approval] = append(shown[payload.Approval], now.Text)
		}
	}
	for i := range cases {
		a := &cases[i].Approval
		want := []string{catalogue.In("en").Say("card.text."+string(a.State), "tool", "wipe")}
		if !slices.Equal(shown[a.ID], want) {
			return fmt.Sprintf("%s: %q, want %q; delivery %+v", a.ID, shown[a.ID], want, h.delivery(a))
		}
	}
	return ""
}

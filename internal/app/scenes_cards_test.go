package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// Several HIGH calls of one turn are decided one by one, in any order; each runs
// as soon as it may, the model goes on when all have their result.
// Slack rows 10, 11.
func TestSeveralCardsInAnyOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, script, o := wiping(o, "one", "two", "three")
		s := start(t, o)
		ask := s.asks("wipe all three")
		one, two, three := s.card(ask, slacktest.Text(`"one"`)), s.card(ask, slacktest.Text(`"two"`)), s.card(ask, slacktest.Text(`"three"`))
		s.mgr.Clicks(three, "approval_approve")
		s.Slack.ExpectUpdate(three, slacktest.Text("Done."))
		s.mgr.Clicks(one, "approval_reject")
		s.Slack.ExpectModal(s.mgr, "Why not?").Fill("reason", "keep it").MustSubmit()
		s.Slack.ExpectUpdate(one, slacktest.Text("rejected"))
		if n := len(script.Requests()); n != 1 {
			t.Errorf("the model was asked %d times while a call waits", n)
		}
		s.mgr.Clicks(two, "approval_approve")
		s.answered(ask, "That is all.")
		var ran []string
		for _, c := range counter.All() {
			ran = append(ran, string(c.Args))
		}
		if !slices.Equal(ran, []string{`{"what":"three"}`, `{"what":"two"}`}) {
			t.Errorf("ran: %v", ran)
		}
		results := toolResults(script.Last())
		if len(results) != 3 || !strings.HasPrefix(results[0], "REJECTED") || !strings.Contains(results[2], "three") {
			t.Errorf("the model read %q", results)
		}
	})
}

func toolResults(r apptest.Request) []string {
	var out []string
	for _, m := range r.Messages {
		if m.Role == "tool" {
			out = append(out, m.Content)
		}
	}
	return out
}

// A click on what the card showed before an edit does not count for what it shows now.
// Slack row 109.
func TestStaleCard(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Approvals = "approvals: {approvers: [manager, finance], ttl: 1h, sweep: 200ms, edit_approves: false}"
		counter, _, o := wiping(o, "doc_42")
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		old := card.Value("approval_approve")
		s.fin.Clicks(card, "approval_reject")
		form := s.Slack.ExpectModal(s.fin, "Why not?")
		s.mgr.Clicks(card, "approval_edit")
		s.Slack.ExpectModal(s.mgr, "Edit before it runs").Fill("arg:what", "doc_43").MustSubmit()
		s.Slack.ExpectUpdate(card, slacktest.Text("doc_43"), slacktest.Text("<@U0MGR>"), slacktest.Button("approval_approve"))
		s.pressesWith(s.fin, card, "approval_approve", old)
		s.told(s.fin, "This was changed since you saw it")
		if out := form.Fill("reason", "no").Submit(); !out.Acked || len(out.Errors) > 0 {
			t.Errorf("the late form: %+v", out)
		}
		s.Slack.ExpectModal(s.fin, "Meanwhile…", "no")
		s.mgr.Clicks(card, "approval_approve")
		s.told(s.mgr, "You asked for this or changed it")
		if counter.Count() != 0 {
			t.Fatal("it ran on a click that was for something else")
		}
		s.fin.Clicks(card, "approval_approve")
		s.answered(ask, "That is all.")
		if all := counter.All(); len(all) != 1 || string(all[0].Args) != `{"what":"doc_43"}` {
			t.Errorf("ran %v", all)
		}
	})
}

// pressesWith presses a button with the value of another time.
func (s *stage) pressesWith(who slacktest.Person, m slacktest.Message, action, value string) {
	s.t.Helper()
	_, err := who.Press(localslack.Click{Channel: m.Channel, TS: m.TS, ActionID: action, Forge: func(p map[string]any) {
		first(p["actions"])["value"] = value
	}})
	if err != nil {
		s.t.Fatal(err)
	}
}

func first(list any) map[string]any {
	switch l := list.(type) {
	case []any:
		return l[0].(map[string]any)
	case []map[string]any:
		return l[0]
	}
	panic(fmt.Sprintf("no list: %T", list))
}

// Rows B52, B56. Slack row 7.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "doc_42")
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { s.Press(s.mgr, card, "approval_approve") })
		}
		both.Wait()
		s.answered(ask, "That is all.")
		w := s.waits(agent.Success)
		if counter.Count() != 1 || len(w.Approvals[0].Decisions) != 1 {
			t.Errorf("%d calls, decisions %+v", counter.Count(), w.Approvals[0].Decisions)
		}
	})
}

// One replica hears the mention, another the click: the run goes on either way.
// Slack row 89.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	counter, _, o := wiping(apptest.Options{Database: "postgres"}, "doc_42")
	s := stageOf(t, apptest.New(t, o))
	a := s.Run()
	ask := s.asks("wipe doc_42")
	card := s.card(ask)
	s.waits(agent.WaitingApproval)
	b := s.World.Run()
	s.Stop(a) // from here on the click can only land on the other one
	s.mgr.Clicks(card, "approval_approve")
	s.answered(ask, "That is all.")
	s.World.Run()
	for range 4 { // both replicas are there: whoever hears and whoever works, it happens once
		again := s.asks("wipe doc_42")
		s.mgr.Clicks(s.card(again), "approval_approve")
		s.answered(again, "That is all.")
	}
	s.Stop(b)
	if counter.Count() != 5 {
		t.Errorf("%d calls for five requests", counter.Count())
	}
}

// Two hundred people decide at once through two doors: one verdict counts.
// Slack row P10.
// Row B56. Slack row 7.
func TestRacingDeciders(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		const people = 200
		counter, _, o := wiping(o, "doc_42")
		o.Slack = []func(*localslack.Config){func(c *localslack.Config) {
			for i := range people {
				id := fmt.Sprintf("U0M%03d", i)
				c.People = append(c.People, localslack.Person{ID: id, Name: strings.ToLower(id)})
				c.Usergroups[0].Members = append(c.Usergroups[0].Members, id)
			}
		}}
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		s.card(ask)
		a := s.waits(agent.WaitingApproval).Approvals[0]
		counted := s.race(a, people)
		if counted != 1 {
			t.Errorf("%d verdicts counted", counted)
		}
		s.answered(ask, "That is all.")
		w := s.waits(agent.Success)
		after := w.Approvals[0]
		if len(after.Decisions) != 1 || counter.Count() > 1 || (after.State == approvals.Redeemed) != (counter.Count() == 1) {
			t.Errorf("approval %s, %d decisions, %d calls", after.State, len(after.Decisions), counter.Count())
		}
		if err := s.Newest().Store().VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// race lets many people decide at once, half of them against, and counts the verdicts that stood.
func (s *stage) race(a approvals.Approval, people int) int {
	door := s.Newest().Door()
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute) // in place of the store's few seconds: all wait for one row
	defer cancel()
	var all sync.WaitGroup
	results := make(chan decisions.Outcome, people)
	for i := range people {
		all.Go(func() {
			verdict := approvals.Approve
			if i%2 == 1 {
				verdict = approvals.Reject
			}
			t := decisions.Attempt{
				ID: fmt.Sprintf("race/%d", i), Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Verdict: verdict,
				Who: policy.Actor{Team: "T0LOCAL", User: fmt.Sprintf("U0M%03d", i)}, Via: "slack",
			}
			out, err := door.Decide(ctx, t)
			for try := 0; err != nil && try < 5; try++ { // a stored click is acted upon until the database lets it be
				out, err = door.Decide(ctx, t)
			}
			if err != nil {
				s.t.Errorf("decider %d: %v", i, err)
			}
			results <- out
		})
	}
	all.Wait()
	close(results)
	n := 0
	for out := range results {
		if out.Refused == "" && out.Case != nil {
			n++
		}
	}
	return n
}

// What does not fit the card is approved after the last argument was shown, by the
// person who saw it.
// Slack rows 50, e.
func TestHiddenArgumentsNeedShow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, long(1200)+"the-last-word")
		s := start(t, o)
		ask := s.asks("wipe a lot")
		card := s.card(ask, slacktest.Button("approval_show"), slacktest.NoButton("approval_approve"))
		s.pressesInstead(s.mgr, card, "approval_show", "approval_approve")
		s.told(s.mgr, "Please open *Show everything* first")
		s.mgr.Clicks(card, "approval_show")
		form := s.Slack.ExpectModal(s.mgr, "Everything", "the-last-word")
		if counter.Count() != 0 {
			t.Fatal("it ran before it was approved")
		}
		form.MustSubmit()
		s.answered(ask, "That is all.")
		if counter.Count() != 1 {
			t.Errorf("%d calls", counter.Count())
		}
	})
}

// long is a text of some words, no two of which are the same.
func long(words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

// pressesInstead presses one button of a message and claims that it was another.
func (s *stage) pressesInstead(who slacktest.Person, m slacktest.Message, pressed, claimed string) {
	s.t.Helper()
	_, err := who.Press(localslack.Click{Channel: m.Channel, TS: m.TS, ActionID: pressed, Forge: func(p map[string]any) {
		first(p["actions"])["action_id"] = claimed
	}})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestUnknownButton(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "doc_42")
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		s.pressesInstead(s.mgr, card, "approval_approve", "approval_of_tomorrow")
		s.told(s.mgr, "I don't know this button any more")
		for _, value := range []string{"", "null", "{}", `{"approval":"a1"}`, strings.Repeat("9", 2000)} {
			s.pressesWith(s.mgr, card, "approval_approve", value)
			s.Slack.Expect(slacktest.OnlyFor(s.mgr))
		}
		if w := s.whole(); w.Approvals[0].State != approvals.Pending || counter.Count() != 0 {
			t.Errorf("approval %s, %d calls", w.Approvals[0].State, counter.Count())
		}
	})
}

// A card that somebody deleted is there again while it can be decided.
// Slack row 95.
func TestVanishedCard(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		_, _, o = wiping(o, "doc_42")
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		s.waits(agent.WaitingApproval)
		if err := s.Slack.Server.DeleteMessage(t.Context(), "", card.Channel, card.TS); err != nil {
			t.Fatal(err)
		}
		again := s.card(ask)
		s.mgr.Clicks(again, "approval_approve")
		s.answered(ask, "That is all.")
		s.Slack.ExpectUpdate(again, slacktest.NoButton(""))
		if err := s.Slack.Server.DeleteMessage(t.Context(), "", again.Channel, again.TS); err != nil {
			t.Fatal(err)
		}
		s.Slack.ExpectAcked()
		s.ana.Says("#ops", "@countersign status")
		s.told(s.ana, "Nothing is running")
		if cards := s.Slack.All(slacktest.InThread(ask), slacktest.MetaHas("subject", "/card/")); len(cards) != 0 {
			t.Errorf("a settled card came back: %s", cards[0].Shown())
		}
	})
}

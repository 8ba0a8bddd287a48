package app_test

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/apptest"
	"countersign/internal/record"
	"countersign/localslack/blockkit"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// wipes is a turn that wants to wipe several things.
func wipes(what ...string) apptest.Turn {
	var t apptest.Turn
	for _, w := range what {
		t.Calls = append(t.Calls, apptest.Call{Name: "wipe", Args: `{"thought":"asked for","what":"` + w + `"}`})
	}
	return t
}

// bundled waits for the message about calls that one press may decide.
func (s *stage) bundled(ask slacktest.Message, more ...slacktest.Match) slacktest.Message {
	s.t.Helper()
	return s.Slack.Expect(append([]slacktest.Match{slacktest.InThread(ask), slacktest.Button("bundle_approve")}, more...)...)
}

// states are the states of a run's approvals, in the order of their steps.
func states(w *record.Whole) string {
	var out []string
	for _, a := range w.Approvals {
		out = append(out, string(a.State))
	}
	return strings.Join(out, " ")
}

// One press approves all that the form showed in full; what was changed meanwhile
// does not count, and the person is told which. Each call keeps its own decision.
func TestOnePressForSeveralCalls(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra, o.Approvals = []tools.Tool{count}, "approvals: {approvers: [manager, finance], edit_approves: false, sweep: 200ms}"
		o.YAML = "rules: [{tool: wipe, batch: true}]"
		o.Model = apptest.Play(wipes("one-a", "one-b", "one-c"), apptest.Says("All gone."))
		s := start(t, o)
		ask := s.asks("wipe a, b and c")
		third := s.card(ask, slacktest.Text("one-c"))
		message := s.bundled(ask, slacktest.Text("3 calls"), slacktest.NoText("one-a"))
		s.mgr.Clicks(message, "bundle_approve")
		form := s.Slack.ExpectModal(s.mgr, "one-a", "one-b", "one-c", "1/3", "3/3")
		s.fin.Clicks(third, "approval_edit")
		edit := s.Slack.ExpectModal(s.fin, "Why the change?")
		edit.Fill("arg:what", "one-d")
		edit.MustSubmit()
		s.Slack.ExpectUpdate(third, slacktest.Text("one-d"))
		form.MustSubmit()
		s.told(s.mgr, "2 of 3 calls were counted")
		s.Slack.ExpectUpdate(message, slacktest.NoButton("bundle_approve"))
		s.Until("two calls", func() bool { return count.Count() == 2 })
		w := s.whole()
		if got := states(w); got != "redeemed redeemed pending" {
			t.Fatal(got)
		}
		for _, a := range w.Approvals[:2] {
			if len(a.Decisions) != 1 || a.Decisions[0].By.User != "U0MGR" || a.Decisions[0].Via != "slack, one press for 3 calls" {
				t.Errorf("decisions of %s: %+v", a.ID, a.Decisions)
			}
		}
		s.mustAudit(w, "click.refused", "U0MGR", "stale")
		s.pressesWhenThere(s.mgr, third, "approval_approve")
		s.answered(ask, "All gone.")
		if count.Count() != 3 {
			t.Errorf("%d calls", count.Count())
		}
	})
}

// One code proves the whole press, and each call still needs its own two people.
func TestOnePressWithCodeAndQuorum(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra, o.Approvals = []tools.Tool{count}, "approvals: {approvers: [manager, finance], step_up: totp, totp_key: \"${CODES_KEY}\", quorum: 2, sweep: 200ms}"
		o.YAML = "rules: [{tool: wipe, batch: true}]"
		o.Model = apptest.Play(wipes("a", "b"), apptest.Says("All gone."))
		s := start(t, o)
		s.enrolls(s.mgr)
		s.enrolls(s.fin)
		ask := s.asks("wipe a and b")
		message := s.bundled(ask)
		s.ana.Clicks(message, "bundle_approve")
		s.Slack.ExpectModal(s.ana, "1/2").Fill("code", "000000").Submit()
		for i, who := range []slacktest.Person{s.mgr, s.fin} {
			if i == 1 && count.Count() != 0 {
				t.Fatal("it ran with one of two people")
			}
			s.pressesWhenThere(who, message, "bundle_approve")
			form := s.Slack.ExpectModal(who, "1/2", "2/2", "authenticator")
			if errs := form.Fill("code", "000000").Submit().Errors; errs["code"] == "" {
				t.Fatal("a wrong code was taken")
			}
			form.Fill("code", code(t, 0)).MustSubmit()
			if i == 0 {
				s.Until("one of two people on both", func() bool {
					w := s.whole()
					return len(w.Approvals) == 2 && w.Approvals[0].Approvals() == 1 && w.Approvals[1].Approvals() == 1
				})
			}
		}
		s.answered(ask, "All gone.")
		if w := s.waits(agent.Success); states(w) != "redeemed redeemed" || len(w.Approvals[0].Decisions)+len(w.Approvals[1].Decisions) != 4 {
			t.Errorf("%s, %+v", states(w), w.Approvals)
		}
	})
}

// Reject all takes one reason, and whoever may not decide decides nothing with it.
func TestOnePressRejectsAll(t *testing.T) {
	t.Parallel()
	count := &apptest.Counter{Name: "wipe", Risk: tools.High}
	s := start(t, apptest.Options{
		Extra: []tools.Tool{count}, YAML: "rules: [{tool: wipe, batch: true}]", Model: apptest.Play(wipes("a", "b"), apptest.Says("I may not.")),
	})
	ask := s.asks("wipe a and b")
	message := s.bundled(ask)
	s.ana.Clicks(message, "bundle_reject")
	s.Slack.ExpectModal(s.ana, "2 calls will not run").MustSubmit()
	s.told(s.ana, "0 of 2 calls were counted")
	s.mgr.Clicks(message, "bundle_reject")
	form := s.Slack.ExpectModal(s.mgr, "2 calls will not run")
	form.Fill("reason", "not on a Friday")
	form.MustSubmit()
	s.answered(ask, "I may not.")
	w := s.waits(agent.Success)
	if states(w) != "rejected rejected" || count.Count() != 0 {
		t.Errorf("%s, %d calls", states(w), count.Count())
	}
	for _, a := range w.Approvals {
		if a.Decisions[0].Reason != "not on a Friday" || a.Decisions[0].Verdict != approvals.Reject {
			t.Errorf("%+v", a.Decisions)
		}
	}
}

// Only calls whose rule allows it and that the same people may decide come together.
func TestWhatComesTogether(t *testing.T) {
	t.Parallel()
	count := &apptest.Counter{Name: "wipe", Risk: tools.High}
	s := start(t, apptest.Options{
		Extra: []tools.Tool{count}, Model: apptest.Play(wipes("one-a", "two-b", "two-c", "all-d", "one-e")),
		YAML: "rules:\n  - {tool: wipe, when: \"args.what.startsWith('one')\"}\n  - {tool: wipe, when: \"args.what.startsWith('two')\", batch: true}\n" +
			"  - {tool: wipe, when: \"args.what.startsWith('all')\", batch: true, approvers: [finance]}\n",
	})
	ask := s.asks("wipe them")
	s.bundled(ask, slacktest.Text("2 calls"), slacktest.Text("step 2"), slacktest.Text("step 3"), slacktest.NoText("step 4"))
	w := s.waits(agent.WaitingApproval)
	for i, want := range []int{0, 2, 2, 0, 0} {
		if w.Approvals[i].Bundle != want {
			t.Errorf("approval %d: bundle %d, want %d", i+1, w.Approvals[i].Bundle, want)
		}
	}
	// The door refuses a press for several calls whose rule does not allow it.
	a := &w.Approvals[0]
	out, err := s.Newest().Door().Decide(t.Context(), decisions.Attempt{
		ID: "forged", Approval: a.ID, Revision: 1, Digest: a.Current().Digest, Verdict: approvals.Approve, Together: 2,
		Who: policy.Actor{Team: "T0LOCAL", User: "U0MGR"}, Via: "slack",
	})
	if err != nil || out.Refused != "not_batch" || count.Count() != 0 {
		t.Errorf("%q, %v", out.Refused, err)
	}
}

// A rule's confirm puts a question before Approve, and only there.
func TestConfirmAsksOnceMore(t *testing.T) {
	t.Parallel()
	count := &apptest.Counter{Name: "wipe", Risk: tools.High}
	s := start(t, apptest.Options{
		Extra: []tools.Tool{count}, Model: apptest.Play(wipes("prod-a", "test-b"), apptest.Says("Gone.")),
		YAML: "rules: [{tool: wipe, when: \"args.what.startsWith('prod')\", confirm: true}]",
	})
	ask := s.asks("wipe both")
	confirmed, plain := s.card(ask, slacktest.Text("prod-a")), s.card(ask, slacktest.Text("test-b"))
	for card, want := range map[slacktest.Message]bool{confirmed: true, plain: false} {
		for _, e := range blockkit.Elements(card.Now().Blocks) {
			if _, asks := e.Element["confirm"]; asks != (want && e.ActionID == "approval_approve") {
				t.Errorf("%s of %q asks once more: %v", e.ActionID, card.Shown(), asks)
			}
		}
		s.mgr.Clicks(card, "approval_approve") // and the answer to the question is yes
	}
	s.answered(ask, "Gone.")
	if count.Count() != 2 {
		t.Errorf("%d calls", count.Count())
	}
}

package app_test

import (
	"context"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// leftAllowed is a world whose process died when a call was allowed and not made yet. For
// the next one the tool is HIGH.
func leftAllowed(t *testing.T, db, rules string) (s *stage, ask slacktest.Message, count *apptest.Counter) {
	t.Helper()
	count, o := deletion(db)
	count.Risk, o.YAML = tools.Medium, rules
	w := apptest.New(t, o)
	p, mortal := runToStart(w, 1, false)
	s = stageOf(t, w)
	ask = s.asks("wipe doc_42")
	s.Until("a death", mortal.Dead)
	if n := s.number("SELECT count(*) FROM steps WHERE state = 'allowed'"); n != 1 {
		t.Fatalf("%d calls are allowed", n)
	}
	s.Kill(p)
	count.Risk = tools.High
	return s, ask, count
}

// A call that was allowed when the process died is looked at once more by the next one: it
// waits for people where the rules are stricter by now, and where one that counts what it
// lets through was paid nothing for it.
func TestAllowedUnderEarlierRules(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{
		"no rule": "", "a budget that was not paid from": "rules: [{tool: wipe, risk: medium, at_most: {count: 1, within: 1h}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o apptest.Options) {
				s, ask, count := leftAllowed(t, o.Database, rules)
				s.Run()
				card := s.card(ask)
				if count.Count() != 0 {
					t.Errorf("%d calls without a countersignature", count.Count())
				}
				s.mgr.Clicks(card, "approval_approve")
				s.answered(ask, "It is gone.")
				if count.Count() != 1 {
					t.Errorf("%d calls", count.Count())
				}
			})
		})
	}
}

// What a rule paid for is not asked about because somebody spoke while the model thought.
func TestPaidIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		turn, begun, letGo := thinking(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`))
		defer letGo()
		o.Extra, o.Model = []tools.Tool{count}, apptest.Play(turn, apptest.Says("It is gone."))
		o.YAML = "rules: [{tool: wipe, risk: medium, at_most: {count: 1, within: 1h}}]\n"
		s := start(t, o)
		ask := s.asks("wipe x")
		<-begun
		s.ana.Replies(ask, "@countersign thank you")
		s.Until("the words", func() bool { return s.number("SELECT count(*) FROM inbox") == 1 })
		letGo()
		s.answered(ask, "It is gone.")
		if count.Count() != 1 || s.number("SELECT count(*) FROM approvals") != 0 {
			t.Errorf("%d calls, and a card", count.Count())
		}
	})
}

// Who makes a tool stricter while another call of the same turn runs is obeyed by the
// next one.
func TestReloadBetweenTwoCalls(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		var s *stage
		pay := &apptest.Counter{Name: "pay", Risk: tools.Medium}
		slow := &apptest.Counter{Name: "slow", Risk: tools.Medium, Do: func(context.Context, tools.Call) (tools.Result, error) {
			_, err := s.Newest().Reload(context.Background(), s.changed(with("\nrules: [{tool: pay, risk: high}]\n")))
			return tools.Result{Text: "slow"}, err
		}}
		o.Extra, o.Env = []tools.Tool{pay, slow}, map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}
		o.Model = apptest.Play(apptest.Turn{Calls: []apptest.Call{{Name: "slow", Args: `{"thought":"a","what":"a"}`}, {Name: "pay", Args: `{"thought":"b","what":"b"}`}}}, apptest.Says("That is all."))
		s = stageOf(t, apptest.New(t, o))
		s.Run()
		ask := s.asks("do both")
		s.mgr.Clicks(s.card(ask), "approval_approve")
		s.answered(ask, "That is all.")
		if pay.Count() != 1 {
			t.Errorf("%d calls", pay.Count())
		}
	})
}

// A press on a card that did not ask once more is none where the rules by now want that.
func TestConfirmByNow(t *testing.T) {
	t.Parallel()
	counter, _, o := wiping(apptest.Options{}, "doc_42")
	s := settled(t, o)
	ask := s.asks("wipe doc_42")
	card := s.card(ask)
	s.reload(s.changed(with("\nrules: [{tool: wipe, confirm: true}]\n")))
	s.mgr.Clicks(card, "approval_approve")
	s.Until("a second card, or a call", func() bool { return s.number("SELECT count(*) FROM approvals")+counter.Count() == 2 })
	if counter.Count() != 0 {
		t.Fatal("it ran without the second thought that the rule wants")
	}
	s.pressesWhenThere(s.mgr, s.card(ask, slacktest.Text("policy asks for more")), "approval_approve")
	s.answered(ask, "That is all.")
	if counter.Count() != 1 {
		t.Errorf("%d calls", counter.Count())
	}
}

package app_test

import (
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// breaks lets somebody try to act alone on a card.
func (s *stage) breaks(who slacktest.Person, card slacktest.Message, reason, code string) map[string]string {
	s.t.Helper()
	s.pressesWhenThere(who, card, "glass_break")
	form := s.Slack.ExpectModal(who, "Break glass", "authenticator")
	form.Fill("reason", reason)
	form.Fill("code", code)
	errs := form.Submit().Errors
	if len(errs) > 0 {
		form.Close()
	}
	s.Slack.ExpectNoModal(who)
	return errs
}

// Somebody with the role acts alone on what takes two, with a code and a reason. It is
// announced in the thread, in the approvals channel and to those who could have decided,
// and stays open until somebody else has looked at it.
func TestBreakGlass(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra, o.Roles = []tools.Tool{count}, "  oncall: {users: [U0FIN, U0ANA]}\n"
		o.Approvals = "approvals: {approvers: [manager, finance], quorum: 2, break_glass: [oncall], totp_key: \"${CODES_KEY}\", sweep: 200ms}"
		o.YAML = "slack: {approvals_channel: C0VAULT}"
		o.Model = apptest.Play(wipes("all of it"), apptest.Says("It is gone."))
		s := start(t, o)
		for _, p := range []slacktest.Person{s.ana, s.mgr, s.fin} {
			s.enrolls(p)
		}
		ask := s.asks("wipe it, the disk is full")
		card := s.card(ask, slacktest.Button("glass_break"), slacktest.Text("`oncall`"))
		s.breaks(s.ana, card, "my own request", code(t, 0))
		s.told(s.ana, "somebody else has to approve it")
		s.breaks(s.mgr, card, "no role", code(t, 0))
		s.told(s.mgr, "`oncall`")
		if errs := s.breaks(s.fin, card, " ", code(t, 0)); errs["reason"] == "" {
			t.Fatalf("no reason was needed: %v", errs)
		}
		if errs := s.breaks(s.fin, card, "nobody is awake", "000000"); errs["code"] == "" {
			t.Fatalf("no code was needed: %v", errs)
		}
		if count.Count() != 0 {
			t.Fatal("it ran too early")
		}
		if errs := s.breaks(s.fin, card, "nobody is awake", code(t, 0)); len(errs) > 0 {
			t.Fatal(errs)
		}
		s.answered(ask, "It is gone.")
		s.Slack.ExpectUpdate(card, slacktest.Text("broke the glass"), slacktest.Text("nobody is awake"))
		w := s.waits(agent.Success)
		if a := w.Approvals[0]; count.Count() != 1 || len(a.Decisions) != 1 || !a.Decisions[0].Glass || a.Review == nil || a.Review.State != approvals.ReviewOpen {
			t.Errorf("%d calls, %+v, review %+v", count.Count(), a.Decisions, a.Review)
		}
		s.mustAudit(w, "click.refused", "U0ANA", "requester")
		s.mustAudit(w, "approval.glass", "U0FIN", "nobody is awake")
		s.reviewed(ask)
	})
}

// reviewed is what comes after: not by whoever acted, nor by the asker, and until then
// nothing of the run is forgotten.
func (s *stage) reviewed(ask slacktest.Message) {
	s.t.Helper()
	look := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("review_ok"), slacktest.Text("nobody is awake"))
	above := s.Slack.Expect(s.Slack.In("#vault"), slacktest.Button("review_ok"))
	private := s.direct(s.mgr, slacktest.Button("review_concern"), slacktest.NoText("all of it"))
	for _, who := range []slacktest.Person{s.fin, s.ana} {
		s.pressesWhenThere(who, look, "review_ok")
		s.Slack.ExpectModal(who, "approved `wipe` alone").MustSubmit()
	}
	s.told(s.fin, "You acted alone here")
	s.told(s.ana, "Only people with the role")
	if n, err := s.Newest().Store().DeleteRuns(s.t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		s.t.Errorf("retention removed %d runs that wait for a review, %v", n, err)
	}
	s.pressesWhenThere(s.mgr, private, "review_concern")
	form := s.Slack.ExpectModal(s.mgr, "What do you say of it?")
	if errs := form.Submit().Errors; errs["reason"] == "" {
		s.t.Error("a concern without words was taken")
	}
	form.Fill("reason", "it could have waited")
	form.MustSubmit()
	for _, m := range []slacktest.Message{look, above, private} {
		s.Slack.ExpectUpdate(m, slacktest.NoButton(""), slacktest.Text("it could have waited"), slacktest.Text("<@U0MGR> raised a concern"))
	}
	w := s.whole()
	s.mustAudit(w, "review.concern", "U0MGR", "it could have waited")
	s.mustAudit(w, "click.refused", "U0FIN", "review_own")
}

// Nobody acts alone past a deny, and without the setting nobody acts alone at all.
func TestNoGlassToBreak(t *testing.T) {
	t.Parallel()
	count := &apptest.Counter{Name: "wipe", Risk: tools.High}
	s := start(t, apptest.Options{
		Extra: []tools.Tool{count}, Roles: "  oncall: {users: [U0FIN]}\n", Approvals: "approvals: {approvers: [manager], break_glass: [oncall], totp_key: \"${CODES_KEY}\", sweep: 200ms}",
		YAML: `rules: [{tool: wipe, deny: "production is never wiped"}]`, Model: apptest.Play(wipes("prod"), apptest.Says("I may not.")),
	})
	s.answered(s.asks("wipe prod"), "I may not.")
	if w := s.waits(agent.Success); count.Count() != 0 || len(w.Approvals) != 0 || len(s.Slack.All(slacktest.Button("glass_break"))) != 0 {
		t.Errorf("%d calls, %+v", count.Count(), w.Approvals)
	}
	plain := start(t, apptest.Options{})
	plain.card(plain.asks("删除文档 doc_42"), slacktest.NoButton("glass_break"))
}

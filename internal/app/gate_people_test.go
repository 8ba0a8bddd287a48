package app_test

import (
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/apptest"
	"countersign/internal/audit"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// direct wants a message in a conversation between a person and the bot.
func (s *stage) direct(who slacktest.Person, more ...slacktest.Match) slacktest.Message {
	s.t.Helper()
	return s.Slack.Expect(append([]slacktest.Match{slacktest.MetaHas("subject", "/"+who.ID)}, more...)...)
}

// A decision on a HIGH call is told to its author, who may say that it was not theirs:
// what they approved is void, and nothing of theirs counts until they are unlocked.
func TestDisownedDecisionsAreVoid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra, o.Approvals = []tools.Tool{count}, "approvals: {approvers: [manager, finance], quorum: 2, sweep: 200ms}"
		o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"doc_42"}`), apptest.Says("It is gone."))
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask, slacktest.Button("approval_approve"))
		s.mgr.Clicks(card, "approval_approve")
		note := s.direct(s.mgr, slacktest.Button("decision_disown"), slacktest.NoText("doc_42"))
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		s.mgr.Clicks(note, "decision_disown")
		s.Slack.ExpectUpdate(note, slacktest.NoButton("decision_disown"), slacktest.Text("operator"))
		s.Slack.ExpectUpdate(card, slacktest.Text("0 of 2"))
		s.pressesWhenThere(s.mgr, card, "approval_approve")
		s.told(s.mgr, "do not count")
		w := s.whole()
		s.mustAudit(w, "person.locked", "U0MGR", "disowned")
		if w.Approvals[0].State != approvals.Pending || !w.Approvals[0].Decisions[0].Void || count.Count() != 0 {
			t.Errorf("%+v", w.Approvals[0])
		}
		was, err := s.Newest().Store().Unlock(t.Context(), policy.Actor{Team: "T0LOCAL", User: "U0MGR"}, audit.Entry{Kind: "person.unlocked", Via: "cli", Data: "{}"})
		if err != nil || !was {
			t.Fatalf("unlock: %v %v", was, err)
		}
		s.pressesWhenThere(s.mgr, card, "approval_approve")
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		s.pressesWhenThere(s.fin, card, "approval_approve")
		s.answered(ask, "It is gone.")
		if count.Count() != 1 {
			t.Errorf("it ran %d times", count.Count())
		}
	})
}

// What a disowned edit shaped is not asked for by anybody: it is refused as a whole.
func TestDisownedEditIsCancelled(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{Approvals: "approvals: {approvers: [manager, finance], quorum: 2, sweep: 200ms}"})
	ask := s.asks("删除文档 doc_42")
	card := s.card(ask, slacktest.Button("approval_approve"))
	s.mgr.Clicks(card, "approval_edit")
	form := s.Slack.ExpectModal(s.mgr, "doc_42")
	form.Fill("arg:id", "doc_43")
	form.MustSubmit()
	note := s.direct(s.mgr, slacktest.Button("decision_disown"))
	s.mgr.Clicks(note, "decision_disown")
	s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
	w := s.waits(agent.Success)
	if w.Approvals[0].State != approvals.Cancelled || w.Steps[len(w.Steps)-1].Code != "disowned" || s.File("docs/doc_43.md") == "" {
		t.Errorf("%s, step %+v", w.Approvals[0].State, w.Steps[len(w.Steps)-1])
	}
}

// Those who may decide are told privately where that is configured, once, and what
// they were told follows the card. A claim names its author and stills reminders.
// Row B59. Slack row 34.
func TestApproversAreToldRemindedAndClaim(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Approvals = "approvals: {approvers: [manager, finance], notify: dm, ttl: 1h, remind: [59m58s], sweep: 200ms}"
		s := start(t, o)
		ask := s.asks("删除文档 doc_42")
		card := s.card(ask)
		asked := s.direct(s.fin, slacktest.MetaHas("subject", "/asked/"), slacktest.NoText("doc_42"))
		s.direct(s.mgr, slacktest.MetaHas("subject", "/asked/"))
		reminded := s.direct(s.fin, slacktest.MetaHas("subject", "/remind/1/"))
		s.direct(s.mgr, slacktest.MetaHas("subject", "/remind/1/"))
		s.Slack.ExpectUpdate(card, slacktest.Text("⏰"))
		s.ana.Clicks(card, "approval_claim")
		s.told(s.ana, "Only people with the role")
		s.fin.Clicks(asked, "approval_claim")
		s.Slack.ExpectUpdate(card, slacktest.Text("<@U0FIN> "))
		s.pressesWhenThere(s.mgr, card, "approval_claim")
		s.told(s.mgr, "<@U0FIN>")
		s.pressesWhenThere(s.mgr, card, "approval_reject")
		s.Slack.ExpectModal(s.mgr, "will not run").MustSubmit()
		s.Slack.ExpectUpdate(asked, slacktest.NoButton(""))
		s.Slack.ExpectUpdate(reminded, slacktest.NoButton(""))
		w := s.waits(agent.Success)
		s.mustAudit(w, "approval.reminded", "")
		s.mustAudit(w, "approval.claimed", "U0FIN")
	})
}

// When nobody decides, further roles may, as the card said from the start.
// Slack row 34.
func TestEscalation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Approvals = "approvals: {approvers: [manager], escalate: {after: 2s, to: [finance]}, notify: dm, sweep: 200ms}"
		s := start(t, o)
		ask := s.asks("删除文档 doc_42")
		card := s.card(ask, slacktest.Text("`finance`"))
		s.fin.Clicks(card, "approval_approve")
		s.told(s.fin, "`manager`")
		s.direct(s.fin, slacktest.MetaHas("subject", "/asked/"))
		s.pressesWhenThere(s.fin, card, "approval_approve")
		s.answered(ask, "doc_42")
		s.mustAudit(s.waits(agent.Success), "approval.escalated", "")
	})
}

// Who may decide gives a request more time once its end was announced.
// Row B59: a reminder, more time, and an end.
func TestMoreTime(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Approvals = "approvals: {approvers: [manager, finance], ttl: 1h, remind: [59m58s], sweep: 200ms}"
		s := start(t, o)
		card := s.card(s.asks("删除文档 doc_42"), slacktest.NoButton("approval_extend"))
		end := s.waits(agent.WaitingApproval).Approvals[0].ExpiresAt
		s.Slack.ExpectUpdate(card, slacktest.Text("⏰"), slacktest.Button("approval_extend"))
		s.pressesWhenThere(s.fin, card, "approval_extend")
		s.Until("a later end", func() bool { return s.whole().Approvals[0].ExpiresAt.After(end) })
		s.mustAudit(s.whole(), "approval.extended", "U0FIN")
	})
}

// More time is given by who may decide, and not for ever.
func TestMoreTimeHasAnEnd(t *testing.T) {
	t.Parallel()
	clock := &apptest.Shifted{}
	s := start(t, apptest.Options{Now: clock.Now, Approvals: "approvals: {approvers: [manager, finance], ttl: 1h, remind: [12m], sweep: 200ms}"})
	card := s.card(s.asks("删除文档 doc_42"))
	for _, minutes := range []int{50, 55, 55, 55} { // it ends at 60, 110, 165, 220, and at 240 whatever they do
		clock.Shift(time.Duration(minutes) * time.Minute)
		s.Slack.ExpectUpdate(card, slacktest.Text("⏰"), slacktest.Button("approval_extend"))
		s.pressesWhenThere(s.ana, card, "approval_extend")
		s.told(s.ana, "Only people with the role")
		s.pressesWhenThere(s.fin, card, "approval_extend")
		s.Slack.ExpectUpdate(card, slacktest.NoText("⏰"), slacktest.NoButton("approval_extend"))
	}
	clock.Shift(20 * time.Minute)
	s.Slack.ExpectUpdate(card, slacktest.Text("⏰"), slacktest.NoButton("approval_extend"))
	clock.Shift(10 * time.Minute)
	s.Slack.ExpectUpdate(card, slacktest.Button("approval_again"))
	s.mustAudit(s.waits(agent.Success), "approval.expire", "")
}

// The asker of an expired request asks again: a new run of the same words, all gates anew.
// Slack row 35.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	clock := &apptest.Shifted{}
	s := start(t, apptest.Options{Now: clock.Now})
	ask := s.asks("删除文档 doc_42")
	card := s.card(ask)
	clock.Shift(time.Hour)
	s.Slack.ExpectUpdate(card, slacktest.Button("approval_again"))
	s.waits(agent.Success)
	s.mgr.Clicks(card, "approval_again")
	s.told(s.mgr, "Only the person who asked")
	s.ana.Clicks(card, "approval_again")
	second := s.card(ask)
	s.pressesWhenThere(s.mgr, second, "approval_approve")
	s.Until("a deleted document", func() bool { return s.File("docs/doc_42.md") == "" })
	s.ana.Clicks(card, "approval_again")
	s.Until("no third run", func() bool {
		runs, err := s.Newest().Store().Runs(t.Context(), false, 10)
		return err == nil && len(runs) == 2
	})
}

// A card for exactly the call that was rejected a while ago says by whom and why.
func TestCardOfARejectedCall(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{})
	first := s.card(s.asks("删除文档 doc_42"))
	s.mgr.Clicks(first, "approval_reject")
	form := s.Slack.ExpectModal(s.mgr, "will not run")
	form.Fill("reason", "we still need it")
	form.MustSubmit()
	s.waits(agent.Success)
	s.Slack.ExpectUpdate(first, slacktest.Text("记录"))
	second := s.asks("删除文档 doc_42")
	s.card(second, slacktest.Text("we still need it"), slacktest.Text("<@U0MGR>"))
	other := s.asks("删除文档 doc_41")
	s.card(other, slacktest.NoText("we still need it"))
}

// Whoever was asked privately learns that the request was stopped, too.
func TestStopReachesThoseWhoWereAsked(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{Approvals: "approvals: {approvers: [manager], notify: dm, sweep: 200ms}"})
	ask := s.asks("删除文档 doc_42")
	s.card(ask)
	asked := s.direct(s.mgr, slacktest.MetaHas("subject", "/asked/"))
	s.ana.Replies(ask, "@countersign 停止")
	s.waits(agent.Cancelled)
	s.Slack.ExpectUpdate(asked, slacktest.NoButton(""))
}

package app_test

import (
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// Slack row 34: nobody answers a card. They are reminded, then others are asked, then it
// expires: in this order, each once, and the thread tells the story to its end, to the
// asker and to the model.
func TestACardThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	clock := &apptest.Shifted{}
	s := start(t, apptest.Options{
		Now:       clock.Now,
		Approvals: "approvals: {approvers: [manager], notify: dm, ttl: 1h, remind: [50m], escalate: {after: 30m, to: [finance]}, sweep: 200ms}",
	})
	later := func(by time.Duration) { // not under a delivery, whose lease would seem over
		t.Helper()
		s.Until("every receipt", func() bool { return s.number("SELECT count(*) FROM deliveries WHERE version > done AND NOT gone") == 0 })
		clock.Shift(by)
	}
	ask := s.asks("delete document doc_42")
	card := s.card(ask)
	asked, reminded := slacktest.MetaHas("subject", "/asked/"), slacktest.MetaHas("subject", "/remind/")
	s.direct(s.mgr, asked)
	later(11 * time.Minute)
	s.direct(s.mgr, reminded)
	s.Slack.ExpectUpdate(card, slacktest.Text("⏰"), slacktest.Button("approval_approve"))
	if n := len(s.Slack.All(asked)); n != 1 {
		t.Errorf("%d were asked before the escalation", n)
	}
	later(20 * time.Minute)
	s.direct(s.fin, asked)
	if n := len(s.Slack.All(answer)); n != 0 {
		t.Errorf("%d answers before the end", n)
	}
	later(30 * time.Minute)
	s.answered(ask, "doc_42 was not deleted", "expired")
	s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.Button("approval_again"), slacktest.Text("Nobody answered in time"))
	w := s.waits(agent.Success)
	for _, who := range []slacktest.Person{s.mgr, s.fin} {
		for _, kind := range []slacktest.Match{asked, reminded} {
			if n := len(s.Slack.All(kind, slacktest.MetaHas("subject", "/"+who.ID))); n != 1 {
				t.Errorf("%s was told %d times in one kind", who.ID, n)
			}
		}
	}
	if !strings.HasPrefix(w.Steps[0].Observation, "EXPIRED") {
		t.Errorf("the model was told %q", w.Steps[0].Observation)
	}
	var story []string
	for _, e := range w.Audit {
		switch e.Kind {
		case "approval.reminded", "approval.escalated", "approval.expire":
			story = append(story, e.Kind)
		}
	}
	if got := strings.Join(story, " "); got != "approval.reminded approval.escalated approval.expire" {
		t.Errorf("the record says %q", got)
	}
	for _, m := range s.Slack.All(s.Slack.In("#ops")) {
		if m.Now().ThreadTS != ask.TS {
			t.Errorf("outside of the thread: %s", m.Shown())
		}
	}
}

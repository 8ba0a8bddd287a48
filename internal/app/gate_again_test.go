package app_test

import (
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// lapsed is a world in which a call of Ana's expired and was asked for again: the model's
// first turn in the new run is the second one.
func lapsed(t *testing.T, second apptest.Turn) (s *stage, ask slacktest.Message, wipe *apptest.Counter, p *apptest.Process) {
	t.Helper()
	clock := &apptest.Shifted{}
	var begun atomic.Int64
	wipe = &apptest.Counter{Name: "wipe", Risk: tools.High}
	s = stageOf(t, apptest.New(t, apptest.Options{
		Now: clock.Now, Extra: []tools.Tool{wipe},
		Slack: []func(*localslack.Config){func(c *localslack.Config) { c.Timing.Retries, c.Now = []time.Duration{0}, clock.Now }},
		Model: apptest.Play(apptest.Turn{From: func(apptest.Request) apptest.Turn {
			if begun.Add(1) == 1 {
				return apptest.Calls("wipe", `{"thought":"a","what":"doc_42"}`)
			}
			return second
		}}, apptest.Turn{From: func(r apptest.Request) apptest.Turn {
			return apptest.Says("I was told: " + r.Messages[len(r.Messages)-1].Content)
		}}),
	}))
	p = s.Run()
	ask = s.asks("wipe it")
	card := s.card(ask)
	s.Until("every receipt", func() bool { return s.number("SELECT count(*) FROM deliveries WHERE version > done AND NOT gone") == 0 })
	clock.Shift(61 * time.Minute)
	s.answered(ask, "I was told", "EXPIRED")
	s.Slack.ExpectUpdate(card, slacktest.Button("approval_again"))
	s.pressesWhenThere(s.ana, card, "approval_again")
	return s, ask, wipe, p
}

// What was typed while no process ran is heard by a run that was asked for again, as by any other.
func TestAnswerToARunAskedForAgainWhileDown(t *testing.T) {
	t.Parallel()
	s, ask, _, p := lapsed(t, apptest.Calls("ask_user", `{"thought":"a","question":"Which one?"}`))
	s.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/question/"), slacktest.Text("Which one?"))
	s.Until("a run that waits", func() bool {
		return s.number("SELECT count(*) FROM runs WHERE state = '"+string(agent.WaitingInput)+"'") == 1
	})
	s.Stop(p)
	s.ana.Replies(ask, "the red one")
	s.Slack.Until("an event that is given up", func(l *localslack.Server) bool { return len(l.Lost()) == 1 })
	s.Run()
	s.answered(ask, "I was told", "the red one")
}

// Whoever deletes their request while no process runs finds it stopped after the start.
func TestRequestDeletedWhileDown(t *testing.T) {
	t.Parallel()
	s, ask, wipe, p := lapsed(t, apptest.Calls("wipe", `{"thought":"a","what":"doc_43"}`))
	second := s.card(ask, slacktest.Text("doc_43"))
	s.Stop(p)
	s.ana.Deletes(ask)
	s.Slack.Until("an event that is given up", func(l *localslack.Server) bool { return len(l.Lost()) == 1 })
	s.Run()
	s.Slack.ExpectUpdate(second, slacktest.NoButton("approval_approve"))
	if n := s.number("SELECT count(*) FROM runs WHERE state = '" + string(agent.Cancelled) + "'"); n != 1 || wipe.Count() != 0 {
		t.Errorf("%d runs were stopped, %d calls made", n, wipe.Count())
	}
}

// Whoever deletes their request takes it back, whoever edits it is read anew, also after it
// was asked for once more.
func TestRequestAskedForAgainIsStillItsMessage(t *testing.T) {
	t.Parallel()
	s, ask, wipe, _ := lapsed(t, apptest.Calls("wipe", `{"thought":"a","what":"doc_43"}`))
	second := s.card(ask, slacktest.Text("doc_43"))
	s.ana.Edits(ask, "@countersign wipe it, but keep y")
	s.Slack.ExpectUpdate(second, slacktest.Text("was edited or taken back"))
	s.ana.Deletes(ask)
	s.Slack.ExpectUpdate(second, slacktest.NoButton("approval_approve"))
	if n := s.number("SELECT count(*) FROM runs WHERE state = '" + string(agent.Cancelled) + "'"); n != 1 || wipe.Count() != 0 {
		t.Errorf("%d runs were stopped, %d calls made", n, wipe.Count())
	}
}

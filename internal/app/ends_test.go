package app_test

import (
	"sync"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// Who deletes their request while a card and a question of it wait stops the run: both
// are settled, and a press that comes later runs nothing.
func TestTheRequestIsDeletedWhileACardWaits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
		both := apptest.Turn{Calls: []apptest.Call{{Name: "wipe", Args: `{"what":"doc_42"}`}, {Name: "ask_user", Args: `{"question":"Which one?"}`}}}
		script := apptest.Play(both, apptest.Says("not reached"))
		o.Extra, o.Model = []tools.Tool{wipe}, script
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		s.Slack.Expect(slacktest.InThread(ask), slacktest.Text("Which one?"))
		s.ana.Deletes(ask)
		w := s.waits(agent.Cancelled)
		s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
		for i := range w.Steps {
			if got := w.Steps[i].State; got != agent.StepCancelled {
				t.Errorf("step %d is %s", i+1, got)
			}
		}
		if w.Approvals[0].State != approvals.Cancelled || wipe.Count() != 0 || len(script.Requests()) != 1 {
			t.Errorf("the card is %s, %d calls, %d requests", w.Approvals[0].State, wipe.Count(), len(script.Requests()))
		}
	})
}

// The button that allows more, pressed twice at once, allows once: at the next limit
// the asker is asked again.
func TestMoreIsAllowedOnceAPress(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		note := &apptest.Counter{Name: "note", Risk: tools.Low}
		o.YAML = "limits: {max_steps: 1}\n"
		o.Extra, o.Model = []tools.Tool{note}, apptest.Play(
			apptest.Calls("note", `{"what":"a"}`), apptest.Says("One is done."), apptest.Calls("note", `{"what":"b"}`), apptest.Says("Two are done."),
			apptest.Calls("note", `{"what":"c"}`), apptest.Says("Three are done."),
		)
		s := start(t, o)
		ask := s.asks("note all")
		at := s.Slack.Expect(slacktest.InThread(ask), slacktest.Text("One is done."), slacktest.Button("run_continue"))
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { // the second may find the button gone
				_, _ = s.ana.Press(localslack.Click{Channel: at.Channel, TS: at.TS, ActionID: "run_continue"})
			})
		}
		both.Wait()
		s.Slack.ExpectUpdate(at, slacktest.Text("Two are done."), slacktest.Button("run_continue"))
		s.Slack.ExpectAcked()
		if w := s.waits(agent.WaitingInput); note.Count() != 2 || w.Run.Halt != agent.HaltMaxSteps {
			t.Errorf("%d calls, %s", note.Count(), w.Run.Halt)
		}
	})
}

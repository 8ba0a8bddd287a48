package bot_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"countersign/approvals/policy"
	"countersign/bot"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// hiding is a world with a card that hides something: it has Show instead of Approve.
func hiding(t *testing.T, between func(app.Ports) app.Ports) (*apptest.World, *apptest.Counter, slacktest.Message) {
	t.Helper()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	long := strings.Repeat("0123456789 ", 900) + "the-last-word"
	w := apptest.New(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"`+long+`"}`), apptest.Says("ok"))})
	w.RunBetween(between)
	w.Slack.User("ana").Says("#ops", "@countersign wipe x")
	return w, wipe, w.Slack.Expect(slacktest.Button("approval_show"), slacktest.NoButton("approval_approve"))
}

// approvesUnseen presses Approve on a card that has none.
func approvesUnseen(t *testing.T, mgr slacktest.Person, card slacktest.Message) {
	t.Helper()
	_, err := mgr.Press(localslack.Click{Channel: card.Channel, TS: card.TS, ActionID: "approval_show", Forge: plainly(func(p map[string]any) {
		p["actions"].([]any)[0].(map[string]any)["action_id"] = "approval_approve"
	})})
	if err != nil {
		t.Fatal(err)
	}
}

// Who pressed Show and never got to see the whole has not seen it: whether the form
// could not be filled, or nobody knows whether it was.
func TestFailedFormOpensNothing(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]localslack.APIFault{"refused": {Error: "internal_error"}, "no answer": {Cut: true}, "a lost answer": {Cut: true, AfterStore: true}, "limited": {RetryAfter: 2 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, wipe, card := hiding(t, nil)
			mgr := w.Slack.User("mgr")
			f.Method, f.Times = "views.update", 1
			w.Slack.Server.BreakAPI(f)
			mgr.Clicks(card, "approval_show")
			w.Until("a failed update", func() bool { return len(calls(w, "views.update")) > 0 })
			approvesUnseen(t, mgr, card)
			w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("Please open *Show everything* first"))
			if wipe.Count() != 0 {
				t.Fatal("it ran, approved by somebody who saw a part of it")
			}
			w.Slack.Server.Mend()
			w.Slack.Until("the whole", func(*localslack.Server) bool {
				w.Press(mgr, card, "approval_show")
				return len(calls(w, "views.update")) > 1
			})
			w.Slack.ExpectModal(mgr, "the-last-word").MustSubmit()
			w.Slack.Expect(answer, slacktest.Text("ok"))
			if wipe.Count() != 1 {
				t.Errorf("it ran %d times", wipe.Count())
			}
		})
	}
}

// slowOpening stores openings when a form was submitted, not before.
type slowOpening struct {
	app.Ports
	submitted chan struct{}
}

func (s *slowOpening) SaveOpening(ctx context.Context, approval string, revision int, who policy.Actor, now time.Time) error {
	<-s.submitted
	return s.Ports.SaveOpening(ctx, approval, revision, who, now)
}

func (s *slowOpening) SaveClick(ctx context.Context, c bot.Click) (bool, error) {
	fresh, err := s.Ports.SaveClick(ctx, c)
	if c.Action == "approval_show_modal" {
		close(s.submitted)
	}
	return fresh, err
}

// Somebody who is quicker than the row that says what they saw is not sent away.
func TestQuickApprovalWaitsForItsOpening(t *testing.T) {
	t.Parallel()
	slow := &slowOpening{submitted: make(chan struct{})}
	w, wipe, card := hiding(t, func(p app.Ports) app.Ports { slow.Ports = p; return slow })
	mgr := w.Slack.User("mgr")
	mgr.Clicks(card, "approval_show")
	w.Slack.ExpectModal(mgr, "the-last-word").MustSubmit()
	w.Slack.Expect(answer, slacktest.Text("ok"))
	if wipe.Count() != 1 {
		t.Errorf("it ran %d times", wipe.Count())
	}
}

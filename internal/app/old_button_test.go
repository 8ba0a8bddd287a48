package app_test

import (
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// Row B16: the model tries again what was rejected, and somebody presses Approve as the
// first card had it: nothing runs, and that card says what became of it.
func TestTheButtonOfARejectedCard(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra = []tools.Tool{count}
		o.Model = apptest.Play(
			apptest.Calls("wipe", `{"thought":"asked","what":"disk-1"}`), apptest.Calls("wipe", `{"thought":"then this","what":"disk-2"}`), apptest.Says("That is all."),
		)
		s := start(t, o)
		ask := s.asks("wipe a disk")
		one := s.card(ask, slacktest.Text("disk-1"))
		old := one.Value("approval_approve")
		s.mgr.Clicks(one, "approval_reject")
		s.Slack.ExpectModal(s.mgr, "Why not?").Fill("reason", "not that one").MustSubmit()
		two := s.card(ask, slacktest.Text("disk-2"))
		s.pressesWith(s.mgr, two, "approval_approve", old)
		s.told(s.mgr, "rejected this already")
		s.Slack.ExpectUpdate(one, slacktest.NoButton(""), slacktest.Text("rejected"), slacktest.Text("not that one"))
		w := s.waits(agent.WaitingApproval)
		if count.Count() != 0 || len(w.Steps) != 2 || w.Steps[1].State != agent.StepAwaiting {
			t.Fatalf("%d calls on an old button; steps %+v", count.Count(), w.Steps)
		}
		s.mgr.Clicks(two, "approval_approve")
		s.answered(ask, "That is all.")
		if all := count.All(); len(all) != 1 || string(all[0].Args) != `{"what":"disk-2"}` {
			t.Errorf("ran %v", all)
		}
	})
}

// An answer that the provider ended at its limit does not go out as if it were whole.
func TestAnAnswerThatWasCutSaysSo(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{"tell me all": "the end is missing", "全部告诉我": "后面的内容缺失"} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			s := start(t, apptest.Options{Model: apptest.Play(apptest.Turn{Text: "First of all, one should", Cut: true})})
			s.answered(s.asks(request), "First of all, one should", want)
		})
	}
	s := start(t, apptest.Options{Model: apptest.Play(apptest.Says("All of it."))})
	s.Slack.Expect(answer, slacktest.Text("All of it."), slacktest.NoText("the end is missing"), slacktest.InThread(s.asks("tell me all")))
}

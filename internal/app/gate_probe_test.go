package app_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// asked is a tool whose answers get lost and whose service can be asked afterwards.
type asked struct {
	*apptest.Counter
	answer tools.Probed
	times  *atomic.Int64
}

// Probe implements tools.Prober.
func (a asked) Probe(context.Context, tools.Call) (tools.Probed, error) {
	a.times.Add(1)
	return a.answer, nil
}

// A tool that can be asked settles its own unknown outcome; one that does not know leaves it to people.
func TestProbeSettlesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer tools.Probed
		state  agent.StepState
		reads  string
	}{
		{tools.ProbedHappened, agent.StepSucceeded, "the call did happen"},
		{tools.ProbedNot, agent.StepFailed, "did not happen"},
		{tools.ProbedUnknown, agent.StepUncertain, ""},
	} {
		t.Run(string(tt.answer), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o apptest.Options) {
				lost := &apptest.Counter{Name: "wipe", Risk: tools.High, Do: func(context.Context, tools.Call) (tools.Result, error) {
					return tools.Result{}, errors.New("the connection ended")
				}}
				var times atomic.Int64
				script := apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("That is all."))
				o.Extra, o.Model, o.Lease, o.YAML = []tools.Tool{asked{lost, tt.answer, &times}}, script, time.Second, "limits: {tool_timeout: 300ms}\n"
				s := start(t, o)
				ask := s.asks("wipe x")
				s.pressesWhenThere(s.mgr, s.card(ask), "approval_approve")
				question := s.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/question/"))
				if tt.state == agent.StepUncertain {
					s.Until("more probes than the first call may last", func() bool { return times.Load() >= 3 })
					if w := s.whole(); w.Steps[0].State != agent.StepUncertain {
						t.Errorf("nobody knew, and it is %s", w.Steps[0].State)
					}
					return
				}
				s.answered(ask, "That is all.")
				s.Slack.ExpectUpdate(question, slacktest.NoButton(""))
				w := s.waits(agent.Success)
				if w.Steps[0].State != tt.state || lost.Count() != 1 || !containsAll(script.Last().Raw, []string{tt.reads}) {
					t.Errorf("%s after %d calls; the model read %q", w.Steps[0].State, lost.Count(), w.Steps[0].Observation)
				}
				s.mustAudit(w, "uncertain.probed", "")
			})
		})
	}
}

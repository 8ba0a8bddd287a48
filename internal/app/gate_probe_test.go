package app_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

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
				o.Extra, o.Model, o.Lease, o.YAML = []tools.Tool{asked{lost, tt.answer, &times}}, script, steadyLease, "limits: {tool_timeout: 300ms}\n"
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

// remembers is a tool that can only be asked afterwards with what was shown beforehand, as
// delete_document is.
type remembers struct{ *apptest.Counter }

// Probe implements tools.Prober.
func (remembers) Probe(_ context.Context, c tools.Call) (tools.Probed, error) {
	if c.Preview == nil || c.Preview.Material["sum"] != "1" {
		return tools.ProbedUnknown, nil
	}
	return tools.ProbedHappened, nil
}

// A probe gets what was shown beforehand, as the call did.
func TestProbeIsGivenWhatWasShown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		lost := &apptest.Counter{
			Name: "wipe", Risk: tools.High,
			Do: func(context.Context, tools.Call) (tools.Result, error) {
				return tools.Result{}, errors.New("the connection ended")
			},
			Show: func(context.Context, tools.Call) (tools.Preview, error) {
				return tools.Preview{Summary: "one", Material: map[string]string{"sum": "1"}}, nil
			},
		}
		o.Extra, o.Lease, o.YAML = []tools.Tool{remembers{lost}}, steadyLease, "limits: {tool_timeout: 300ms}\n"
		o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("That is all."))
		s := start(t, o)
		ask := s.asks("wipe x")
		s.pressesWhenThere(s.mgr, s.card(ask), "approval_approve")
		s.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/question/"))
		s.answered(ask, "That is all.")
		if w := s.waits(agent.Success); w.Steps[0].State != agent.StepSucceeded || lost.Count() != 1 {
			t.Errorf("%s after %d calls", w.Steps[0].State, lost.Count())
		}
	})
}

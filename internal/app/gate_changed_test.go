package app_test

import (
	"context"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// looked is a world in which a call of look, a read that people countersign, was asked for
// again because the tool changed while its card waited.
func looked(t *testing.T, o apptest.Options, look *apptest.Counter, change func()) (s *stage, ask slacktest.Message) {
	t.Helper()
	o.Extra = append(o.Extra, look)
	o.YAML = "\nlimits: {tool_timeout: 300ms, input_ttl: 1h}\nrules: [{tool: look, risk: high}]\n"
	s = stageOf(t, apptest.New(t, o))
	p := s.Run()
	ask = s.asks("look at it")
	card := s.card(ask, slacktest.Button("approval_approve"))
	s.Stop(p)
	change()
	s.Run()
	s.pressesWhenThere(s.mgr, card, "approval_approve")
	return s, ask
}

// A call counts as what its tool does when it is called: one that was proposed as a read,
// and has an effect by now, may have happened when nothing answers.
func TestAReadThatChangesThingsByNow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		look := &apptest.Counter{Name: "look", Risk: tools.Low}
		o.Model = apptest.Play(apptest.Calls("look", `{"thought":"a","what":"x"}`), apptest.Says("That is all."))
		s, ask := looked(t, o, look, func() {
			look.Effects, look.Do = true, func(ctx context.Context, _ tools.Call) (tools.Result, error) {
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			}
		})
		s.pressesWhenThere(s.mgr, s.card(ask, slacktest.Text("the tool itself changed")), "approval_approve")
		s.pressesWhenThere(s.mgr, s.question(ask), "uncertain_happened")
		s.answered(ask, "That is all.")
	})
}

// What a tool that is private by now answered was read, so what sends it out asks.
func TestAReadThatIsPrivateByNow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		look := &apptest.Counter{Name: "look", Risk: tools.Low}
		send := &apptest.Counter{Name: "send", Risk: tools.Medium, Egress: true}
		o.Extra = []tools.Tool{send}
		o.Model = apptest.Play(
			apptest.Calls("look", `{"thought":"a","what":"x"}`), apptest.Calls("send", `{"thought":"a","what":"x"}`), apptest.Says("That is all."))
		s, ask := looked(t, o, look, func() { look.Private = true })
		s.pressesWhenThere(s.mgr, s.card(ask, slacktest.Button("approval_show")), "approval_show")
		s.Slack.ExpectModal(s.mgr, "look").MustSubmit()
		s.card(ask, slacktest.Text("what: \"x\""))
		if send.Count() != 0 {
			t.Errorf("sent %d times", send.Count())
		}
	})
}

// A further call that had no card is judged by what the run has read, as the first was.
func TestRunAgainAfterAPrivateRead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		wipe, look := losing(tools.High), &apptest.Counter{Name: "look", Risk: tools.Low, Private: true}
		lost := lost(t, wipe, `
rules:
  - {tool: wipe, risk: medium, at_most: {count: 1, within: 1h}}
  - {tool: wipe, when: "size(run.read) > 0", deny: nothing is wiped by what was read}
`)
		lost.Database, lost.Extra = o.Database, append(lost.Extra, look)
		lost.Model = apptest.Play(
			apptest.Calls("look", `{"thought":"a","what":"x"}`), apptest.Calls("wipe", `{"thought":"a","what":"x"}`), apptest.Says("That is all."))
		s := start(t, lost)
		ask := s.asks("look, then wipe it")
		s.wantsAgain(s.mgr, s.question(ask))
		s.told(s.mgr, "nothing is wiped by what was read")
	})
}

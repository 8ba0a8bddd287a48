package app_test

import (
	"context"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// What a private tool says when its effect is looked at was read as well, so what sends it
// out asks.
func TestAPrivateLookThatRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		pay := &apptest.Counter{Name: "pay", Risk: tools.High, Private: true, Show: func(context.Context, tools.Call) (tools.Preview, error) {
			return tools.Preview{}, &tools.Failure{Code: "too_much", Message: "Bob has 4711 left"}
		}}
		send := &apptest.Counter{Name: "send", Risk: tools.Medium, Egress: true}
		o.Extra = []tools.Tool{pay, send}
		o.Model = apptest.Play(
			apptest.Calls("pay", `{"thought":"a","what":"x"}`), apptest.Calls("send", `{"thought":"a","what":"4711"}`), apptest.Says("Bob has 4711 left."))
		s := start(t, o)
		ask := s.asks("pay Bob")
		s.card(ask, slacktest.Text("4711"))
		if send.Count() != 0 {
			t.Errorf("sent %d times", send.Count())
		}
	})
}

// The reason why people refuse a private call is not for the channel, which its card keeps
// it from: the model was told it as it is told a result.
func TestAPrivateCallIsRefusedWithAReason(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		pay := &apptest.Counter{Name: "pay", Risk: tools.High, Private: true}
		send := &apptest.Counter{Name: "send", Risk: tools.Medium, Egress: true, Do: func(context.Context, tools.Call) (tools.Result, error) {
			t.Error("sent without anybody")
			return tools.Result{Text: "sent"}, nil
		}}
		o.Extra = []tools.Tool{pay, send}
		o.Model = apptest.Play(
			apptest.Calls("pay", `{"thought":"a","what":"x"}`), apptest.Calls("send", `{"thought":"a","what":"4711"}`), apptest.Says("Bob has 4711 left."))
		s := start(t, o)
		ask := s.asks("pay Bob")
		s.rejects(s.card(ask), "Bob has 4711 left")
		s.card(ask, slacktest.Text("4711"))
	})
}

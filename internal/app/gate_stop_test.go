package app_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/bot"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/tools"
)

// unstopping dies when it has stored that it heard somebody's stop, and before the stop.
type unstopping struct{ *apptest.Mortal }

func (v unstopping) SeenEvent(ctx context.Context, key string, now time.Time) (bool, error) {
	fresh, err := v.Mortal.SeenEvent(ctx, key, now)
	v.heard(key)
	return fresh, err
}

func (v unstopping) SaveClick(ctx context.Context, c bot.Click) (bool, error) {
	fresh, err := v.Mortal.SaveClick(ctx, c)
	v.heard(c.ID)
	return fresh, err
}

func (v unstopping) heard(key string) {
	if strings.HasPrefix(key, "stop/") {
		v.At = v.Commits() + 1
	}
}

// A stop of somebody who may approve survives a death: Slack has its acknowledgement and
// does not send it again.
func TestStopIsNotLostInADeath(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra, o.Model = []tools.Tool{wipe}, apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("That is all."))
		w := apptest.New(t, o)
		m := &apptest.Mortal{}
		p := w.RunBetween(func(ports app.Ports) app.Ports { m.Between(ports); return unstopping{m} })
		s := stageOf(t, w)
		ask := s.asks("wipe x")
		s.card(ask)
		s.waits(agent.WaitingApproval)
		s.mgr.Replies(ask, "@countersign stop")
		s.Until("a death", m.Dead)
		s.Kill(p)
		s.Run()
		s.waits(agent.Cancelled)
	})
}

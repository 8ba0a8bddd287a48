package app_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// sweeping counts how often a process looks for overdue approvals.
type sweeping struct {
	app.Ports
	n atomic.Int64
}

func (s *sweeping) Overdue(ctx context.Context, now time.Time, limit int) ([]decisions.Case, error) {
	s.n.Add(1)
	return s.Ports.Overdue(ctx, now, limit)
}

// A replica whose clock is wrong ends nothing before its time, decides nothing and tells
// so; the others go on.
// Slack row 104.
func TestReplicaWithAWrongClock(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 2 * time.Hour, "behind": -2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counter, _, o := wiping(apptest.Options{Database: "postgres", Lease: 2 * time.Second}, "doc_42")
			s := stageOf(t, apptest.New(t, o))
			sound := &sweeping{}
			a := s.RunBetween(func(p app.Ports) app.Ports { sound.Ports = p; return sound })
			card := s.card(s.asks("wipe doc_42"))
			b := s.RunByClock(func() time.Time { return time.Now().Add(by) })
			s.Until("the wrong clock to be noticed", func() bool {
				status, why := s.Ready()
				return status == http.StatusServiceUnavailable && strings.Contains(why, "clock")
			})
			seen := sound.n.Load()
			s.Until("five more sweeps of the other one", func() bool { return sound.n.Load() > seen+5 })
			s.Stop(a)
			s.mgr.Clicks(card, "approval_approve")
			s.told(s.mgr, "clock")
			if w := s.whole(); w.Approvals[0].State != approvals.Pending || counter.Count() != 0 {
				t.Fatalf("%s, %d calls", w.Approvals[0].State, counter.Count())
			}
			s.Stop(b)
			s.Run()
			s.mgr.Clicks(card, "approval_approve")
			s.Slack.Expect(answer, slacktest.Text("That is all."))
			if w := s.waits(agent.Success); counter.Count() != 1 || w.Approvals[0].State != approvals.Redeemed {
				t.Errorf("%s, %d calls", w.Approvals[0].State, counter.Count())
			}
		})
	}
}

// A replica whose clock is ahead takes no mention: its run would wait for that time. Slack
// sends it again, and the metrics say how far the clock is off. Slack row 104.
func TestWrongClockTakesNoMention(t *testing.T) {
	t.Parallel()
	s := stageOf(t, apptest.New(t, apptest.Options{
		Database: "postgres", Model: apptest.Play(apptest.Says("Here I am.")),
		Slack: []func(*localslack.Config){func(c *localslack.Config) {
			c.Timing.Ack, c.Timing.Retries = 3*time.Second, slices.Repeat([]time.Duration{time.Second}, 30)
		}},
	}))
	s.Slack.Server.SkewDate(-time.Hour) // as the replica sees it
	wrong := s.RunByClock(func() time.Time { return time.Now().Add(time.Hour) })
	s.Until("the wrong clock to be noticed", func() bool { status, why := s.Ready(); return status != 0 && strings.Contains(why, "clock") })
	if page := s.page("/metrics"); !regexp.MustCompile(`countersign_slack_clock_ahead_seconds (3599|36)`).MatchString(page) {
		t.Error("the metrics do not say how far the clock is off")
	}
	ask := s.asks("are you there?")
	s.Slack.Until("a delivery that nobody takes", func(l *localslack.Server) bool { return l.Report().Unacked > 0 })
	s.Slack.Server.SkewDate(0)
	s.Stop(wrong)
	s.Run()
	s.answered(ask, "Here I am.")
	s.waits(agent.Success)
}

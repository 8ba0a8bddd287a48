package app_test

import (
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// TestDeathAtEveryCommitUnderAGrant kills the process before and after every commit of a
// call that runs under a standing grant: it happens once, or a person is honestly asked,
// and the grant is used once.
func TestDeathAtEveryCommitUnderAGrant(t *testing.T) {
	t.Parallel()
	boundaries := 10
	if testing.Short() {
		boundaries = 4
	}
	atEachCommit(t, boundaries, dieUnderGrant)
}

func dieUnderGrant(t *testing.T, db string, mortal *apptest.Mortal) {
	t.Helper()
	count := unwiper(0)
	s, card, p := granted(t, apptest.Options{Database: db, Sweep: 200 * time.Millisecond}, count)
	s.Kill(p)
	dying := s.RunBetween(mortal.Between)
	ask := s.asks("wipe thing-a")
	s.Until("death, or an answer", func() bool {
		_, answered := s.Slack.Find(slacktest.InThread(ask), answer)
		return answered || mortal.Dead()
	})
	s.Kill(dying)
	s.Run()
	uncertain := s.settledUnderGrant(ask)
	s.Slack.ExpectUpdate(card, slacktest.Text("1 of 3 used"))
	if n := count.Count() - 1; n != 1 && (n != 0 || !uncertain) {
		t.Errorf("the tool ran %d times (uncertain: %v)", n, uncertain)
	}
	s.mustHaveRecorded(map[string]int{"grant.opened": 1, "grant.used": 1})
	runs, err := s.Newest().Store().Runs(t.Context(), false, 10)
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
}

// settledUnderGrant plays the call to its answer as people would: somebody on call says
// that it happened, where nobody knows.
func (s *stage) settledUnderGrant(ask slacktest.Message) (uncertain bool) {
	s.t.Helper()
	pressed := time.Time{}
	s.Until("an answer", func() bool {
		if m, ok := s.Slack.Find(slacktest.InThread(ask), slacktest.Button("uncertain_happened")); ok && time.Since(pressed) > 300*time.Millisecond {
			pressed, uncertain = time.Now(), true
			s.Press(s.fin, m, "uncertain_happened")
		}
		runs, err := s.Newest().Store().Runs(s.t.Context(), true, 10)
		_, answered := s.Slack.Find(slacktest.InThread(ask), answer)
		return err == nil && len(runs) == 0 && answered
	})
	runs, err := s.Newest().Store().Runs(s.t.Context(), false, 10)
	if err != nil || runs[0].State != agent.Success {
		s.t.Errorf("%+v, %v", runs, err)
	}
	return uncertain
}

package app_test

import (
	"errors"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
)

// Runs that ended long ago go when a process looks; what happened stays on record.
func TestRetention(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.YAML = "\nretention: {runs: 24h}\n"
		s := stageOf(t, apptest.New(t, o))
		first := s.Run()
		s.answered(s.asks("查张三的余额，不到 100 就发充值提醒"))
		run := s.waits(agent.Success).Run.ID
		store := s.Newest().Store()
		if _, err := store.Writer().ExecContext(t.Context(), "UPDATE runs SET ended_at = ended_at - 90000000000"); err != nil { // 25 hours
			t.Fatal(err)
		}
		s.Stop(first)
		s.Run()
		store = s.Newest().Store()
		s.Until("the run to be deleted", func() bool {
			_, err := store.Whole(t.Context(), run)
			return errors.Is(err, agent.ErrNotFound)
		})
		if err := store.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

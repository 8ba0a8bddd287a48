package store

import (
	"context"

	"countersign/agent"
)

// Note stores what a running call says of its progress, and asks for the run's
// progress message to be drawn again. The outcome replaces it; a call that has
// ended keeps what it has.
func (s *Store) Note(ctx context.Context, run string, step int, text string) error {
	return s.transact(ctx, func(t *txn) error {
		// A call without effects runs while its step is allowed.
		n, err := t.changed("UPDATE steps SET summary = ? WHERE run = ? AND n = ? AND state IN (?, ?)",
			clean(text), run, step, string(agent.StepAllowed), string(agent.StepExecuting))
		if err != nil || n == 0 {
			return err
		}
		now := micros(t.now)
		t.wish = true
		_, err = t.changed(`UPDATE deliveries SET version = version + 1, ready_at = CASE WHEN version > done THEN ready_at ELSE ? END,
			since = CASE WHEN version > done THEN since ELSE ? END, updated_at = ? WHERE subject = ? AND NOT gone`, now, now, now, agent.ProgressSubject(run))
		return err
	})
}

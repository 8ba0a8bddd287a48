package store

import (
	"context"
	"time"
)

// Forget removes what only serves to know a repetition, when it is older than an
// instant: keys of events, clicks that have ended, and payments that no budget counts any more. It says how many rows went.
func (s *Store) Forget(ctx context.Context, before time.Time) (int64, error) {
	keys, err := s.exec(ctx, "DELETE FROM event_keys WHERE at < ?", micros(before))
	if err != nil {
		return 0, err
	}
	clicks, err := s.exec(ctx, "DELETE FROM clicks WHERE ended_at > 0 AND at < ?", micros(before))
	if err != nil {
		return keys, err
	}
	uses, err := s.exec(ctx, "DELETE FROM budget_uses WHERE until < ?", micros(before))
	return keys + clicks + uses, err
}

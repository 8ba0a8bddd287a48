package store

import (
	"context"
	"time"
)

// Pace implements bot.Outbox. Slots are given in turn, whichever replica asks; a
// hold on the method everywhere moves them all.
func (s *Store) Pace(ctx context.Context, method, channel string, now time.Time, gap time.Duration) (time.Duration, error) {
	var wait time.Duration
	err := s.transact(ctx, func(t *txn) error {
		start, err := t.held(method, now)
		if err != nil {
			return err
		}
		const slot = `INSERT INTO paces (method, channel, next_at) VALUES (?, ?, ?)
			ON CONFLICT (method, channel) DO UPDATE SET
			next_at = CASE WHEN paces.next_at > ? THEN paces.next_at ELSE ? END + ? RETURNING next_at`
		var next int64
		us := gap.Microseconds()
		if err := t.Raw(slot, method, channel, start+us, start, start, us).Scan(&next).Error; err != nil {
			return err
		}
		wait = max(0, time.Duration(next-us-micros(now))*time.Microsecond)
		return nil
	})
	return wait, err
}

// held gives the instant from which a method may be called at all.
func (t *txn) held(method string, now time.Time) (int64, error) {
	var until int64
	err := t.Raw("SELECT next_at FROM paces WHERE method = ? AND channel = ''", method).Scan(&until).Error
	return max(until, micros(now)), err
}

// Hold implements bot.Outbox.
func (s *Store) Hold(ctx context.Context, method, channel string, until time.Time) error {
	const hold = `INSERT INTO paces (method, channel, next_at) VALUES (?, ?, ?)
		ON CONFLICT (method, channel) DO UPDATE SET
		next_at = CASE WHEN paces.next_at > excluded.next_at THEN paces.next_at ELSE excluded.next_at END`
	_, err := s.exec(ctx, hold, method, channel, micros(until))
	return err
}

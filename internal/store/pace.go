package store

import (
	"context"
	"time"
)

// Pace implements bot.Outbox. A slot is given only when it is free now, so that what
// is most urgent at that moment gets it, whichever replica asks; a hold on the method
// everywhere moves them all.
func (s *Store) Pace(ctx context.Context, method, channel string, now time.Time, gap time.Duration) (time.Duration, error) {
	var wait time.Duration
	err := s.transact(ctx, func(t *txn) error {
		start, err := t.held(method, now)
		at := micros(now)
		if err != nil || start > at {
			wait = time.Duration(start-at) * time.Microsecond
			return err
		}
		const slot = `INSERT INTO paces (method, channel, next_at) VALUES (?, ?, ?)
			ON CONFLICT (method, channel) DO UPDATE SET next_at = excluded.next_at WHERE paces.next_at <= ?`
		n, err := t.changed(slot, method, channel, at+gap.Microseconds(), at)
		if err != nil || n == 1 {
			return err
		}
		var next int64
		err = t.Raw("SELECT next_at FROM paces WHERE method = ? AND channel = ?", method, channel).Scan(&next).Error
		wait = max(time.Duration(next-at)*time.Microsecond, time.Microsecond)
		return err
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

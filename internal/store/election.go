package store

import (
	"context"
	"time"
)

// farAhead is longer than anybody leads without renewing it. A lead that ends later was
// taken by a clock that is wrong, and is nobody's.
const farAhead = 10 * time.Minute

// Elect makes the owner the leader of a name until now + ttl, unless somebody else
// is; it says whether it is the leader now.
func (s *Store) Elect(ctx context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error) {
	const elect = `INSERT INTO elections (name, owner, until) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
		WHERE elections.owner = excluded.owner OR elections.until < ? OR elections.until > ?`
	n, err := s.exec(ctx, elect, name, owner, micros(now.Add(ttl)), micros(now), micros(now.Add(farAhead)))
	return n == 1, err
}

// Resign gives every leadership of the owner up, so that others need not wait for its end.
func (s *Store) Resign(ctx context.Context, owner string) error {
	_, err := s.exec(ctx, "DELETE FROM elections WHERE owner = ?", owner)
	return err
}

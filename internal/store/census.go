package store

import (
	"context"
	"time"

	"gorm.io/gorm"

	"countersign/internal/metrics"
)

// tally is one group of a count.
type tally struct {
	State string
	N     int
}

// Census counts what waits. Every statement reads what is open alone, through an
// index of its own, so that the size of the past does not matter.
func (s *Store) Census(ctx context.Context) (metrics.Census, error) {
	c := metrics.Census{Runs: map[string]int{}, Approvals: map[string]int{"pending": 0, "approved": 0}}
	err := s.snapshot(ctx, func(tx *gorm.DB) error {
		for statement, into := range map[string]map[string]int{
			"SELECT state, count(*) AS n FROM runs WHERE " + unfinished + " GROUP BY state":                    c.Runs,
			"SELECT state, count(*) AS n FROM approvals WHERE state IN ('pending', 'approved') GROUP BY state": c.Approvals,
		} {
			var groups []tally
			if err := tx.Raw(statement).Scan(&groups).Error; err != nil {
				return err
			}
			for _, g := range groups {
				into[g.State] = g.N
			}
		}
		return oldest(tx, &c, s.now())
	})
	return c, err
}

// oldest finds what waits for longest.
func oldest(tx *gorm.DB, c *metrics.Census, now time.Time) error {
	var opened int64
	if err := tx.Raw("SELECT COALESCE(MIN(opened_at), 0) FROM approvals WHERE state = 'pending'").Scan(&opened).Error; err != nil {
		return err
	}
	var due struct {
		N     int
		Since int64
	}
	const wanted = `SELECT count(*) AS n, COALESCE(MIN(CASE WHEN attempts = 0 THEN since END), 0) AS since
		FROM deliveries WHERE version > done AND NOT gone AND ready_at <= ?`
	if err := tx.Raw(wanted, micros(now)).Scan(&due).Error; err != nil {
		return err
	}
	c.Oldest, c.Deliveries, c.Delivery = instant(opened), due.N, instant(due.Since)
	return nil
}

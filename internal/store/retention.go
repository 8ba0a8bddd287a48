package store

import (
	"context"
	"time"

	"countersign/internal/audit"
)

// Forget removes what only serves to know a repetition, when it is older than an
// instant: keys of events, clicks that have ended, payments that no budget counts any more,
// and standing grants that are over and under which no call is kept. It says how many rows went.
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
	if err != nil {
		return keys + clicks, err
	}
	grants, err := s.exec(ctx, `DELETE FROM grants WHERE settled_at > 0 AND settled_at < ?
		AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.grant_id = grants.id AND steps.grant_id <> '')`, micros(before))
	return keys + clicks + uses + grants, err
}

// runsAtOnce bounds one transaction of DeleteRuns, so that a click never waits long.
const runsAtOnce = 100

// DeleteRuns removes runs that ended before an instant, the oldest first, with
// everything that is kept about them but the audit: at most runsAtOnce of them, and
// says how many went. A run whose effects a budget still counts stays, and one of which
// an approval still waits for others to look at it. The removal is
// itself an entry of the audit.
func (s *Store) DeleteRuns(ctx context.Context, before time.Time) (int64, error) {
	old, err := s.ids(ctx, `SELECT id FROM runs WHERE ended_at > 0 AND ended_at < ?
		AND NOT EXISTS (SELECT 1 FROM budget_uses WHERE budget_uses.run = runs.id AND until > ?)
		AND NOT EXISTS (SELECT 1 FROM reviews JOIN approvals ON approvals.id = reviews.approval WHERE approvals.run = runs.id AND reviews.state = 'open')
		AND NOT EXISTS (SELECT 1 FROM grants JOIN steps ON steps.grant_id = grants.id WHERE steps.run = runs.id AND grants.state = 'open')
		AND NOT EXISTS (SELECT 1 FROM grants JOIN approvals ON approvals.id = grants.approval WHERE approvals.run = runs.id AND grants.state = 'open')
		ORDER BY ended_at LIMIT ?`, micros(before), micros(s.now()), runsAtOnce)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	var removed int64
	err = s.transact(ctx, func(t *txn) error {
		for _, run := range old {
			if err := t.undeliver(run); err != nil {
				return err
			}
		}
		done := t.Exec("DELETE FROM runs WHERE id IN ? AND ended_at > 0", old)
		if removed = done.RowsAffected; done.Error != nil || removed == 0 {
			return done.Error
		}
		data, err := encode(map[string]any{"runs": removed, "before": before.UTC().Format(time.RFC3339)})
		if err != nil {
			return err
		}
		return t.audit([]audit.Entry{{Kind: "runs.deleted", Via: "scheduler", Data: data}})
	})
	return removed, err
}

// undeliver forgets what was shown of a run and of its approvals: deliveries belong
// to their subject by its name alone.
func (t *txn) undeliver(run string) error {
	var approvals []string
	if err := t.Raw("SELECT id FROM approvals WHERE run = ?", run).Scan(&approvals).Error; err != nil {
		return err
	}
	subjects := []string{"run/" + run + "/"}
	for _, a := range approvals {
		subjects = append(subjects, "approval/"+a+"/")
	}
	for _, prefix := range subjects {
		// "0" follows "/": a range that the primary key answers, where LIKE would read every row.
		if _, err := t.changed("DELETE FROM deliveries WHERE subject > ? AND subject < ?", prefix, prefix[:len(prefix)-1]+"0"); err != nil {
			return err
		}
	}
	return nil
}

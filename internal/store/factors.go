package store

import (
	"context"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// TryCode implements decisions.Factors.
func (s *Store) TryCode(ctx context.Context, who policy.Actor, most int) (decisions.Factor, error) {
	var rows []decisions.Factor
	err := s.query(ctx, &rows, "UPDATE factors SET tries = tries + 1 WHERE team = ? AND user_id = ? AND tries < ? RETURNING secret, tries",
		who.Team, who.User, most)
	if err != nil {
		return decisions.Factor{}, err
	}
	if len(rows) == 1 {
		return rows[0], nil
	}
	enrolled, err := s.ids(ctx, "SELECT user_id FROM factors WHERE team = ? AND user_id = ?", who.Team, who.User)
	switch {
	case err != nil:
		return decisions.Factor{}, err
	case len(enrolled) == 0:
		return decisions.Factor{}, agent.ErrNotFound
	}
	return decisions.Factor{}, decisions.ErrLocked
}

// UseCode implements decisions.Factors.
func (s *Store) UseCode(ctx context.Context, who policy.Actor, step int64) (bool, error) {
	n, err := s.exec(ctx, "UPDATE factors SET used = ?, tries = 0 WHERE team = ? AND user_id = ? AND used < ?", step, who.Team, who.User, step)
	return n == 1, err
}

// Enroll gives a person a second proof, in place of an earlier one.
func (s *Store) Enroll(ctx context.Context, who policy.Actor, secret string, e audit.Entry) error {
	return s.transact(ctx, func(t *txn) error {
		_, err := t.changed(`INSERT INTO factors (team, user_id, secret, used, tries, at) VALUES (?, ?, ?, 0, 0, ?)
			ON CONFLICT (team, user_id) DO UPDATE SET secret = excluded.secret, used = 0, tries = 0, at = excluded.at`,
			who.Team, who.User, secret, micros(t.now))
		if err != nil {
			return err
		}
		return t.audit([]audit.Entry{e})
	})
}

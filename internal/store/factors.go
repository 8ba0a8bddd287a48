package store

import (
	"context"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// Secret implements decisions.Factors.
func (s *Store) Secret(ctx context.Context, who policy.Actor) (string, error) {
	found, err := s.ids(ctx, "SELECT secret FROM factors WHERE team = ? AND user_id = ?", who.Team, who.User)
	if err == nil && len(found) == 0 {
		return "", agent.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// TryCode implements decisions.Factors.
func (s *Store) TryCode(ctx context.Context, who policy.Actor, most int) (int, error) {
	var tries []int
	err := s.query(ctx, &tries, "UPDATE factors SET tries = tries + 1 WHERE team = ? AND user_id = ? AND tries < ? RETURNING tries",
		who.Team, who.User, most)
	switch {
	case err != nil:
		return 0, err
	case len(tries) == 0:
		return 0, decisions.ErrLocked
	}
	return tries[0], nil
}

// UseCode implements decisions.Factors.
func (s *Store) UseCode(ctx context.Context, who policy.Actor, step int64) (bool, error) {
	n, err := s.exec(ctx, "UPDATE factors SET used = ?, tries = 0 WHERE team = ? AND user_id = ? AND used < ?", step, who.Team, who.User, step)
	return n == 1, err
}

// Enroll gives a person a second proof, sealed by the caller, in place of an earlier one.
func (s *Store) Enroll(ctx context.Context, who policy.Actor, sealed string, e audit.Entry) error {
	return s.transact(ctx, func(t *txn) error {
		_, err := t.changed(`INSERT INTO factors (team, user_id, secret, used, tries, at) VALUES (?, ?, ?, 0, 0, ?)
			ON CONFLICT (team, user_id) DO UPDATE SET secret = excluded.secret, used = 0, tries = 0, at = excluded.at`,
			who.Team, who.User, sealed, micros(t.now))
		if err != nil {
			return err
		}
		return t.audit([]audit.Entry{e})
	})
}

// Factor is a person's second proof as it stands in the database.
type Factor struct {
	Who    policy.Actor
	Secret string // sealed, unless it is of an early release
}

// Factors lists the second proofs of everybody, by person.
func (s *Store) Factors(ctx context.Context) ([]Factor, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var rows []struct{ Team, User, Secret string }
	err := s.read.WithContext(ctx).Raw("SELECT team, user_id AS user, secret FROM factors ORDER BY team, user_id").Scan(&rows).Error
	if err != nil {
		return nil, translate(err)
	}
	out := make([]Factor, len(rows))
	for i, r := range rows {
		out[i] = Factor{policy.Actor{Team: r.Team, User: r.User}, r.Secret}
	}
	return out, nil
}

// Reseal puts another sealing of the same secret in the place of the one that f has;
// codes and tries go on. False when somebody enrolled the person meanwhile.
func (s *Store) Reseal(ctx context.Context, f Factor, sealed string, e audit.Entry) (done bool, err error) {
	err = s.transact(ctx, func(t *txn) error {
		n, err := t.changed("UPDATE factors SET secret = ? WHERE team = ? AND user_id = ? AND secret = ?", sealed, f.Who.Team, f.Who.User, f.Secret)
		if done = n == 1; err != nil || !done {
			return err
		}
		return t.audit([]audit.Entry{e})
	})
	return done, err
}

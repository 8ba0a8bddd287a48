package store

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// ids reads a list of ids.
func (s *Store) ids(ctx context.Context, query string, args ...any) ([]string, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var out []string
	err := s.read.WithContext(ctx).Raw(query, args...).Scan(&out).Error
	return out, translate(err)
}

// What sweeps ask each few seconds costs what they find: the partial indexes
// approvals_unreminded and approvals_unescalated hold nothing else.
const (
	unreminded = `SELECT id FROM approvals WHERE state = 'pending' AND reminded IN ? AND expires_at > ? AND expires_at <= ?
	AND expires_at - opened_at > ? AND claim_until <= ? ORDER BY expires_at LIMIT ?`
	unescalated = `SELECT id FROM approvals WHERE state = 'pending' AND escalated_at = 0 AND opened_at <= ? AND expires_at > ?
	AND claim_until <= ? ORDER BY opened_at LIMIT ?`
)

// Unreminded implements decisions.Care.
func (s *Store) Unreminded(ctx context.Context, now time.Time, before time.Duration, n, limit int) ([]string, error) {
	at, had := micros(now), make([]int, n+1)
	for i := range had {
		had[i] = i
	}
	return s.ids(ctx, unreminded, had, at, at+before.Microseconds(), before.Microseconds(), at, limit)
}

// Unescalated implements decisions.Care.
func (s *Store) Unescalated(ctx context.Context, now, opened time.Time, limit int) ([]string, error) {
	return s.ids(ctx, unescalated, micros(opened), micros(now), micros(now), limit)
}

// Nudge implements decisions.Care. The version stays: a decision that was begun
// before still counts.
func (s *Store) Nudge(ctx context.Context, n decisions.Nudge) error {
	at := micros(n.At)
	statement, args := "UPDATE approvals SET reminded = ? WHERE id = ? AND state = 'pending' AND reminded < ?", []any{n.Reminded, n.Approval, n.Reminded}
	switch {
	case n.Escalate:
		statement, args = "UPDATE approvals SET escalated_at = ? WHERE id = ? AND state = 'pending' AND escalated_at = 0", []any{at, n.Approval}
	case !n.Claimer.Zero():
		statement = `UPDATE approvals SET claim_team = ?, claim_user = ?, claim_until = ? WHERE id = ? AND state = 'pending'
			AND (claim_until <= ? OR claim_team = ? AND claim_user = ?)`
		args = []any{n.Claimer.Team, n.Claimer.User, micros(n.Until), n.Approval, at, n.Claimer.Team, n.Claimer.User}
	case !n.End.IsZero():
		statement = "UPDATE approvals SET expires_at = ?, reminded = 0 WHERE id = ? AND state = 'pending' AND expires_at = ? AND expires_at > ?"
		args = []any{micros(n.End), n.Approval, micros(n.Was), at}
	}
	return s.transact(ctx, func(t *txn) error {
		if err := errors.Join(t.free(n.Claimer), t.free(n.By)); err != nil {
			return err
		}
		changed, err := t.changed(statement, args...)
		if err != nil {
			return err
		}
		if changed != 1 {
			return agent.ErrSettled
		}
		if err := t.wishes(n.Wishes); err != nil {
			return err
		}
		return t.audit(n.Audit)
	})
}

// Uncertain implements decisions.Care.
func (s *Store) Uncertain(ctx context.Context, limit int) ([]decisions.StepRef, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var out []decisions.StepRef
	err := s.read.WithContext(ctx).Raw("SELECT run, n FROM steps WHERE state = 'uncertain' ORDER BY started_at DESC, run, n LIMIT ?", limit).Scan(&out).Error
	return out, translate(err)
}

// Standing implements decisions.Care. Where an approval began with arguments that others
// had edited, the last of them stands for those until somebody edits it anew.
func (s *Store) Standing(ctx context.Context, who policy.Actor, limit int) ([]string, error) {
	return s.ids(ctx, standing+" ORDER BY 1 LIMIT ?", append(standingOf(who), limit)...)
}

const standing = `SELECT a.id FROM approvals a JOIN decisions d ON d.approval = a.id
	WHERE a.state IN ('pending', 'approved') AND d.by_team = ? AND d.by_user = ? AND NOT d.void
	UNION SELECT id FROM approvals WHERE state IN ('pending', 'approved') AND revision = 1 AND ' ' || shapers LIKE ?`

func standingOf(who policy.Actor) []any {
	return []any{who.Team, who.User, "% " + namesOf([]policy.Actor{who})}
}

// counts says that something which a person decided, made or gave still does.
func counts(db *gorm.DB, who policy.Actor) (bool, error) {
	var n int64
	err := db.Raw("SELECT count(*) FROM ("+standing+" UNION SELECT id FROM grants WHERE state = 'open' AND giver_team = ? AND giver_user = ?) s",
		append(standingOf(who), who.Team, who.User)...).Scan(&n).Error
	return n > 0, err
}

// StandingLocked implements decisions.Care. There are few locks, and fewer after the
// first look.
func (s *Store) StandingLocked(ctx context.Context) ([]policy.Actor, error) {
	locked, err := s.LockedPeople(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var out []policy.Actor
	for _, l := range locked {
		does, err := counts(s.read.WithContext(ctx), l.Who)
		if err != nil {
			return nil, translate(err)
		}
		if does {
			out = append(out, l.Who)
		}
	}
	return out, nil
}

// free refuses the act of a person who is locked. Taking the person's row makes an
// act and a lock come one after the other: what the lock does not find was refused.
func (t *txn) free(who policy.Actor) error {
	if who.Zero() {
		return nil
	}
	if err := t.take(personName(who)); err != nil {
		return err
	}
	var n int64
	if err := t.Raw("SELECT count(*) FROM locks WHERE team = ? AND user_id = ?", who.Team, who.User).Scan(&n).Error; err != nil {
		return err
	}
	if n > 0 {
		return decisions.ErrLocked
	}
	return nil
}

func personName(who policy.Actor) string { return "person/" + who.Team + "/" + who.User }

// Lock implements decisions.Care.
func (s *Store) Lock(ctx context.Context, who policy.Actor, why string, wishes []agent.Wish, entries []audit.Entry) (fresh bool, err error) {
	err = s.transact(ctx, func(t *txn) error {
		fresh = false
		if err := t.take(personName(who)); err != nil {
			return err
		}
		n, err := t.changed("INSERT INTO locks (team, user_id, why, at) VALUES (?, ?, ?, ?) ON CONFLICT (team, user_id) DO NOTHING",
			who.Team, who.User, clean(why), micros(t.now))
		if err != nil || n == 0 {
			return err
		}
		fresh = true
		if err := t.wishes(wishes); err != nil {
			return err
		}
		return t.audit(entries)
	})
	return fresh, err
}

// Unlock lets a person's decisions count again, and forgets wrong codes; false when
// the person is not locked. What was decided in their name before must be void first,
// which a process that serves sees to: until then it is decisions.ErrStands.
func (s *Store) Unlock(ctx context.Context, who policy.Actor, e audit.Entry) (was bool, err error) {
	err = s.transact(ctx, func(t *txn) error {
		n, err := t.changed("DELETE FROM locks WHERE team = ? AND user_id = ?", who.Team, who.User)
		if was = n > 0; err != nil || !was {
			return err
		}
		if does, err := counts(t.DB, who); err != nil || does {
			return errors.Join(err, decisions.ErrStands)
		}
		if _, err := t.changed("UPDATE factors SET tries = 0 WHERE team = ? AND user_id = ?", who.Team, who.User); err != nil {
			return err
		}
		return t.audit([]audit.Entry{e})
	})
	return was, err
}

// Locked is a person whose decisions do not count.
type Locked struct {
	Who policy.Actor
	Why string
	At  time.Time
}

// LockedPeople lists them, the latest first.
func (s *Store) LockedPeople(ctx context.Context) ([]Locked, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var rows []struct {
		Team   string
		UserID string
		Why    string
		At     int64
	}
	err := s.read.WithContext(ctx).Raw("SELECT team, user_id, why, at FROM locks ORDER BY at DESC, team, user_id").Scan(&rows).Error
	out := make([]Locked, len(rows))
	for i, r := range rows {
		out[i] = Locked{policy.Actor{Team: r.Team, User: r.UserID}, r.Why, instant(r.At)}
	}
	return out, translate(err)
}

// RejectedLike implements bot.Marks: the latest approval of exactly this call that
// was rejected since an instant, "" when there is none.
func (s *Store) RejectedLike(ctx context.Context, a *approvals.Approval, since time.Time) (string, error) {
	found, err := s.ids(ctx, `SELECT a.id FROM approvals a JOIN revisions r ON r.approval = a.id AND r.n = a.revision
		WHERE a.state = 'rejected' AND a.settled_at > ? AND a.settled_at <= ? AND a.tool = ? AND r.args = ? AND a.id <> ? ORDER BY a.settled_at DESC LIMIT 1`,
		micros(since), micros(a.OpenedAt), a.Tool, clean(string(a.Current().Args)), a.ID)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

// AuditMark implements bot.Marks: the number and hash of the latest entry about an
// approval, which the card shows so that Slack can witness it.
func (s *Store) AuditMark(ctx context.Context, run, approval string) (seq int64, hash string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var h head
	err = s.read.WithContext(ctx).Raw("SELECT seq, hash FROM audit_entries WHERE run = ? AND approval = ? ORDER BY seq DESC LIMIT 1", run, approval).Scan(&h).Error
	return h.Seq, h.Hash, translate(err)
}

// IsLocked implements bot.Marks.
func (s *Store) IsLocked(ctx context.Context, who policy.Actor) (bool, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var n int64
	err := s.read.WithContext(ctx).Raw("SELECT count(*) FROM locks WHERE team = ? AND user_id = ?", who.Team, who.User).Scan(&n).Error
	return n > 0, translate(err)
}

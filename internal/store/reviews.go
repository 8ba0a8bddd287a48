package store

import (
	"context"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// reviewRow is a row of reviews.
type reviewRow struct {
	Approval  string
	ActorTeam string
	ActorUser string
	OpenedAt  int64
	State     string
	ByTeam    string
	ByUser    string
	Text      string
	At        int64
}

// TableName names the table.
func (reviewRow) TableName() string { return "reviews" }

func (w *reviewRow) review() *approvals.Review {
	return &approvals.Review{
		Approval: w.Approval, Actor: policy.Actor{Team: w.ActorTeam, User: w.ActorUser}, OpenedAt: instant(w.OpenedAt),
		State: approvals.ReviewState(w.State), By: policy.Actor{Team: w.ByTeam, User: w.ByUser}, Text: w.Text, At: instant(w.At),
	}
}

// openReview asks others to look. A further approval alone of the same request, after
// the first was void, asks anew.
func (t *txn) openReview(r *approvals.Review) error {
	if r == nil {
		return nil
	}
	_, err := t.changed(`INSERT INTO reviews (approval, actor_team, actor_user, opened_at, state, by_team, by_user, text, at)
		VALUES (?, ?, ?, ?, 'open', '', '', '', 0) ON CONFLICT (approval) DO UPDATE SET actor_team = excluded.actor_team,
		actor_user = excluded.actor_user, opened_at = excluded.opened_at, state = 'open', by_team = '', by_user = '', text = '', at = 0`,
		r.Approval, r.Actor.Team, r.Actor.User, micros(r.OpenedAt))
	return err
}

// Answer implements decisions.Reviews.
func (s *Store) Answer(ctx context.Context, r approvals.Review, wishes []agent.Wish, entries []audit.Entry) error {
	return s.transact(ctx, func(t *txn) error {
		if err := t.free(r.By); err != nil {
			return err
		}
		n, err := t.changed(`UPDATE reviews SET state = ?, by_team = ?, by_user = ?, text = ?, at = ?
			WHERE approval = ? AND state = 'open' AND opened_at = ?`,
			string(r.State), r.By.Team, r.By.User, clean(r.Text), micros(r.At), r.Approval, micros(r.OpenedAt))
		if err != nil {
			return err
		}
		if n != 1 {
			return agent.ErrSettled
		}
		if err := t.wishes(wishes); err != nil {
			return err
		}
		return t.audit(entries)
	})
}

// loadReviews completes approvals that one person gave alone.
func loadReviews(tx *gorm.DB, ids []string, byID map[string]*approvals.Approval) error {
	var rows []reviewRow
	if err := tx.Where("approval IN ?", ids).Find(&rows).Error; err != nil {
		return err
	}
	for i := range rows {
		byID[rows[i].Approval].Review = rows[i].review()
	}
	return nil
}

// OpenReviews lists what was approved by one person alone and nobody looked at yet,
// the oldest first.
func (s *Store) OpenReviews(ctx context.Context) ([]approvals.Review, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var rows []reviewRow
	err := s.read.WithContext(ctx).Where("state = 'open'").Order("opened_at, approval").Find(&rows).Error
	out := make([]approvals.Review, len(rows))
	for i := range rows {
		out[i] = *rows[i].review()
	}
	return out, translate(err)
}

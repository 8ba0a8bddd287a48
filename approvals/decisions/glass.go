package decisions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/audit"
)

// Reviews keeps what others say of approvals that one person gave alone.
// internal/store implements it.
type Reviews interface {
	// Answer closes an open review: agent.ErrSettled when it is not open, ErrLocked
	// when the person is locked.
	Answer(ctx context.Context, r approvals.Review, wishes []agent.Wish, entries []audit.Entry) error
}

// glassObjection says what is missing for an approval alone.
func glassObjection(t Attempt) string {
	switch {
	case t.Verdict != approvals.Approve || t.Together > 0:
		return "no_glass"
	case strings.TrimSpace(t.Text) == "":
		return "glass_reason"
	case !t.Proved:
		return "code_needed"
	}
	return ""
}

// announce makes an approval that one person gave alone loud, and asks others to look at it.
func (d *Door) announce(change *Change, c *Case) {
	a, now := &c.Approval, d.Now()
	change.Audit[len(change.Audit)-1].Kind = "approval.glass"
	change.Review = &approvals.Review{Approval: a.ID, Actor: change.By, OpenedAt: now, State: approvals.ReviewOpen}
	change.Wishes = append(change.Wishes, agent.ReviewWishes(a, d.Cards, now)...)
	change.Wishes = append(change.Wishes, agent.PeopleWish(a, now))
}

// Review takes what somebody says of an approval that another person gave alone:
// that it was right, or a concern.
func (d *Door) Review(ctx context.Context, t Attempt, said approvals.ReviewState) (Outcome, error) {
	person, c, out, err := d.enter(ctx, t)
	if c == nil {
		return out, err
	}
	a := &c.Approval
	switch r := a.Needs().MayDecide(person, a.Requesters()); {
	case a.Review == nil:
		return d.refuse(ctx, t, c, "unknown", "")
	case a.Review.State != approvals.ReviewOpen:
		return d.refuse(ctx, t, c, "review_over", "")
	case a.ActedAlone(t.Who):
		return d.refuse(ctx, t, c, "review_own", "")
	case r != nil:
		return d.refuse(ctx, t, c, r.Code, r.Role)
	case said == approvals.ReviewConcern && strings.TrimSpace(t.Text) == "":
		return d.refuse(ctx, t, c, "empty", "")
	}
	return d.answer(ctx, t, c, said)
}

func (d *Door) answer(ctx context.Context, t Attempt, c *Case, said approvals.ReviewState) (Outcome, error) {
	a, now := &c.Approval, d.Now()
	r := *a.Review
	r.State, r.By, r.Text, r.At = said, t.Who, t.Text, now
	e := d.entry(c, "review."+string(said), nil)
	e.Team, e.User, e.Via, e.Data = t.Who.Team, t.Who.User, t.Via, d.data(map[string]any{"text": t.Text, "of": r.Actor.User})
	err := d.Reviews.Answer(ctx, r, append(agent.ReviewWishes(a, d.Cards, now), agent.PeopleWish(a, now)), []audit.Entry{e})
	switch {
	case errors.Is(err, agent.ErrSettled):
		return d.refuse(ctx, t, c, "review_over", "")
	case errors.Is(err, ErrLocked):
		return d.refuse(ctx, t, c, "locked", "")
	case err != nil:
		return Outcome{}, fmt.Errorf("review %s: %w", a.ID, err)
	}
	return Outcome{Case: c}, nil
}

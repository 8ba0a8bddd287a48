package decisions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// Care keeps what happens to an approval while it waits, and who is locked.
// internal/store implements it.
type Care interface {
	// Unreminded lists pending approvals that end within before, stood longer than
	// that, had at most n reminders and are nobody's claim, soonest end first.
	Unreminded(ctx context.Context, now time.Time, before time.Duration, n, limit int) ([]string, error)
	// Unescalated lists pending approvals that were opened before an instant, were
	// not escalated and are nobody's claim, oldest first.
	Unescalated(ctx context.Context, now, opened time.Time, limit int) ([]string, error)
	// Nudge writes one of these into a pending approval: agent.ErrSettled when it is
	// settled, was nudged so already, or is somebody else's claim.
	Nudge(ctx context.Context, n Nudge) error
	// Uncertain lists steps whose outcome is not known, the latest first.
	Uncertain(ctx context.Context, limit int) ([]StepRef, error)
	// Standing lists open approvals with a decision of the person that stands, or which
	// an edit of theirs shaped before they were opened.
	Standing(ctx context.Context, who policy.Actor, limit int) ([]string, error)
	// StandingLocked lists locked people with a decision or an edit in an open approval.
	StandingLocked(ctx context.Context) ([]policy.Actor, error)
	// Lock makes a person's decisions count no more; false when they did not already.
	Lock(ctx context.Context, who policy.Actor, why string, wishes []agent.Wish, entries []audit.Entry) (bool, error)
}

// Nudge is what changes while an approval waits. Exactly one of the four is set.
type Nudge struct {
	Approval string
	At       time.Time
	Reminded int          // the number of reminders now
	Escalate bool         // further roles are asked
	Claimer  policy.Actor // who is at it
	Until    time.Time    // of the claim
	Was, End time.Time    // a later end, and the one that it takes the place of; reminders begin anew
	By       policy.Actor // who gave more time
	Wishes   []agent.Wish
	Audit    []audit.Entry
}

// claimTime is how long somebody who said to be at it stills the reminders.
const claimTime = 10 * time.Minute

// CareDue gives the reminders that are due and asks further roles where nobody
// decided for a while. It may run on several replicas at once: each counts once.
func (d *Door) CareDue(ctx context.Context) error {
	if err := d.voidLocked(ctx); err != nil {
		return err
	}
	befores := slices.Clone(d.Remind)
	slices.Sort(befores)
	slices.Reverse(befores)
	now := d.Now()
	for i, before := range befores {
		ids, err := d.Care.Unreminded(ctx, now, before, i, batch)
		if err != nil {
			return fmt.Errorf("read approvals to remind of: %w", err)
		}
		if err := d.nudgeAll(ctx, ids, Nudge{Reminded: i + 1}); err != nil {
			return err
		}
	}
	if d.Escalate <= 0 {
		return nil
	}
	ids, err := d.Care.Unescalated(ctx, now, now.Add(-d.Escalate), batch)
	if err != nil {
		return fmt.Errorf("read approvals to escalate: %w", err)
	}
	return d.nudgeAll(ctx, ids, Nudge{Escalate: true})
}

func (d *Door) nudgeAll(ctx context.Context, ids []string, n Nudge) error {
	for _, id := range ids {
		c, err := d.Store.Case(ctx, id)
		if err != nil {
			return fmt.Errorf("read approval %s: %w", id, err)
		}
		if err := d.nudge(ctx, c, n, nil); err != nil && !errors.Is(err, agent.ErrSettled) {
			return fmt.Errorf("nudge %s: %w", id, err)
		}
	}
	return nil
}

func (d *Door) nudge(ctx context.Context, c *Case, n Nudge, by *approvals.Decision) error {
	a := &c.Approval
	n.Approval, n.At = a.ID, d.Now()
	n.Wishes = append(agent.CardWishes(a, d.Cards, n.At), agent.PeopleWish(a, n.At))
	kind := "approval.claimed"
	switch {
	case n.Escalate:
		kind = "approval.escalated"
	case n.Reminded > 0:
		kind = "approval.reminded"
	case !n.End.IsZero():
		kind = "approval.extended"
	}
	e := d.entry(c, kind, by)
	e.Data = "{}"
	n.Audit = []audit.Entry{e}
	return d.Care.Nudge(ctx, n)
}

// Claim says that a person who may decide is at it, for ten minutes.
func (d *Door) Claim(ctx context.Context, t Attempt) (Outcome, error) {
	person, c, out, err := d.enter(ctx, t)
	if c == nil {
		return out, err
	}
	a, now := &c.Approval, d.Now()
	if a.State != approvals.Pending {
		return d.refuse(ctx, t, c, "settled", string(a.State))
	}
	if r := a.Needs().MayDecide(person, a.Requesters()); r != nil {
		return d.refuse(ctx, t, c, r.Code, r.Role)
	}
	if a.Claimed(now) && a.Claimer != t.Who {
		return d.refuse(ctx, t, c, "claimed", a.Claimer.User)
	}
	by := d.decision(t, a.Revision)
	err = d.nudge(ctx, c, Nudge{Claimer: t.Who, Until: now.Add(claimTime)}, &by)
	if errors.Is(err, agent.ErrSettled) {
		return d.refuse(ctx, t, c, "claimed", "")
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("claim %s: %w", a.ID, err)
	}
	return Outcome{Case: c}, nil
}

// Extend lets a request wait once more as long as its rule says, from now on, when its
// end was announced already. Whoever may decide it may, until Latest.
func (d *Door) Extend(ctx context.Context, t Attempt) (Outcome, error) {
	person, c, out, err := d.enter(ctx, t)
	if c == nil {
		return out, err
	}
	a, now := &c.Approval, d.Now()
	if a.State != approvals.Pending || !now.Before(a.ExpiresAt) {
		return d.refuse(ctx, t, c, "settled", string(a.State))
	}
	if r := a.Needs().MayDecide(person, a.Requesters()); r != nil {
		return d.refuse(ctx, t, c, r.Code, r.Role)
	}
	end := a.Later(now)
	if !end.After(a.ExpiresAt) {
		return d.refuse(ctx, t, c, "no_more_time", "")
	}
	by := d.decision(t, a.Revision)
	err = d.nudge(ctx, c, Nudge{Was: a.ExpiresAt, End: end, By: t.Who}, &by)
	if errors.Is(err, agent.ErrSettled) { // somebody else gave it, or it is over
		return d.refuse(ctx, t, c, "claimed", "")
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("extend %s: %w", a.ID, err)
	}
	return Outcome{Case: c}, nil
}

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

// Disown is a person's word that a decision in their name was not theirs: from now
// on none of theirs counts until an operator says so, and those that stand in open
// approvals are void. It may be repeated: what was done stays done.
func (d *Door) Disown(ctx context.Context, t Attempt) (Outcome, error) {
	c, out, err := d.subject(ctx, t)
	if c == nil {
		return out, err
	}
	theirs := slices.ContainsFunc(c.Approval.Decisions, func(x approvals.Decision) bool { return x.By == t.Who })
	if !theirs && !slices.ContainsFunc(c.Approval.Grants, func(g approvals.Grant) bool { return g.Giver == t.Who }) {
		return d.refuse(ctx, t, c, "not_yours", "")
	}
	if err := d.lock(ctx, t.Who, "disowned a decision on "+c.Approval.ID, c); err != nil {
		return Outcome{}, err
	}
	return Outcome{Case: c}, d.voidStanding(ctx, t.Who)
}

// lock makes a person's decisions count no more, and says so loudly.
func (d *Door) lock(ctx context.Context, who policy.Actor, why string, c *Case) error {
	e := audit.Entry{At: d.Now(), Kind: "person.locked", Team: who.Team, User: who.User, Via: "slack", Data: d.data(map[string]any{"why": why})}
	if c != nil {
		e.Run, e.Step, e.Approval = c.Run.ID, c.Step.N, c.Approval.ID
	}
	tell := []agent.Wish{{Subject: "person/" + who.User + "/locked", Channel: who.User, Priority: agent.PriorityProgress, ReadyAt: e.At}}
	fresh, err := d.Care.Lock(ctx, who, why, tell, []audit.Entry{e})
	if err != nil {
		return fmt.Errorf("lock %s: %w", who.User, err)
	}
	if fresh {
		d.Logger.ErrorContext(ctx, "a person is locked: none of their decisions counts until `countersign approvals unlock`", "user", who.User, "why", why)
	}
	return nil
}

// voidStanding takes a locked person's decisions out of every open approval. New
// ones cannot come: the lock is committed.
func (d *Door) voidStanding(ctx context.Context, who policy.Actor) error {
	if err := d.voidGrants(ctx, who); err != nil {
		return err
	}
	for {
		ids, err := d.Care.Standing(ctx, who, batch)
		if err != nil {
			return fmt.Errorf("read what %s approved: %w", who.User, err)
		}
		for _, id := range ids {
			if err := d.voidOne(ctx, id, who); err != nil {
				return err
			}
		}
		if len(ids) < batch {
			return nil
		}
	}
}

// voidLocked makes up for a death between a lock and what it voids.
func (d *Door) voidLocked(ctx context.Context) error {
	locked, err := d.Care.StandingLocked(ctx)
	if err != nil {
		return fmt.Errorf("read what locked people approved: %w", err)
	}
	for _, who := range locked {
		if err := d.voidStanding(ctx, who); err != nil {
			return err
		}
	}
	return nil
}

func (d *Door) voidOne(ctx context.Context, id string, who policy.Actor) error {
	for range tries {
		c, err := d.Store.Case(ctx, id)
		if err != nil {
			return fmt.Errorf("read approval %s: %w", id, err)
		}
		if !c.Approval.Open() {
			return nil
		}
		change, err := d.voiding(c, who)
		if err != nil {
			return err
		}
		if err := d.Store.Record(ctx, change); !errors.Is(err, agent.ErrSettled) {
			return err
		}
	}
	return fmt.Errorf("void what %s approved of %s: too many people at once", who.User, id)
}

// voiding takes a person's decisions out of an approval. What their own edit shaped
// is refused as a whole: nobody else asked for it.
func (d *Door) voiding(c *Case, who policy.Actor) (Change, error) {
	a := &c.Approval
	if a.LastEditor() == who {
		return d.cancelEdited(c)
	}
	change := d.change(c, "void", nil)
	change.LiveAt, change.VoidOf, change.Wake = time.Time{}, who, true
	if a.State == approvals.Approved && c.Step.State == agent.StepAllowed {
		step := c.Step
		step.State = agent.StepAwaiting
		change.Steps = []agent.StepChange{agent.Moved(&c.Step, step)}
	}
	return change, nil
}

func (d *Door) cancelEdited(c *Case) (Change, error) {
	text, err := d.Prompts.Render("disowned", nil)
	if err != nil {
		return Change{}, err
	}
	change := d.change(c, "cancel", nil)
	change.LiveAt, change.Wake = time.Time{}, true
	switch c.Step.State {
	case agent.StepUncertain: // only the further call is refused; what became of the first is asked again
		change.Wishes = append(change.Wishes, questionWish(c, d.Now()))
	case agent.StepAwaiting, agent.StepAllowed:
		step := c.Step
		step.State, step.Code, step.Observation, step.EndedAt = agent.StepRefused, "disowned", text, d.Now()
		change.Steps = []agent.StepChange{agent.Moved(&c.Step, step)}
	}
	return change, nil
}

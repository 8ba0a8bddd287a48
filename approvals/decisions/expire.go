package decisions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// batch is how many overdue approvals one sweep reads at once: measured as the
// size at which a click beside the sweep stays fast.
const batch = 500

// ExpireDue expires every pending approval whose time is over. It may run on
// several replicas at once and beside clicks: each approval has one outcome.
func (d *Door) ExpireDue(ctx context.Context) error {
	woken := 0
	for {
		now := d.Now()
		ids, err := d.Store.Overdue(ctx, now, batch)
		if err != nil {
			return fmt.Errorf("read overdue approvals: %w", err)
		}
		for _, id := range ids {
			if err := d.expireOne(ctx, id, now, woken); err != nil {
				return err
			}
			woken++
		}
		if len(ids) < batch {
			return nil
		}
	}
}

func (d *Door) expireOne(ctx context.Context, id string, now time.Time, woken int) error {
	c, err := d.Store.Case(ctx, id)
	if err != nil {
		return fmt.Errorf("read approval %s: %w", id, err)
	}
	if c.Approval.State != approvals.Pending || now.Before(c.Approval.ExpiresAt) {
		return nil
	}
	return d.expireAt(ctx, c, now, d.throttled(now, woken))
}

// throttled spreads the runs that one sweep wakes, so that the model's limits are not hit.
func (d *Door) throttled(now time.Time, woken int) time.Time {
	if d.PerMinute <= 0 {
		return now
	}
	return now.Add(time.Duration(woken) * time.Minute / time.Duration(d.PerMinute))
}

func (d *Door) expire(ctx context.Context, c *Case, now time.Time) error {
	return d.expireAt(ctx, c, now, now)
}

func (d *Door) expireAt(ctx context.Context, c *Case, now, ready time.Time) error {
	text, err := d.Prompts.Render("expired", nil)
	if err != nil {
		return err
	}
	change := d.change(c, "expire", nil)
	change.LiveAt, change.ReadyAt = time.Time{}, ready
	d.settleStep(&change, c, agent.StepRefused, "expired", text)
	for i := range change.Wishes {
		// Nobody waits for these: after an outage there may be many, and a card that
		// somebody wants to decide on must not stand behind them.
		change.Wishes[i].Priority = agent.PriorityHome
	}
	if err := d.Store.Record(ctx, change); err != nil && !errors.Is(err, agent.ErrSettled) {
		return fmt.Errorf("expire %s: %w", c.Approval.ID, err)
	}
	return nil
}

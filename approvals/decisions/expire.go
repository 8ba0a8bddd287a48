package decisions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/agent"
)

// batch is how many overdue approvals one transaction ends: measured as the
// size at which a click beside the sweep stays fast.
const batch = 500

// fresh is how long after its end an approval belongs to what people just did. Its
// run does not wait behind those that an outage left.
const fresh = time.Minute

// ExpireDue expires every pending approval whose time is over. It may run on
// several replicas at once and beside clicks: each approval has one outcome.
func (d *Door) ExpireDue(ctx context.Context) error {
	text, err := d.Prompts.Render("expired", nil)
	if err != nil {
		return err
	}
	for woken := 0; ; {
		now := d.Now()
		due, err := d.Store.Overdue(ctx, now, batch)
		if err != nil || len(due) == 0 {
			return wrapped("read overdue approvals", err)
		}
		ends := make([]Change, len(due))
		for i := range due {
			ends[i] = d.end(&due[i], text, now)
			if d.PerMinute <= 0 || due[i].Approval.ExpiresAt.After(now.Add(-fresh)) {
				ends[i].ReadyAt = now.Add(time.Duration(woken) * d.gap())
				woken++
			}
		}
		n, err := d.Store.Expire(ctx, ends, d.gap())
		if err != nil || n == 0 || len(due) < batch {
			return wrapped("expire approvals", err)
		}
	}
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// gap is the time between two runs that expiry wakes, so that the model's limits are
// not hit; 0: none.
func (d *Door) gap() time.Duration {
	if d.PerMinute <= 0 {
		return 0
	}
	return time.Minute / time.Duration(d.PerMinute)
}

// expire ends one approval at once: somebody came too late for it.
func (d *Door) expire(ctx context.Context, c *Case, now time.Time) error {
	text, err := d.Prompts.Render("expired", nil)
	if err != nil {
		return err
	}
	change := d.end(c, text, now)
	change.ReadyAt = now
	if err := d.Store.Record(ctx, change); err != nil && !errors.Is(err, agent.ErrSettled) {
		return fmt.Errorf("expire %s: %w", c.Approval.ID, err)
	}
	return nil
}

// end is what the end of an approval's time writes.
func (d *Door) end(c *Case, text string, now time.Time) Change {
	change := d.change(c, "expire", nil)
	change.LiveAt, change.At = time.Time{}, now
	d.settleStep(&change, c, agent.StepRefused, "expired", text)
	for i := range change.Wishes {
		// Nobody waits for these: after an outage there may be many, and a card that
		// somebody wants to decide on must not stand behind them.
		change.Wishes[i].Priority = agent.PriorityLater
	}
	return change
}

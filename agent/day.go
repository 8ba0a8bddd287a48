package agent

import (
	"context"
	"fmt"
	"time"
)

// Amount is work of the model: tokens, and millionths of the currency.
type Amount struct {
	Tokens, Cost int64
}

// within says whether an amount is below an allowance, of which zeros mean no limit.
func (a Amount) within(most Amount) bool {
	return (most.Tokens == 0 || a.Tokens < most.Tokens) && (most.Cost == 0 || a.Cost < most.Cost)
}

// Day is what the runs of 24 hours used, or may use: those of one person, those of one
// channel, and all.
type Day struct {
	User, Channel, All Amount
}

// Ledger knows what runs used. internal/store implements it.
type Ledger interface {
	// Used adds up the runs that began since an instant: of the run's requester, of
	// its channel, and of its installation.
	Used(ctx context.Context, r *Run, since time.Time) (Day, error)
}

// overdrawn says which allowance of the day is used up, as a key of the message
// catalogue; empty when the run may begin. It is looked at when a run begins alone, so
// that what has begun is not cut off in the middle.
func (a *Agent) overdrawn(ctx context.Context, r *Run) (string, error) {
	if a.Ledger == nil || a.Day == (Day{}) {
		return "", nil
	}
	used, err := a.Ledger.Used(ctx, r, a.Now().Add(-24*time.Hour))
	if err != nil {
		return "", fmt.Errorf("add up the day of run %s: %w", r.ID, err)
	}
	switch {
	case !used.User.within(a.Day.User):
		return "day_user", nil
	case !used.Channel.within(a.Day.Channel):
		return "day_channel", nil
	case !used.All.within(a.Day.All):
		return "day_all", nil
	}
	return "", nil
}

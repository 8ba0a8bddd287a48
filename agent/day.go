package agent

import (
	"context"
	"fmt"
	"time"

	"countersign/agent/llm"
)

// Amount is work of the model: tokens, and millionths of the currency.
type Amount struct {
	Tokens, Cost int64
}

// Plus adds another amount.
func (a Amount) Plus(b Amount) Amount { return Amount{a.Tokens + b.Tokens, a.Cost + b.Cost} }

// within says whether an amount is below an allowance, of which zeros mean no limit.
func (a Amount) within(most Amount) bool {
	return (most.Tokens == 0 || a.Tokens < most.Tokens) && (most.Cost == 0 || a.Cost < most.Cost)
}

// Day is what the runs of 24 hours used, or may use: those of one person, those of one
// channel, and all.
type Day struct {
	User, Channel, All Amount
}

// Plus adds an amount to each of the three.
func (d Day) Plus(a Amount) Day { return Day{d.User.Plus(a), d.Channel.Plus(a), d.All.Plus(a)} }

// Exceeds says which allowance is used up: "user", "channel" or "all"; empty: none is.
func (d Day) Exceeds(most Day) string {
	switch {
	case !d.User.within(most.User):
		return "user"
	case !d.Channel.within(most.Channel):
		return "channel"
	case !d.All.within(most.All):
		return "all"
	}
	return ""
}

// Reservation is what a run wants to hold of its day before it calls the model.
type Reservation struct {
	Run   *Run
	Need  Amount
	Used  Amount // by the run since its last commit; it counts as if it were committed
	Most  Day
	Since time.Time // of the day's runs
}

// Ledger knows what runs used, and holds what they are about to use. internal/store
// implements it.
type Ledger interface {
	// Reserve holds what one call may use, unless an allowance is used up; then it says
	// which. Busy says that it is used up by what other runs hold at the moment alone.
	// Check and hold are one step: of runs that ask at the same time, one goes first.
	// The run's next commit lets go, and so does the end of its lease.
	Reserve(ctx context.Context, f Fence, r Reservation) (over string, busy bool, err error)
}

// day is how far back an allowance of the day looks.
const day = 24 * time.Hour

// busyPause is after how long a run looks again whether others left it something.
const busyPause = time.Second

// afford holds what one call of the model may use. Otherwise the call is not made: the
// run is given back until others know what they used, or ends with a sentence that
// says why.
func (w *worker) afford(ctx context.Context) (made bool, err error) {
	over, busy, err := w.reserve(ctx, w.nextCall(), Amount{})
	switch {
	case err != nil:
		return false, err
	case over == "":
		return true, nil
	case busy:
		return false, w.yield(ctx, w.a.Now().Add(busyPause))
	case w.run.Closing != HaltNone:
		_, err := w.conclude(ctx, Turn{}, w.canned(), nil)
		return false, err
	case w.run.Spent.Calls == 0:
		return false, w.refuseRun(ctx, usedUp[over].atFirst)
	}
	return false, w.refuseRun(ctx, usedUp[over].later)
}

// reserve holds what one call may use, and what the run used since its last commit. Where
// no day is bounded, nothing is over.
func (w *worker) reserve(ctx context.Context, need, used Amount) (over string, busy bool, err error) {
	if w.a.Ledger == nil || w.a.Day == (Day{}) {
		return "", false, nil
	}
	now := w.a.Now()
	f := Fence{Run: w.run.ID, Owner: w.lease.Owner, Epoch: w.lease.Epoch, Wake: -1, Now: now}
	over, busy, err = w.a.Ledger.Reserve(ctx, f, Reservation{Run: &w.run, Need: need, Used: used, Most: w.a.Day, Since: now.Add(-day)})
	if err != nil {
		err = fmt.Errorf("reserve of the day of run %s: %w", w.run.ID, err)
	}
	return over, busy, err
}

// usedUp are the keys of the sentences about an allowance: for a run that did nothing
// yet, and for one that did.
var usedUp = map[string]struct{ atFirst, later string }{
	"user": {"day_user", "day_stop_user"}, "channel": {"day_channel", "day_stop_channel"}, "all": {"day_all", "day_stop_all"},
}

// nextCall estimates what one call uses: the prompt as it was, and an answer.
func (w *worker) nextCall() Amount {
	u := llm.Usage{Prompt: firstCallTokens, Completion: lastCallTokens}
	if s := w.run.Spent; s.Calls > 0 {
		u.Prompt = s.Prompt/s.Calls + lastCallTokens
	}
	return Amount{Tokens: int64(u.Prompt + u.Completion), Cost: w.a.Price.Of(u)}
}

// firstCallTokens is about what the instructions and the tools of a first request take.
const firstCallTokens = 3000

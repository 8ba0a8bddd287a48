package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// Advance takes a run as far as it can go now: until it ends, waits for people,
// or has used its turn. It does nothing when the run is not due or somebody else
// works on it, so that an extra ring is harmless.
func (a *Agent) Advance(ctx context.Context, run string) error {
	now := a.Now()
	lease := Lease{Owner: a.Owner, Until: now.Add(a.Lease)}
	claimed, err := a.Store.Claim(ctx, run, lease, now)
	if err != nil {
		return fmt.Errorf("claim run %s: %w", run, err)
	}
	if claimed == nil {
		return nil
	}
	w := &worker{a: a, lease: claimed.Lease, mark: now, moved: true, log: a.Logger.With("run", run)}
	w.run.ID = run
	ctx, span := a.working(ctx, claimed)
	defer span.End()
	return w.loop(ctx)
}

// worker advances one run under one lease.
type worker struct {
	a     *Agent
	lease Lease
	log   *slog.Logger
	mark  time.Time // active time is counted up to here
	moved bool      // what is in memory is older than the row
	found int       // so many steps were there when the run was read, and are to be looked at once more

	run   Run
	turns []Turn
	steps []Step
	inbox []Message
	open  openApprovals
	paid  map[int]string
	asker policy.Person // as they were known when the model had replied
	asked string        // Slack's time of the message with which the run waits
	over  map[int]error // by step: the counts in the database that it went beyond

	failure string // an error that no further step can mend, in words
}

func (w *worker) loop(ctx context.Context) error {
	for range roundsPerLease {
		if w.a.Stopping != nil && w.a.Stopping() {
			break
		}
		done, err := w.round(ctx)
		switch {
		case errors.Is(err, ErrMoved), errors.Is(err, ErrSettled):
			w.moved = true
		case errors.Is(err, ErrHeld):
			if err := w.load(ctx); err != nil {
				return err
			}
			return w.yield(ctx, w.a.Now().Add(heldFor))
		case errors.Is(err, ErrFenced):
			w.log.WarnContext(ctx, "lost the lease")
			return nil
		case err != nil:
			return err
		case done:
			return nil
		}
	}
	return w.yield(ctx, w.a.Now())
}

// heldFor is after how long an approval that may not be used now is looked at again.
const heldFor = 2 * time.Second

func (w *worker) round(ctx context.Context) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return true, fmt.Errorf("advance run %s: %w", w.run.ID, context.Cause(ctx))
	}
	if w.moved {
		if err := w.load(ctx); err != nil {
			return true, err
		}
	}
	if w.run.State == Init && !w.stopped() {
		return w.begin(ctx)
	}
	if settled, err := w.readInbox(ctx); settled || err != nil {
		return false, err
	}
	next, halt := Route(w.facts())
	return w.do(ctx, next, halt)
}

func (w *worker) do(ctx context.Context, next Next, halt Halt) (done bool, err error) {
	switch next {
	case DoFail:
		return true, w.fail(ctx, halt)
	case DoFinish:
		return true, w.end(ctx, ending{on: OnDone, halt: HaltDone, answer: w.lastText()})
	case DoCancel:
		return true, w.end(ctx, ending{on: OnCancel, halt: HaltCancelled})
	case DoExecute:
		return false, w.execute(ctx)
	case DoPark:
		return true, w.park(ctx, halt)
	case DoClose:
		w.run.Closing = halt
		return w.think(ctx)
	}
	return w.think(ctx)
}

func (w *worker) load(ctx context.Context) error {
	work, err := w.a.Store.Load(ctx, w.run.ID)
	if err != nil {
		return fmt.Errorf("load run %s: %w", w.run.ID, err)
	}
	used := w.run.Spent
	w.run, w.turns, w.steps, w.inbox, w.open = work.Run, work.Turns, work.Steps, work.Inbox, work.Approvals
	w.asked, w.paid = work.Asked, work.Paid
	w.run.Spent = w.run.Spent.atLeast(used) // a reply was paid for, even when it could not be stored
	if w.open == nil {
		w.open = openApprovals{}
	}
	w.moved, w.failure, w.found = false, "", len(w.steps)
	return nil
}

// commit writes a change with the header as it is now. Guarded commits must find
// the run as it was loaded, without newer work.
func (w *worker) commit(ctx context.Context, c Change, guarded bool) error {
	now := w.a.Now()
	w.run.Spent.Active += now.Sub(w.mark)
	w.mark = now
	w.run.UpdatedAt = now
	header := w.run
	c.Run = &header
	c.Wishes = append(c.Wishes, progressWish(&header, now))
	f := Fence{Run: w.run.ID, Owner: w.lease.Owner, Epoch: w.lease.Epoch, Wake: -1, Now: now, Until: now.Add(w.a.Lease)}
	if guarded || c.Park || c.Yield {
		f.Wake = w.run.Wake
	}
	wake, err := w.a.Store.Commit(ctx, f, c)
	if err != nil {
		w.moved = true
		return fmt.Errorf("commit run %s: %w", w.run.ID, err)
	}
	w.moved = w.moved || wake != w.run.Wake
	w.lease.Until = f.Until
	for _, m := range c.Approvals {
		if a := w.open[m.ID]; a != nil {
			a.State, a.Version = m.To, a.Version+1
		}
	}
	return nil
}

// fire moves the run along its table.
func (w *worker) fire(events ...string) error {
	for _, on := range events {
		to, err := RunMachine.Fire(w.run.State, on)
		if err != nil {
			return fmt.Errorf("run %s: %w", w.run.ID, err)
		}
		w.run.State = to
	}
	return nil
}

// yield gives the lease back and leaves the run due at an instant.
func (w *worker) yield(ctx context.Context, at time.Time) error {
	if w.moved {
		if err := w.load(ctx); err != nil {
			return err
		}
		at = w.a.Now()
	}
	w.run.ReadyAt = at
	err := w.commit(ctx, Change{Yield: true}, true)
	if errors.Is(err, ErrMoved) {
		return w.yield(ctx, at)
	}
	if errors.Is(err, ErrFenced) {
		return nil
	}
	return err
}

// data makes an audit entry's data: JSON, with secrets masked.
func (a *Agent) data(fields map[string]any) string { return audit.Data(fields, a.Mask) }

func (w *worker) entry(kind string, s *Step, fields map[string]any) audit.Entry {
	e := audit.Entry{At: w.a.Now(), Kind: kind, Run: w.run.ID, Via: "worker", Data: w.a.data(fields)}
	if s != nil {
		e.Step, e.Approval = s.N, s.Approval
	}
	return e
}

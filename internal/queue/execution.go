package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// execution is one run that this process works on or is about to.
type execution struct {
	run     string
	began   bool                    // it has a slot
	again   bool                    // it was rung meanwhile
	epoch   int64                   // of its lease, when a heartbeat has seen it; 0: not yet
	until   time.Time               // the lease holds until then, as far as we know
	cancel  context.CancelCauseFunc // ends its context
	expires *time.Timer             // ends its context when the lease ends unrenewed
}

// Rung starts work on a run in this process, or has it looked at once more when
// this process is at it already: a ring is never lost in the moment in which a
// worker has parked the run and not yet returned.
func (q *Queue) Rung(run string) {
	if e := q.admit(run); e != nil {
		go q.execute(q.base, e)
	}
}

// workOn is Rung for River's job: it keeps the job until the run was worked on.
func (q *Queue) workOn(ctx context.Context, run string) {
	if e := q.admit(run); e != nil {
		q.execute(ctx, e)
	}
}

// admit enters a run that is to be worked on; nil when nothing is to be done.
func (q *Queue) admit(run string) *execution {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.advance == nil || q.ended || q.skewed {
		return nil // others, or a later sweep, find it
	}
	if e := q.runs[run]; e != nil {
		e.again = true
		return nil
	}
	e := &execution{run: run}
	q.runs[run] = e
	q.work.Add(1)
	return e
}

// execute advances the run in a slot, once more for every ring meanwhile; between
// two times others may have the slot.
func (q *Queue) execute(ctx context.Context, e *execution) {
	defer q.work.Done()
	for {
		select {
		case q.slots <- struct{}{}:
		case <-q.stopping:
			q.forget(e)
			return
		case <-ctx.Done():
			q.forget(e)
			return
		}
		q.once(ctx, e)
		<-q.slots
		if !q.more(e) {
			q.sweepIfFull()
			return
		}
	}
}

// once advances the run under a context of its own.
func (q *Queue) once(ctx context.Context, e *execution) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(q.base, func() { cancel(context.Cause(q.base)) })
	defer stop()
	q.begin(e, cancel)
	err := q.safely(ctx, e.run)
	q.finish(e)
	if err != nil {
		q.giveBack(ctx, e.run, err)
		return
	}
	q.mu.Lock()
	delete(q.failed, e.run)
	q.mu.Unlock()
}

// safely calls advance; a panic is an error.
func (q *Queue) safely(ctx context.Context, run string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	q.mu.Lock()
	advance := q.advance
	q.mu.Unlock()
	return advance(ctx, run)
}

// begin notes that advance is about to claim: a lease it gets ends no earlier than
// one lease from now.
func (q *Queue) begin(e *execution, cancel context.CancelCauseFunc) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e.began, e.again, e.epoch, e.cancel = true, false, 0, cancel
	e.until = q.Now().Add(q.Lease)
	e.expires = time.AfterFunc(q.Lease, func() { cancel(ErrLeaseLost) })
}

func (q *Queue) finish(e *execution) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e.expires.Stop()
	e.began = false
}

// more says whether the run was rung while it was worked on; else it is forgotten.
func (q *Queue) more(e *execution) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.again && !q.ended {
		return true
	}
	delete(q.runs, e.run)
	return false
}

func (q *Queue) forget(e *execution) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.runs, e.run)
}

// Pauses before a run that failed is tried again: the first, and the longest.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// giveBack frees the lease of a run that was not finished in our hands, so that it
// need not run out: for others at once when this process stops, else after a pause
// that doubles with every failure.
func (q *Queue) giveBack(ctx context.Context, run string, failure error) {
	at := q.Now()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrStopped):
		q.Logger.InfoContext(ctx, "run handed back", "run", run)
	case errors.Is(cause, ErrLeaseLost):
		q.Logger.WarnContext(ctx, "run was lost to another worker", "run", run, "error", failure)
	default:
		at = at.Add(q.pause(run))
		q.Logger.ErrorContext(ctx, "run could not be advanced", "run", run, "error", failure, "again_at", at)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.Lease)
	defer cancel()
	if err := q.Leases.Release(ctx, q.Owner, []string{run}, at); err != nil {
		q.Logger.WarnContext(ctx, "lease could not be given back; it runs out", "run", run, "error", err)
	}
}

// pause counts a failure and gives the time until the next try.
func (q *Queue) pause(run string) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.failed[run]
	q.failed[run] = n + 1
	return min(firstPause<<min(n, 16), lastPause)
}

// Holds says whether this process's lease on a run is certain to hold now. It is
// asked right before a call that must not be made by two workers: a process that
// was frozen finds that its time is over.
func (q *Queue) Holds(run string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.runs[run]
	return e != nil && e.began && q.Now().Before(e.until)
}

// executing lists the runs that are being advanced.
func (q *Queue) executing() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []string
	for run, e := range q.runs {
		if e.began {
			out = append(out, run)
		}
	}
	slices.Sort(out)
	return out
}

package queue

import (
	"context"
	"time"
)

// heartbeat renews the leases of everything that is being advanced, in one
// statement, and ends the context of what was lost.
func (q *Queue) heartbeat(ctx context.Context) {
	if err := q.compareClocks(ctx); err != nil {
		q.Logger.WarnContext(ctx, "clocks", "error", err)
	}
	before := q.snapshot()
	if len(before) == 0 {
		return
	}
	leases := make(map[string]int64, len(before))
	for run, e := range before {
		leases[run] = e.epoch
	}
	asked, now := time.Now(), q.Now()
	until := now.Add(q.Lease)
	held, err := q.Leases.Extend(ctx, q.Owner, leases, now, until)
	if err != nil {
		q.Logger.WarnContext(ctx, "leases could not be renewed", "runs", len(leases), "error", err)
		return // what is not renewed in time ends by itself
	}
	q.renewed(before, held, until, q.Lease-time.Since(asked))
}

// snapshot gives what is being advanced, with the cancel function that tells this
// turn of a run from its next.
func (q *Queue) snapshot() map[string]*execution {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := map[string]*execution{}
	for run, e := range q.runs {
		if e.began {
			copied := *e
			out[run] = &copied
		}
	}
	return out
}

// renewed notes which leases hold. A run whose lease was seen before and is gone
// has been parked and is about to be forgotten, or was taken over: either way its
// context may end. One that has not been seen may not have claimed yet.
func (q *Queue) renewed(before map[string]*execution, held map[string]int64, until time.Time, left time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for run, epoch := range held {
		if e := q.same(before[run]); e != nil {
			e.epoch, e.until = epoch, until
			e.expires.Reset(left)
		}
		delete(before, run)
	}
	for _, old := range before {
		if e := q.same(old); e != nil && old.epoch > 0 {
			e.cancel(ErrLeaseLost)
		}
	}
}

// same gives the execution as it is now, when it is still the one of the snapshot.
func (q *Queue) same(old *execution) *execution {
	if old == nil {
		return nil
	}
	e := q.runs[old.run]
	if e == nil || !e.began || e.expires != old.expires {
		return nil
	}
	return e
}

// sweep rings what is due and nobody works on: what a crash, a lost ring or a later
// instant left. Every replica does it; the claim decides.
func (q *Queue) sweep(ctx context.Context) {
	if q.idle() {
		return
	}
	n := 2 * q.Slots
	runs, err := q.Leases.Due(ctx, q.Now(), n)
	if err != nil {
		q.Logger.WarnContext(ctx, "sweep failed", "error", err)
		return
	}
	for _, run := range runs {
		q.sweepUp(run)
	}
	q.mu.Lock()
	q.full = len(runs) == n
	q.mu.Unlock()
}

// sweepUp rings a run that this process is not already at.
func (q *Queue) sweepUp(run string) {
	q.mu.Lock()
	known := q.runs[run] != nil
	q.mu.Unlock()
	if !known {
		q.Rung(run)
	}
}

func (q *Queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended || q.skewed
}

// sweepSoon asks for a sweep before its time.
func (q *Queue) sweepSoon() {
	select {
	case q.poke <- struct{}{}:
	default:
	}
}

// sweepIfFull sweeps again when a slot is free and the last sweep left work behind.
func (q *Queue) sweepIfFull() {
	q.mu.Lock()
	full := q.full && len(q.runs) < q.Slots
	q.mu.Unlock()
	if full {
		q.sweepSoon()
	}
}

// compareClocks measures how far our clock is from the database's, the time of the
// question left out. ErrSkewed while it is more than a quarter of a lease.
func (q *Queue) compareClocks(ctx context.Context) error {
	if q.DatabaseNow == nil {
		return nil
	}
	before := q.Now()
	there, err := q.DatabaseNow(ctx)
	after := q.Now()
	if err != nil {
		return err
	}
	skew := max(before.Sub(there), there.Sub(after))
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.skewed = skew > q.Lease/4; q.skewed {
		return ErrSkewed
	}
	return nil
}

// Clock says whether our clock can be trusted: ErrSkewed while it cannot.
func (q *Queue) Clock() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.skewed {
		return ErrSkewed
	}
	return nil
}

// CompareClocks is Clock for a process that never starts the queue.
func (q *Queue) CompareClocks(ctx context.Context) error { return q.compareClocks(ctx) }

// Ready says whether this process may claim runs: ErrSkewed or ErrStopped when not.
func (q *Queue) Ready() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.ended:
		return ErrStopped
	case q.skewed:
		return ErrSkewed
	}
	return nil
}

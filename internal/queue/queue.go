// Package queue starts work on runs that are due. River is the doorbell that
// reaches every replica; the truth is in the run's own row: who rings too often or
// too late does no harm, because a claim of the row decides. Each process keeps the
// leases of what it executes alive, and sweeps for what nobody works on.
package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
)

// Leases is what the queue needs of the runs' rows. internal/store implements it.
type Leases interface {
	// Due lists up to n runs that a claim would find, the longest waiting first.
	Due(ctx context.Context, now time.Time, n int) ([]string, error)
	// Extend moves the end of the owner's leases and gives those that it moved, by run
	// with their epochs. A lease that has run out, or has another epoch than the one
	// given, is not the one that was claimed; epoch 0 stands for one that was not seen yet.
	Extend(ctx context.Context, owner string, leases map[string]int64, now, until time.Time) (map[string]int64, error)
	// Release gives the owner's leases back; the runs are due from an instant on, and
	// rung when that is now.
	Release(ctx context.Context, owner string, runs []string, at time.Time) error
}

// Causes of the end of a run's context.
var (
	// ErrLeaseLost says that the lease ended or went to another worker: stop at once.
	ErrLeaseLost = errors.New("the lease of the run was lost")
	// ErrStopped says that the process is being stopped.
	ErrStopped = errors.New("the process stops")
	// ErrSkewed says that our clock and the database's differ too much to claim anything.
	ErrSkewed = errors.New("the clock differs from the database's by more than a quarter of a lease")
)

// Config wires a Queue. Zero durations and counts mean the defaults.
type Config struct {
	DB       *sql.DB // SQLite's handle that writes
	Postgres string  // the Postgres server's address; empty: SQLite
	Leases   Leases
	Owner    string // of the leases: unique for every start of a process
	Slots    int    // runs executed at once; default 20
	Lease    time.Duration
	Sweep    time.Duration
	Grace    time.Duration // how long Stop lets running work go on; default 10 s
	// DatabaseNow gives the database's clock; nil: clocks are not compared.
	DatabaseNow func(ctx context.Context) (time.Time, error)
	Now         func() time.Time // default time.Now
	Logger      *slog.Logger     // default none
}

// Defaults: a dead process's runs are taken over within lease + sweep. The
// heartbeat is a third of the lease.
const (
	DefaultLease = 6 * time.Second
	DefaultSweep = 2 * time.Second
	DefaultSlots = 20
	DefaultGrace = 10 * time.Second
)

// Advance takes one run as far as it can go. The context ends, with a cause, when
// the lease is lost or the process stops.
type Advance func(ctx context.Context, run string) error

// Queue rings, and works on what was rung.
type Queue struct {
	Config
	client     *river.Client[*sql.Tx]
	closeRiver func() error // its own connections
	slots      chan struct{}

	stopping chan struct{} // closed: nothing new starts, running work should come to a good point
	base     context.Context
	cut      context.CancelCauseFunc // ends all running work
	loops    sync.WaitGroup
	work     sync.WaitGroup
	poke     chan struct{} // asks for a sweep now

	mu      sync.Mutex
	advance Advance
	runs    map[string]*execution
	failed  map[string]int // how often a run failed in a row in this process
	ended   bool           // stopping was closed
	full    bool           // the last sweep found more than it could ring
	skewed  bool
}

// New makes a queue that rings. It works only after Start.
func New(c Config) (*Queue, error) {
	c.defaults()
	q := &Queue{
		Config: c, slots: make(chan struct{}, c.Slots), stopping: make(chan struct{}),
		closeRiver: func() error { return nil }, poke: make(chan struct{}, 1), runs: map[string]*execution{}, failed: map[string]int{},
	}
	q.base, q.cut = context.WithCancelCause(context.Background())
	if err := q.openRiver(); err != nil {
		return nil, err
	}
	return q, nil
}

func (c *Config) defaults() {
	c.Slots = positive(c.Slots, DefaultSlots)
	c.Lease = positive(c.Lease, DefaultLease)
	c.Sweep = positive(c.Sweep, DefaultSweep)
	c.Grace = positive(c.Grace, DefaultGrace)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func positive[N int | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

// Start begins to work with advance, until Stop.
func (q *Queue) Start(ctx context.Context, advance Advance) error {
	q.mu.Lock()
	q.advance = advance
	q.mu.Unlock()
	if err := q.compareClocks(ctx); err != nil && !errors.Is(err, ErrSkewed) {
		return err
	}
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	q.loops.Go(func() { q.every(q.Lease/3, nil, q.heartbeat) })
	q.loops.Go(func() { q.every(q.Sweep, q.poke, q.sweep) })
	q.sweepSoon()
	return nil
}

// Stopping is closed when the process is being stopped: work should give its lease
// back at the next good point.
func (q *Queue) Stopping() <-chan struct{} { return q.stopping }

// Stop ends the work: nothing new starts; what runs has the grace to come to a good
// point, then its context ends; leases that are left are given back for others.
func (q *Queue) Stop(ctx context.Context) error {
	q.mu.Lock()
	started := q.advance != nil
	if !q.ended {
		q.ended = true
		close(q.stopping)
	}
	q.mu.Unlock()
	river := make(chan error, 1)
	go func() { river <- q.stopRiver(ctx, started) }() // it stops to fetch at once
	q.drain(ctx)
	q.cut(ErrStopped)
	q.loops.Wait()
	err := q.Leases.Release(ctx, q.Owner, q.executing(), q.Now())
	return errors.Join(err, <-river, q.closeRiver())
}

// drain waits for running work: the grace, then a little longer after its contexts ended.
func (q *Queue) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		q.work.Wait()
		close(done)
	}()
	grace := time.NewTimer(q.Grace)
	defer grace.Stop()
	select {
	case <-done:
		return
	case <-grace.C:
	case <-ctx.Done():
	}
	q.cut(ErrStopped)
	last := time.NewTimer(q.Lease / 2)
	defer last.Stop()
	select {
	case <-done:
	case <-last.C: // it does not listen; its lease is given back all the same, and fences it out
	}
}

// every calls do at an interval, and when poked, until the work is cut.
func (q *Queue) every(interval time.Duration, poke <-chan struct{}, do func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-q.base.Done():
			return
		case <-tick.C:
		case <-poke:
		}
		ctx, cancel := context.WithTimeout(q.base, q.Lease/2)
		do(ctx)
		cancel()
	}
}

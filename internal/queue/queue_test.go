package queue_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/queue"
	"countersign/internal/store"
	"countersign/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// lease is in real time, because heartbeats take it: short, so that the tests need not
// wait, and long enough for a heartbeat on a machine that stops for a second.
const lease = 3 * time.Second

// replica is one process: a store, its queue and what it advanced.
type replica struct {
	*queue.Queue
	db     *storetest.DB
	owner  string
	mu     sync.Mutex
	count  map[string]int
	during func(ctx context.Context, r *agent.Run) error // while the lease is held; nil: nothing
}

// open gives a process that is not started. Its clock is the real one.
func open(t *testing.T, db *storetest.DB, owner string, change ...func(*queue.Config)) *replica {
	t.Helper()
	c := queue.Config{
		DB: db.Writer(), Postgres: db.Store.URL(), Leases: db, Owner: owner,
		Lease: lease, Sweep: 100 * time.Millisecond, Grace: time.Second,
	}
	for _, f := range change {
		f(&c)
	}
	q, err := queue.New(c)
	if err != nil {
		t.Fatal(err)
	}
	db.Attach(q, nil)
	return &replica{Queue: q, db: db, owner: owner, count: map[string]int{}}
}

func (r *replica) start(t *testing.T) *replica {
	t.Helper()
	if err := r.Start(t.Context(), r.advance); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.Background()) })
	return r
}

// advance claims the run, does what the test wants, and parks it.
func (r *replica) advance(ctx context.Context, id string) error {
	now := time.Now()
	run, err := r.db.Claim(ctx, id, agent.Lease{Owner: r.owner, Until: now.Add(lease)}, now)
	if err != nil || run == nil {
		return err
	}
	r.mu.Lock()
	r.count[id]++
	during := r.during
	r.mu.Unlock()
	if during != nil {
		if err := during(ctx, run); err != nil {
			return err
		}
	}
	run.State = agent.WaitingInput
	f := agent.Fence{Run: id, Owner: r.owner, Epoch: run.Lease.Epoch, Wake: run.Wake, Now: time.Now()}
	_, err = r.db.Commit(context.WithoutCancel(ctx), f, agent.Change{Run: run, Park: true})
	if errors.Is(err, agent.ErrMoved) || errors.Is(err, agent.ErrFenced) {
		return r.db.Release(context.WithoutCancel(ctx), r.owner, []string{id}, time.Now()) // for the next ring
	}
	return err
}

func (r *replica) times(run string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count[run]
}

// begin starts a run at the real time.
func begin(t *testing.T, db *storetest.DB, key string) string {
	t.Helper()
	in := storetest.Mention(key, time.Now())
	in.Run.TS = key
	got, err := db.Accept(t.Context(), in)
	if err != nil || !got.Started {
		t.Fatalf("start: %+v, %v", got, err)
	}
	return got.Run
}

// until waits for a condition, longer than any machine takes.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// each gives databases whose stores tell the real time, as the queue does.
func each(t *testing.T, test func(t *testing.T, db *storetest.DB)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		db.Clock.Follow()
		test(t, db)
	})
}

func parked(t *testing.T, db *storetest.DB, run string) func() bool {
	return func() bool {
		w, err := db.Load(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		return w.Run.State == agent.WaitingInput && w.Run.Lease.Owner == ""
	}
}

func TestARingStartsWorkInThisProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *storetest.DB) {
		noSweep := func(c *queue.Config) { c.Sweep = time.Hour }
		r := open(t, db, "one", noSweep).start(t)
		for i := range 5 {
			run := begin(t, db, fmt.Sprint(i))
			until(t, "the run's turn", parked(t, db, run))
			if n := r.times(run); n != 1 {
				t.Errorf("advanced %d times", n)
			}
		}
	})
}

// The command line commits and rings and never works; River carries the ring over.
func TestARingReachesAnotherProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *storetest.DB) {
		noSweep := func(c *queue.Config) { c.Sweep = time.Hour }
		cli := open(t, db, "cli", noSweep)
		t.Cleanup(func() {
			if err := cli.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		other := db.Replica(t)
		r := open(t, other, "one", noSweep).start(t)
		time.Sleep(50 * time.Millisecond) // past the sweep with which it starts
		run := begin(t, db, "1")
		until(t, "the run's turn", parked(t, db, run))
		if cli.times(run) != 0 || r.times(run) != 1 {
			t.Errorf("the command line worked %d times, the server %d times", cli.times(run), r.times(run))
		}
	})
}

func TestTheSweepFindsWhatNobodyRang(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *storetest.DB) {
		silent := db.Replica(t) // its bell reaches nobody
		silent.Clock = db.Clock
		open(t, db, "one", func(c *queue.Config) { c.Slots = 2 }).start(t)
		var runs []string
		for i := range 12 { // more than one sweep takes
			runs = append(runs, begin(t, silent, fmt.Sprint(i)))
		}
		for _, run := range runs {
			until(t, "the run's turn", parked(t, db, run))
		}
	})
}

// A ring in the moment between the park and the return is not lost, though the
// sweep is far away.
func TestARingWhileWorkingIsHeardAfterwards(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *storetest.DB) {
		r := open(t, db, "one", func(c *queue.Config) { c.Sweep = time.Hour })
		working, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		r.during = func(context.Context, *agent.Run) error {
			once.Do(func() { close(working); <-goOn })
			return nil
		}
		r.start(t)
		run := begin(t, db, "1")
		<-working
		m := agent.Message{ID: "m1", Run: run, Kind: agent.FollowUp, From: storetest.Asker(), At: time.Now()}
		if err := db.Tell(t.Context(), m, "2"); err != nil {
			t.Fatal(err)
		}
		close(goOn)
		until(t, "the second turn", func() bool { return r.times(run) == 2 && parked(t, db, run)() })
	})
}

func TestSlotsBoundTheWork(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	r := open(t, db, "one", func(c *queue.Config) { c.Slots = 3 })
	var now, most atomic.Int64
	open := make(chan struct{})
	r.during = func(context.Context, *agent.Run) error {
		for n := now.Add(1); ; {
			old := most.Load()
			if n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		<-open
		now.Add(-1)
		return nil
	}
	r.start(t)
	var runs []string
	for i := range 15 {
		runs = append(runs, begin(t, db, fmt.Sprint(i)))
	}
	until(t, "three at once", func() bool { return now.Load() == 3 })
	close(open)
	for _, run := range runs {
		until(t, "the run's turn", parked(t, db, run))
	}
	if most.Load() != 3 {
		t.Errorf("%d at once, 3 are allowed", most.Load())
	}
}

func TestTheHeartbeatKeepsTheLease(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *storetest.DB) {
		one, two := open(t, db, "one"), open(t, db.Replica(t), "two")
		one.during = func(ctx context.Context, r *agent.Run) error {
			select {
			case <-ctx.Done():
				t.Errorf("the context ended: %v", context.Cause(ctx))
			case <-time.After(2 * lease):
			}
			if !one.Holds(r.ID) {
				t.Error("the lease is not held")
			}
			return nil
		}
		one.start(t)
		run := begin(t, db, "1")
		until(t, "the run's turn", func() bool { return one.times(run) == 1 })
		two.start(t)
		until(t, "the end", parked(t, db, run))
		until(t, "the end of the lease", func() bool { return !one.Holds(run) })
		if one.times(run) != 1 || two.times(run) != 0 {
			t.Errorf("advanced %d and %d times", one.times(run), two.times(run))
		}
	})
}

func TestARunOfADeadProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *storetest.DB) {
		run := begin(t, db, "1")
		now := time.Now()
		if r, err := db.Claim(t.Context(), run, agent.Lease{Owner: "dead", Until: now.Add(lease)}, now); err != nil || r == nil {
			t.Fatal(r, err)
		}
		r := open(t, db, "one").start(t)
		until(t, "the takeover", parked(t, db, run))
		if took := time.Since(now); took < lease || took > 10*lease {
			t.Errorf("taken over after %v, the lease is %v", took, lease)
		}
		if r.times(run) != 1 {
			t.Errorf("advanced %d times", r.times(run))
		}
	})
}

// A lease is lost to another process, and to a later claim of the same one as well.
func TestALostLeaseEndsTheContext(t *testing.T) {
	t.Parallel()
	for _, thief := range []string{"thief", "one"} {
		t.Run(thief, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, db *storetest.DB) { losesItTo(t, db, thief) })
		})
	}
}

func losesItTo(t *testing.T, db *storetest.DB, thief string) {
	r := open(t, db, "one")
	cause := make(chan error, 1)
	var once sync.Once
	r.during = func(ctx context.Context, run *agent.Run) error {
		once.Do(func() {
			time.Sleep(lease / 2) // until a heartbeat has seen it
			if _, err := db.Writer().ExecContext(ctx, "UPDATE runs SET lease_epoch = lease_epoch + 1, lease_owner = '"+thief+"'"); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			cause <- context.Cause(ctx)
		})
		return nil
	}
	r.start(t)
	begin(t, db, "1")
	if err := <-cause; !errors.Is(err, queue.ErrLeaseLost) {
		t.Errorf("cause: %v", err)
	}
}

// broken is a database that does not renew.
type broken struct{ queue.Leases }

func (broken) Extend(context.Context, string, map[string]int64, time.Time, time.Time) (map[string]int64, error) {
	return nil, store.ErrUnavailable
}

func TestALeaseThatCannotBeRenewedEndsTheContextInTime(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	r := open(t, db, "one", func(c *queue.Config) { c.Leases = broken{c.Leases} })
	cause := make(chan error, 1)
	r.during = func(ctx context.Context, run *agent.Run) error {
		<-ctx.Done()
		if r.Holds(run.ID) {
			t.Error("holds what it could not renew")
		}
		cause <- context.Cause(ctx)
		return nil
	}
	began := time.Now()
	r.start(t)
	begin(t, db, "1")
	if err := <-cause; !errors.Is(err, queue.ErrLeaseLost) || time.Since(began) < lease {
		t.Errorf("cause %v after %v", err, time.Since(began))
	}
}

func TestAFailureIsTriedAgainAfterAPause(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *storetest.DB) {
		r := open(t, db, "one")
		var first, second time.Time
		r.during = func(_ context.Context, run *agent.Run) error {
			switch r.times(run.ID) {
			case 1:
				first = time.Now()
				panic("on the first try")
			case 2:
				second = time.Now()
			}
			return nil
		}
		r.start(t)
		run := begin(t, db, "1")
		until(t, "the second try", parked(t, db, run))
		if pause := second.Sub(first); pause < time.Second {
			t.Errorf("tried again after %v", pause)
		}
	})
}

func TestStopLetsRunningWorkComeToItsEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *storetest.DB) {
		r := open(t, db, "one")
		working := make(chan struct{})
		r.during = func(ctx context.Context, _ *agent.Run) error {
			close(working)
			<-r.Stopping()
			time.Sleep(20 * time.Millisecond)
			return ctx.Err()
		}
		r.start(t)
		run := begin(t, db, "1")
		<-working
		if err := r.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !parked(t, db, run)() {
			t.Error("it was cut off")
		}
		if err := r.Ready(); !errors.Is(err, queue.ErrStopped) {
			t.Errorf("ready: %v", err)
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Errorf("stopped again: %v", err)
		}
	})
}

func TestStopHandsTheRestToOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *storetest.DB) {
		patient := func(c *queue.Config) { c.Sweep, c.Grace = time.Hour, 100*time.Millisecond }
		one, two := open(t, db, "one", patient), open(t, db.Replica(t), "two", patient)
		working := make(chan struct{})
		one.during = func(ctx context.Context, _ *agent.Run) error {
			close(working)
			<-ctx.Done()
			return context.Cause(ctx)
		}
		one.start(t)
		run := begin(t, db, "1")
		<-working
		two.start(t)
		if err := one.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		until(t, "the other's turn", parked(t, db, run))
		if two.times(run) != 1 {
			t.Errorf("advanced %d times by the other", two.times(run))
		}
	})
}

func TestASkewedClockClaimsNothing(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	var skew atomic.Int64
	skew.Store(int64(lease / 2))
	r := open(t, db, "one", func(c *queue.Config) {
		c.DatabaseNow = func(context.Context) (time.Time, error) { return time.Now().Add(time.Duration(skew.Load())), nil }
	}).start(t)
	if err := r.Ready(); !errors.Is(err, queue.ErrSkewed) {
		t.Fatalf("ready: %v", err)
	}
	run := begin(t, db, "1")
	time.Sleep(300 * time.Millisecond) // three sweeps in which nothing may happen
	if r.times(run) != 0 {
		t.Error("worked with a clock that cannot be trusted")
	}
	skew.Store(0)
	until(t, "the run's turn", parked(t, db, run))
	if err := r.Ready(); err != nil {
		t.Errorf("ready: %v", err)
	}
}

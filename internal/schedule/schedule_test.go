package schedule_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/schedule"
	"countersign/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// beat is the jobs' interval in these tests: real time, because gocron keeps it.
const beat = 50 * time.Millisecond

func start(t *testing.T, c schedule.Config, jobs ...schedule.Job) *schedule.Scheduler {
	t.Helper()
	s, err := schedule.New(c, jobs...)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	return s
}

// until waits for a condition, longer than any machine takes.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestOneReplicaRunsTheJobs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		var first, second atomic.Int64
		count := func(n *atomic.Int64) schedule.Job {
			return schedule.Job{Name: "sweep", Every: beat, Run: func(context.Context) error { n.Add(1); return nil }}
		}
		a := start(t, schedule.Config{Elect: db, Owner: "a", Now: db.Clock.Now}, count(&first))
		until(t, "the first run", func() bool { return first.Load() > 0 })
		b := start(t, schedule.Config{Elect: other, Owner: "b", Now: db.Clock.Now}, count(&second))
		ran := first.Load()
		until(t, "more runs", func() bool { return first.Load() >= ran+5 })
		if second.Load() != 0 {
			t.Errorf("the follower ran %d times", second.Load())
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		until(t, "the other's turn", func() bool { return second.Load() > 0 }) // the clock stands: the lead was given up
		if err := b.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTheLeadOfADeadReplicaEnds(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	if leads, err := db.Elect(t.Context(), "schedule", "dead", db.Clock.Now(), time.Minute); err != nil || !leads {
		t.Fatal(leads, err)
	}
	var runs atomic.Int64
	s := start(t, schedule.Config{Elect: db, Owner: "alive", Now: db.Clock.Now}, schedule.Job{
		Name: "sweep", Every: beat, Run: func(context.Context) error { runs.Add(1); return nil },
	})
	time.Sleep(3 * beat) // there is nothing to wait for: it must not run
	if runs.Load() != 0 {
		t.Error("ran without the lead")
	}
	db.Clock.Step(2 * time.Minute)
	until(t, "its turn", func() bool { return runs.Load() > 0 })
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAJobNeverRunsBesideItselfAndOutlivesItsFailures(t *testing.T) {
	t.Parallel()
	var running, runs atomic.Int64
	s := start(t, schedule.Config{}, schedule.Job{Name: "slow", Every: beat / 5, Run: func(context.Context) error {
		defer running.Add(-1)
		if running.Add(1) != 1 {
			t.Error("two at once")
		}
		time.Sleep(beat / 2)
		if runs.Add(1)%2 == 0 {
			panic("once in a while")
		}
		return errors.New("again and again")
	}})
	until(t, "four runs", func() bool { return runs.Load() >= 4 })
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStopEndsTheContextOfAJob(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	s := start(t, schedule.Config{}, schedule.Job{Name: "long", Every: time.Hour, Run: func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}})
	<-began
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	<-ended
}

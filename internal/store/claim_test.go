package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/internal/store/storetest"
)

func TestClaimOnlyWhatIsDue(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		now := db.Clock.Now()
		claim := func(owner string, at time.Time) *agent.Run {
			t.Helper()
			r, err := db.Claim(t.Context(), run, agent.Lease{Owner: owner, Until: at.Add(10 * time.Second)}, at)
			if err != nil {
				t.Fatal(err)
			}
			if due, err := db.Due(t.Context(), at, 10); err != nil || len(due) != 0 {
				t.Errorf("due after the claim: %v, %v", due, err)
			}
			return r
		}
		if claim("early", now.Add(-time.Microsecond)) != nil {
			t.Error("claimed before it was ready")
		}
		if due, err := db.Due(t.Context(), now, 10); err != nil || !cmp.Equal(due, []string{run}) {
			t.Errorf("due: %v, %v", due, err)
		}
		first := claim("one", now)
		if first == nil || first.Lease.Owner != "one" || first.Lease.Epoch != 1 {
			t.Fatalf("first claim: %+v", first)
		}
		if claim("two", now.Add(10*time.Second-time.Microsecond)) != nil || claim("one", now) != nil {
			t.Error("claimed what is leased")
		}
		second := claim("two", now.Add(10*time.Second))
		if second == nil || second.Lease.Epoch != 2 {
			t.Fatalf("claim of a lease that is over: %+v", second)
		}
	})
}

// Instants in different zones are the same instants.
func TestLeasesDoNotKnowZones(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		now := db.Clock.Now()
		west, east := time.FixedZone("west", -11*3600), time.FixedZone("east", 14*3600)
		r, err := db.Claim(t.Context(), run, agent.Lease{Owner: "one", Until: now.Add(time.Second).In(west)}, now.In(east))
		if err != nil || r == nil {
			t.Fatalf("claim: %v, %v", r, err)
		}
		if r, err = db.Claim(t.Context(), run, agent.Lease{Owner: "two", Until: now.Add(time.Hour)}, now.In(east)); err != nil || r != nil {
			t.Errorf("a zone ended the lease: %v, %v", r, err)
		}
		later := now.Add(time.Second).In(west)
		if r, err = db.Claim(t.Context(), run, agent.Lease{Owner: "two", Until: later.Add(time.Hour)}, later); err != nil || r == nil {
			t.Errorf("a zone prolonged the lease: %v, %v", r, err)
		}
	})
}

func TestOneOfManyClaims(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		other := db.Replica(t)
		var won atomic.Int64
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				at := []*storetest.DB{db, other}[i%2]
				now := at.Clock.Now()
				r, err := at.Claim(t.Context(), run, agent.Lease{Owner: string(rune('a' + i)), Until: now.Add(time.Second)}, now)
				if err != nil {
					t.Error(err)
				}
				if r != nil {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d claims won", won.Load())
		}
	})
}

// Two people's runs of one thread take turns, whichever process claims them.
func TestOneRunOfAThreadAtATime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		second := storetest.Mention("2", db.Clock.Now())
		second.Run.Asker.User = "U2"
		if _, err := db.Accept(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		runs := []string{db.Start(t, "1"), second.Run.ID}
		for round := range 10 {
			now := db.Clock.Step(10 * time.Second)
			var won atomic.Int64
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					at := []*storetest.DB{db, other}[i/2%2]
					r, err := at.Claim(t.Context(), runs[i%2], agent.Lease{Owner: fmt.Sprint(i), Until: now.Add(time.Second)}, now)
					if err != nil {
						t.Error(err)
					}
					if r != nil {
						won.Add(1)
					}
				})
			}
			all.Wait()
			if won.Load() != 1 {
				t.Fatalf("round %d: %d claims won", round, won.Load())
			}
		}
	})
}

func TestExtend(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		db.Claimed(t, run, "one")
		until := db.Clock.Step(9 * time.Second).Add(10 * time.Second)
		extend := func(owner string, epoch int64, want map[string]int64) {
			t.Helper()
			held, err := db.Extend(t.Context(), owner, map[string]int64{run: epoch, "rnone": 0}, db.Clock.Now(), until)
			if err != nil || !cmp.Equal(held, want) {
				t.Errorf("extend of epoch %d: %v, %v", epoch, held, err)
			}
		}
		extend("one", 7, map[string]int64{}) // another claim's
		extend("one", 0, map[string]int64{run: 1})
		extend("one", 1, map[string]int64{run: 1})
		db.Clock.Step(9 * time.Second) // the first lease would be over
		if due, err := db.Due(t.Context(), db.Clock.Now(), 10); err != nil || len(due) != 0 {
			t.Errorf("due: %v, %v", due, err)
		}
		db.Clock.Step(time.Second)
		extend("one", 1, map[string]int64{}) // it has run out: somebody may be claiming it
		db.Claimed(t, run, "two")
		extend("one", 1, map[string]int64{})
		extend("two", 1, map[string]int64{})
	})
}

func TestRelease(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		db.Claimed(t, run, "one")
		db.Bell.Take()
		if err := db.Release(t.Context(), "two", []string{run}, db.Clock.Now()); err != nil || len(db.Bell.Take()) != 0 {
			t.Errorf("released somebody else's lease: %v", err)
		}
		if err := db.Release(t.Context(), "one", []string{run}, db.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		if rung := db.Bell.Take(); !cmp.Equal(rung, []string{run}) {
			t.Errorf("rung: %v", rung)
		}
		db.Claimed(t, run, "two")
		later := db.Clock.Now().Add(time.Second)
		if err := db.Release(t.Context(), "two", []string{run}, later); err != nil {
			t.Fatal(err)
		}
		if rung := db.Bell.Take(); len(rung) != 0 {
			t.Errorf("rung before its time: %v", rung)
		}
		if due, err := db.Due(t.Context(), db.Clock.Now(), 10); err != nil || len(due) != 0 {
			t.Errorf("due before its time: %v, %v", due, err)
		}
		if due, err := db.Due(t.Context(), later, 10); err != nil || len(due) != 1 {
			t.Errorf("not due: %v, %v", due, err)
		}
	})
}

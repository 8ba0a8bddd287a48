package store_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/store/storetest"
)

// startIn starts a run in a thread of its own: one at a time works in a thread.
func startIn(t *testing.T, db *storetest.DB, thread string) string {
	t.Helper()
	m := storetest.Mention(thread, db.Clock.Now())
	m.Run.TS = thread
	got, err := db.Accept(t.Context(), m)
	if err != nil || !got.Started {
		t.Fatalf("start: %+v, %v", got, err)
	}
	return got.Run
}

// Many runs on two replicas pay from one budget at once: never more than it has.
func TestABudgetIsNeverOverdrawn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		budget := policy.Budget{Key: "pay/all", Count: 5, Amount: 0.1, Limit: 0.4, Within: time.Hour}
		var paid, refused atomic.Int64
		var all sync.WaitGroup
		for i := range 10 {
			run := startIn(t, db, fmt.Sprintf("17000001%02d.000100", i))
			_, fence := db.Claimed(t, run, "worker")
			fence.Wake = -1
			all.Go(func() {
				at := []*storetest.DB{db, other}[i%2]
				_, err := at.Commit(t.Context(), fence, agent.Change{Payments: []agent.Payment{{Step: 1, Budget: budget}}})
				var limit *agent.LimitError
				switch {
				case err == nil:
					paid.Add(1)
				case errors.As(err, &limit) && limit.Step == 1 && errors.Is(err, agent.ErrBudget):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if paid.Load() != 4 || refused.Load() != 6 { // four times 0.1 are 0.4, exactly
			t.Errorf("%d paid, %d refused", paid.Load(), refused.Load())
		}
	})
}

// A person's waiting cards are counted over all runs, and the refusal names the first that is too many.
func TestOpenApprovalsOfAPersonAreCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		var last error
		for i := range 3 {
			run := startIn(t, db, fmt.Sprintf("17000002%02d.000100", i))
			_, fence := db.Claimed(t, run, "worker")
			fence.Wake = -1
			now := db.Clock.Now()
			step, a := storetest.Step(run, 1, now), storetest.Approval(run, 1, now)
			step.Approval = a.ID
			_, last = db.Commit(t.Context(), fence, agent.Change{NewSteps: []agent.Step{step}, Open: []approvals.Approval{a}, MostOpen: 2})
			if i < 2 && last != nil {
				t.Fatal(last)
			}
		}
		var limit *agent.LimitError
		if !errors.As(last, &limit) || limit.Step != 1 || !errors.Is(last, agent.ErrOpenLimit) {
			t.Errorf("the third: %v", last)
		}
	})
}

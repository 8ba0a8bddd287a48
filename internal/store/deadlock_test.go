package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/audit"
	"countersign/internal/store/storetest"
)

// All transactions take their rows in one order, so that none waits for another
// that waits for it. Deadlocks are repeated and would only show as slowness.
func TestTransactionsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	other := db.Replica(t)
	run, a := db.Awaiting(t, "1")
	wishes := func(i int) []agent.Wish { // in another order each time
		out := []agent.Wish{{Subject: "a"}, {Subject: "b"}, {Subject: "c"}}
		return append(out[i%3:], out[:i%3]...)
	}
	tolerate := func(err error) {
		if err != nil && !errors.Is(err, agent.ErrSettled) && !errors.Is(err, agent.ErrMoved) && !errors.Is(err, agent.ErrFenced) {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for w := range 3 {
		at := []*storetest.DB{db, other}[w%2]
		all.Go(func() { // people decide
			for i := range 20 {
				c, err := at.Case(t.Context(), a.ID)
				if err != nil {
					t.Error(err)
					return
				}
				count := verdict(&c.Approval, approvals.Pending, fmt.Sprint("U", w, "-", i), at.Clock.Now())
				count.Steps = []agent.StepChange{agent.Moved(&c.Step, c.Step)}
				count.Wishes, count.Wake = wishes(w+i), i%4 == 0
				tolerate(at.Record(t.Context(), count))
			}
		})
		all.Go(func() { // people write
			for i := range 20 {
				m := agent.Message{ID: fmt.Sprint("m", w, "-", i), Run: run, Kind: agent.FollowUp, At: at.Clock.Now()}
				tolerate(at.Tell(t.Context(), m, m.ID))
				tolerate(at.Wish(t.Context(), wishes(i), at.Clock.Now()))
			}
		})
	}
	all.Go(func() { // the worker works
		m := agent.Message{ID: "m", Run: run, Kind: agent.FollowUp, At: db.Clock.Now()}
		tolerate(db.Tell(t.Context(), m, ""))
		r, f := db.Claimed(t, run, "worker")
		f.Wake = -1
		for i := range 30 {
			c, err := db.Case(t.Context(), a.ID)
			if err != nil {
				t.Error(err)
				return
			}
			_, err = db.Commit(t.Context(), f, agent.Change{
				Run: &r, Steps: []agent.StepChange{agent.Moved(&c.Step, c.Step)}, Wishes: wishes(i),
				Approvals: []agent.ApprovalChange{{ID: a.ID, From: approvals.Pending, To: approvals.Pending, Version: -1}},
				Audit:     []audit.Entry{{Kind: "step.proposed", Run: run}},
			})
			tolerate(err)
		}
	})
	all.Wait()
	if n := texts(t, db, "SELECT CAST(deadlocks AS text) FROM pg_stat_database WHERE datname = current_database()")[0]; n != "0" {
		t.Errorf("%s deadlocks", n)
	}
	if err := db.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

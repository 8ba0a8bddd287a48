package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/store/storetest"
)

func TestTheWholeHasEverything(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run, a := db.Awaiting(t, "1")
		now := db.Clock.Now()
		m := agent.Message{ID: "m1", Run: run, Kind: agent.FollowUp, From: storetest.Asker(), Text: "hurry", At: now}
		if err := db.Tell(t.Context(), m, ""); err != nil {
			t.Fatal(err)
		}
		if err := db.Record(t.Context(), verdict(&a, approvals.Rejected, "U2", now)); err != nil {
			t.Fatal(err)
		}
		_, step, err := db.Step(t.Context(), run, 1)
		if err != nil {
			t.Fatal(err)
		}
		_, f := db.Claimed(t, run, "worker")
		refused := *step
		refused.State = agent.StepRefused
		_, err = db.Commit(t.Context(), f, agent.Change{
			Steps: []agent.StepChange{{From: agent.StepAwaiting, Step: refused}}, Consumed: []agent.Consumed{{ID: "m1", Turn: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		h, err := db.Whole(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		m.Turn = 1
		if diff := cmp.Diff([]agent.Message{m}, h.Inbox, instants()); diff != "" {
			t.Error(diff)
		}
		if h.Run.ID != run || len(h.Turns) != 1 || len(h.Steps) != 1 || h.Steps[0].State != agent.StepRefused {
			t.Errorf("whole: %+v", h)
		}
		if len(h.Approvals) != 1 || h.Approvals[0].State != approvals.Rejected || len(h.Approvals[0].Decisions) != 1 {
			t.Errorf("approvals: %+v", h.Approvals)
		}
		var kinds []string
		for _, e := range h.Audit {
			kinds = append(kinds, e.Kind)
		}
		if diff := cmp.Diff([]string{"run.started", "approval.opened", "approval.rejected"}, kinds); diff != "" {
			t.Error(diff)
		}
		// What the run goes on with has no place for what is settled.
		if w, err := db.Load(t.Context(), run); err != nil || len(w.Approvals) != 0 || len(w.Inbox) != 0 {
			t.Errorf("load: %+v, %v", w, err)
		}
		if _, err := db.Whole(t.Context(), "rnone"); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("whole of nothing: %v", err)
		}
	})
}

func TestCasesLists(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		_, a := db.Awaiting(t, "1")
		for _, all := range []bool{false, true} {
			if got, err := db.Cases(t.Context(), all, 10); err != nil || len(got) != 1 {
				t.Errorf("before, all %v: %d, %v", all, len(got), err)
			}
		}
		if err := db.Record(t.Context(), verdict(&a, approvals.Approved, "U2", db.Clock.Now())); err != nil {
			t.Fatal(err)
		}
		all, err := db.Cases(t.Context(), true, 10)
		if err != nil || len(all) != 1 || all[0].Approval.ID != a.ID || all[0].Step.N != 1 {
			t.Errorf("all: %+v, %v", all, err)
		}
		if pending, err := db.Cases(t.Context(), false, 10); err != nil || len(pending) != 0 {
			t.Errorf("pending: %+v, %v", pending, err)
		}
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		then := db.Clock.Now()
		in := storetest.Mention("1", then)
		if _, err := db.Accept(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Forget(t.Context(), then); err != nil || n != 0 {
			t.Errorf("forgot %d rows that are not older, %v", n, err)
		}
		if n, err := db.Forget(t.Context(), then.Add(time.Second)); err != nil || n != 1 {
			t.Errorf("forgot %d rows, %v", n, err)
		}
		if fresh, err := db.SeenEvent(t.Context(), in.Key, db.Clock.Now()); err != nil || !fresh {
			t.Errorf("the key is still there: %v", err)
		}
	})
}

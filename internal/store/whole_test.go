package store_test

import (
	"errors"
	"testing"

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
		before, err := db.Step(t.Context(), run, 1)
		if err != nil {
			t.Fatal(err)
		}
		_, f := db.Claimed(t, run, "worker")
		refused := before.Step
		refused.State = agent.StepRefused
		_, err = db.Commit(t.Context(), f, agent.Change{
			Steps: []agent.StepChange{agent.Moved(&before.Step, refused)}, Consumed: []agent.Consumed{{ID: "m1", Turn: 1}},
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

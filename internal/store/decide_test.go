package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/store/storetest"
)

// verdict is a decision of one person that settles an approval and its step.
func verdict(a *approvals.Approval, to approvals.State, who string, now time.Time) decisions.Change {
	v := approvals.Approve
	if to == approvals.Rejected {
		v = approvals.Reject
	}
	return decisions.Change{
		Run: a.Run, Approval: a.ID, Version: a.Version, From: approvals.Pending, To: to, LiveAt: now, At: now, Wake: true,
		Decision: &approvals.Decision{
			ID: "d" + who, Approval: a.ID, Revision: a.Revision, Verdict: v, By: policy.Actor{Team: "T1", User: who}, Via: "slack", At: now,
		},
		Wishes: []agent.Wish{{Subject: "approval/" + a.ID + "/card/C1", Channel: "C1"}},
		Audit:  []audit.Entry{{At: now, Kind: "approval." + string(to), Run: a.Run, Approval: a.ID, User: who}},
	}
}

func TestOneOfManyDecidersWins(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		run, a := db.Awaiting(t, "1")
		const people = 200
		var won atomic.Int64
		var winner atomic.Value
		var all sync.WaitGroup
		for i := range people {
			all.Go(func() {
				at := []*storetest.DB{db, other}[i%2]
				to := []approvals.State{approvals.Approved, approvals.Rejected}[i/2%2]
				c := verdict(&a, to, fmt.Sprint("U", i), at.Clock.Now())
				switch err := at.Record(t.Context(), c); {
				case err == nil:
					won.Add(1)
					winner.Store(to)
				case !errors.Is(err, agent.ErrSettled):
					t.Errorf("decider %d: %v", i, err)
				}
			})
		}
		all.Wait()
		got, err := db.Case(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if won.Load() != 1 || len(got.Approval.Decisions) != 1 || got.Approval.State != winner.Load() {
			t.Errorf("%d won, %d decisions, state %s, winner %v", won.Load(), len(got.Approval.Decisions), got.Approval.State, winner.Load())
		}
		if got.Run.Wake != 2 || got.Approval.Version != 2 || got.Approval.SettledAt.IsZero() {
			t.Errorf("wake %d, version %d, settled %v", got.Run.Wake, got.Approval.Version, got.Approval.SettledAt)
		}
		if rung := append(db.Bell.Take(), other.Bell.Take()...); !cmp.Equal(rung, []string{run}) {
			t.Errorf("rung: %v", rung)
		}
		if err := db.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A decision that lands while the worker is about to park is found by the worker:
// whoever commits second sees the first.
func TestADecisionRacesThePark(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		run, a := db.Awaiting(t, "1")
		for round := range 10 {
			m := agent.Message{ID: fmt.Sprint("m", round), Run: run, Kind: agent.FollowUp, From: storetest.Asker(), At: db.Clock.Now()}
			if err := db.Tell(t.Context(), m, ""); err != nil {
				t.Fatal(err)
			}
			r, f := db.Claimed(t, run, "worker")
			count := verdict(&a, approvals.Pending, fmt.Sprint("U", round), db.Clock.Now())
			var both sync.WaitGroup
			var decided, parked error
			both.Go(func() { decided = other.Record(t.Context(), count) })
			both.Go(func() {
				_, parked = db.Commit(t.Context(), f, agent.Change{Run: &r, Park: true, Audit: []audit.Entry{{Kind: "parked"}}})
			})
			both.Wait()
			if decided != nil || (parked != nil && !errors.Is(parked, agent.ErrMoved)) {
				t.Fatalf("decided: %v, parked: %v", decided, parked)
			}
			a.Version++
			due, err := db.Due(t.Context(), db.Clock.Now(), 1)
			if err != nil || (parked == nil) != (len(due) == 1) {
				t.Fatalf("parked: %v, due: %v, %v", parked, due, err)
			}
			if parked == nil {
				r, f = db.Claimed(t, run, "worker")
			}
			f.Wake = r.Wake
			if parked != nil {
				f.Wake++
			}
			if _, err := db.Commit(t.Context(), f, agent.Change{Run: &r, Park: true}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestALateDecisionLoses(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		_, a := db.Awaiting(t, "1")
		if due, err := db.Overdue(t.Context(), a.ExpiresAt.Add(-time.Microsecond), 10); err != nil || len(due) != 0 {
			t.Errorf("overdue too early: %v, %v", due, err)
		}
		now := db.Clock.Step(time.Hour) // exactly the end
		if err := db.Record(t.Context(), verdict(&a, approvals.Approved, "U2", now)); !errors.Is(err, agent.ErrSettled) {
			t.Errorf("a click after the end: %v", err)
		}
		late, err := db.Overdue(t.Context(), now, 10)
		if err != nil || len(late) != 1 || late[0].Approval.ID != a.ID {
			t.Fatalf("overdue: %+v, %v", late, err)
		}
		expire := verdict(&a, approvals.Expired, "", now)
		expire.LiveAt, expire.Decision.Verdict, expire.Decision.Via = time.Time{}, approvals.Expire, "scheduler"
		expire.ReadyAt = now.Add(time.Second) // woken later than others
		if err := db.Record(t.Context(), expire); err != nil {
			t.Fatal(err)
		}
		if rung := db.Bell.Take(); len(rung) != 0 {
			t.Errorf("rung before its time: %v", rung)
		}
		if due, err := db.Due(t.Context(), now, 10); err != nil || len(due) != 0 {
			t.Errorf("due: %v, %v", due, err)
		}
		if due, err := db.Due(t.Context(), now.Add(time.Second), 10); err != nil || len(due) != 1 {
			t.Errorf("not due: %v, %v", due, err)
		}
	})
}

func TestAnEditMakesARevisionAndVoidsDecisions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		_, a := db.Awaiting(t, "1")
		now := db.Clock.Now()
		count := verdict(&a, approvals.Pending, "U2", now)
		count.Wake = false
		if err := db.Record(t.Context(), count); err != nil {
			t.Fatal(err)
		}
		edit := verdict(&a, approvals.Pending, "U3", now)
		edit.Version, edit.Wake, edit.Void, edit.ExpiresAt = 2, false, true, now.Add(2*time.Hour)
		edit.Decision.Verdict, edit.Decision.Revision = approvals.Edit, 2
		second := a.Revisions[0]
		second.N, second.Args, second.Digest, second.By, second.Reason = 2, json.RawMessage(`{"id":"doc_43"}`), "digest 2", edit.Decision.By, "wrong one"
		edit.Revision = &second
		if err := db.Record(t.Context(), edit); err != nil {
			t.Fatal(err)
		}
		want := a
		want.Revision, want.Version, want.ExpiresAt = 2, 3, edit.ExpiresAt
		want.Revisions = append(want.Revisions, second)
		first := *count.Decision
		first.Void = true
		want.Decisions = []approvals.Decision{first, *edit.Decision}
		got, err := db.Case(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Approval, instants()); diff != "" {
			t.Error(diff)
		}
		if got.Step.N != 1 || got.Run.ID != a.Run || got.Run.Wake != 1 {
			t.Errorf("step %d of run %s, wake %d", got.Step.N, got.Run.ID, got.Run.Wake)
		}
	})
}

func TestAVerdictMovesTheStepInTheSameCommit(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run, a := db.Awaiting(t, "1")
		before, err := db.Step(t.Context(), run, 1)
		if err != nil {
			t.Fatal(err)
		}
		c := verdict(&a, approvals.Rejected, "U2", db.Clock.Now())
		moved := before.Step
		moved.State, moved.Observation = agent.StepRefused, "Refused: no."
		c.Steps = []agent.StepChange{agent.Moved(&before.Step, moved)}
		c.Steps[0].From = agent.StepAsking
		if err := db.Record(t.Context(), c); !errors.Is(err, agent.ErrSettled) {
			t.Fatalf("a step in another state: %v", err)
		}
		if got, err := db.Case(t.Context(), a.ID); err != nil || got.Approval.State != approvals.Pending || got.Run.Wake != 1 {
			t.Fatalf("half of the verdict was written: %+v, %v", got, err)
		}
		c.Steps[0].From = agent.StepAwaiting
		if err := db.Record(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		got, err := db.Case(t.Context(), a.ID)
		if err != nil || got.Approval.State != approvals.Rejected || got.Step.Observation != "Refused: no." {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestAStepHasOneOpenApproval(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run, a := db.Awaiting(t, "1")
		now := db.Clock.Now()
		again := storetest.Approval(run, 1, now)
		again.Again, again.Why = a.ID, "the preview changed"
		again.Decisions = []approvals.Decision{{ID: "d0", Approval: again.ID, Revision: 1, Verdict: approvals.Approve, Via: "slack", At: now}}
		open := decisions.Change{Run: run, At: now, Open: []approvals.Approval{again}}
		if err := db.Record(t.Context(), open); !errors.Is(err, agent.ErrSettled) {
			t.Errorf("a second open approval: %v", err)
		}
		if err := db.Record(t.Context(), verdict(&a, approvals.Approved, "U2", now)); err != nil {
			t.Fatal(err)
		}
		r, f := db.Claimed(t, run, "worker")
		lapse := agent.ApprovalChange{ID: a.ID, From: approvals.Approved, To: approvals.Lapsed, Version: 1, At: now}
		change := agent.Change{Run: &r, Approvals: []agent.ApprovalChange{lapse}, Open: []approvals.Approval{again}}
		if _, err := db.Commit(t.Context(), f, change); !errors.Is(err, agent.ErrSettled) {
			t.Errorf("an older version: %v", err)
		}
		change.Approvals[0].Version = 2
		if _, err := db.Commit(t.Context(), f, change); err != nil {
			t.Fatal(err)
		}
		w, err := db.Load(t.Context(), run)
		if err != nil || len(w.Approvals) != 2 || w.Approvals[a.ID].State != approvals.Lapsed {
			t.Fatalf("approvals: %+v, %v", w.Approvals, err)
		}
		if diff := cmp.Diff(&again, w.Approvals[again.ID], instants()); diff != "" {
			t.Error(diff)
		}
		if err := db.Record(t.Context(), verdict(&again, approvals.Approved, "U3", now)); err != nil {
			t.Errorf("a decision after one that was carried over: %v", err)
		}
	})
}

func TestCaseAndStepOfNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		if _, err := db.Case(t.Context(), "anone"); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("case: %v", err)
		}
		if _, err := db.Step(t.Context(), run, 7); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("step: %v", err)
		}
	})
}

func TestOpenings(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		_, a := db.Awaiting(t, "1")
		who := policy.Actor{Team: "T1", User: "U2"}
		for range 2 {
			if err := db.SaveOpening(t.Context(), a.ID, 1, who, db.Clock.Now()); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			revision int
			who      policy.Actor
			want     bool
		}{{1, who, true}, {2, who, false}, {1, policy.Actor{Team: "T2", User: "U2"}, false}} {
			if got, err := db.Opened(t.Context(), a.ID, tc.revision, tc.who); err != nil || got != tc.want {
				t.Errorf("revision %d by %+v: %v, %v", tc.revision, tc.who, got, err)
			}
		}
	})
}

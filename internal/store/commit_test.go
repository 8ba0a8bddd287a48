package store_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/store/storetest"
	"countersign/tools"
)

// fullRun fills every field that a commit writes.
func fullRun(r agent.Run, now time.Time) agent.Run {
	r.State, r.Halt, r.Closing, r.Answer = agent.WaitingInput, agent.HaltInput, agent.HaltTokens, "so far"
	r.System = "You are …"
	r.Limits.MaxTokens, r.Turns, r.NextStep = 500, 1, 2
	r.Spent = agent.Spent{Steps: 1, Calls: 2, Prompt: 30, Completion: 4, Cached: 5, Active: time.Second, Cost: 6}
	r.Counters = agent.Counters{Heals: 1, Warned: true, Denials: 2}
	r.Plan = []agent.PlanItem{{Title: "查询", Status: "complete"}}
	r.InputBy, r.UpdatedAt = now.Add(time.Hour), now
	return r
}

func TestCommitAndLoad(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		claimed, f := db.Claimed(t, run, "worker")
		now := db.Clock.Step(time.Millisecond)
		f.Now, f.Until = now, now.Add(20*time.Second)
		r := fullRun(claimed, now)
		turn := agent.Turn{
			Run: run, N: 1, Notes: []agent.Note{{Kind: agent.NoteSteer, From: storetest.Asker(), Text: "please"}}, Text: "I delete it.",
			Reasoning: "…", Extra: json.RawMessage(`{"a":1}`), Usage: llm.Usage{Prompt: 30, Completion: 4}, At: now,
		}
		awaiting, asking := storetest.Step(run, 1, now), storetest.Step(run, 2, now)
		asking.State, asking.Question, asking.Sources = agent.StepAsking, "Which one?", []string{"table orders"}
		a := storetest.Approval(run, 1, now)
		awaiting.Approval = a.ID
		c := agent.Change{
			Run: &r, System: r.System, Turn: &turn, NewSteps: []agent.Step{awaiting, asking}, Open: []approvals.Approval{a},
			Audit: []audit.Entry{{Kind: "approval.opened", Run: run}},
		}
		if wake, err := db.Commit(t.Context(), f, c); err != nil || wake != 1 {
			t.Fatalf("commit: wake %d, %v", wake, err)
		}
		r.Lease.Until = f.Until
		want := &agent.Work{
			Run: r, Turns: []agent.Turn{turn}, Steps: []agent.Step{awaiting, asking},
			Approvals: map[string]*approvals.Approval{a.ID: &a},
		}
		got, err := db.Load(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, instants()); diff != "" {
			t.Error(diff)
		}
	})
}

// Row B53: who lost the lease writes nothing.
func TestCommitIsFenced(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		_, late := db.Claimed(t, run, "one")
		db.Clock.Step(10 * time.Second)
		_, f := db.Claimed(t, run, "two")
		stale := f
		stale.Epoch--
		moved := f
		moved.Wake++
		missing := f
		missing.Run = "rnone"
		for name, tc := range map[string]struct {
			fence agent.Fence
			want  error
		}{
			"the worker that lost its lease":   {late, agent.ErrFenced},
			"an earlier lease of the owner":    {stale, agent.ErrFenced},
			"a run that was given work":        {moved, agent.ErrMoved},
			"a run that does not exist":        {missing, agent.ErrNotFound},
			"the worker that has it, any wake": {agent.Fence{Run: run, Owner: "two", Epoch: f.Epoch, Wake: -1, Now: f.Now}, nil},
		} {
			_, err := db.Commit(t.Context(), tc.fence, agent.Change{
				NewSteps: []agent.Step{storetest.Step(run, 1, f.Now)}, Audit: []audit.Entry{{Kind: "step.proposed"}},
			})
			if !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
				t.Errorf("%s: %v, want %v", name, err, tc.want)
			}
		}
		if w, err := db.Load(t.Context(), run); err != nil || len(w.Steps) != 1 {
			t.Errorf("%d steps, %v", len(w.Steps), err)
		}
		if seq, _, err := db.AuditHead(t.Context()); err != nil || seq != 2 {
			t.Errorf("audit has %d entries, %v", seq, err)
		}
	})
}

func TestParkGivesTheRunBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		r, f := db.Claimed(t, run, "worker")
		db.Bell.Take()
		loose := f
		loose.Wake = -1
		if _, err := db.Commit(t.Context(), loose, agent.Change{Run: &r, Park: true}); err == nil {
			t.Fatal("parked without the wake that was loaded")
		}
		r.State = agent.WaitingApproval
		if _, err := db.Commit(t.Context(), f, agent.Change{Run: &r, Park: true}); err != nil {
			t.Fatal(err)
		}
		w, err := db.Load(t.Context(), run)
		if err != nil || w.Run.Lease.Owner != "" || w.Run.Seen != 1 || w.Run.Wake != 1 {
			t.Errorf("parked: %+v, %v", w.Run, err)
		}
		if due, err := db.Due(t.Context(), db.Clock.Now().Add(time.Hour), 10); err != nil || len(due) != 0 {
			t.Errorf("due: %v, %v", due, err)
		}
		if rung := db.Bell.Take(); len(rung) != 0 {
			t.Errorf("rung: %v", rung)
		}
		if _, err := db.Commit(t.Context(), f, agent.Change{Run: &r}); !errors.Is(err, agent.ErrFenced) {
			t.Errorf("commit after parking: %v", err)
		}
	})
}

func TestYieldLeavesTheRunDue(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"at once": 0, "later": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *storetest.DB) {
				run := db.Start(t, "1")
				r, f := db.Claimed(t, run, "worker")
				db.Bell.Take()
				r.State, r.ReadyAt = agent.Planning, f.Now.Add(pause)
				if _, err := db.Commit(t.Context(), f, agent.Change{Run: &r, Yield: true}); err != nil {
					t.Fatal(err)
				}
				if rung := db.Bell.Take(); (len(rung) == 1) != (pause == 0) {
					t.Errorf("rung: %v", rung)
				}
				if pause > 0 {
					if due, err := db.Due(t.Context(), f.Now.Add(pause-time.Microsecond), 10); err != nil || len(due) != 0 {
						t.Errorf("due too early: %v, %v", due, err)
					}
				}
				if due, err := db.Due(t.Context(), f.Now.Add(pause), 10); err != nil || !cmp.Equal(due, []string{run}) {
					t.Errorf("due: %v, %v", due, err)
				}
				// What a person says does not wait for the pause.
				m := agent.Message{ID: "m1", Run: run, Kind: agent.FollowUp, From: storetest.Asker(), At: f.Now}
				if err := db.Tell(t.Context(), m, "2"); err != nil {
					t.Fatal(err)
				}
				if due, err := db.Due(t.Context(), f.Now, 10); err != nil || len(due) != 1 {
					t.Errorf("due after a message: %v, %v", due, err)
				}
			})
		})
	}
}

func TestStepsMoveByCompareAndSet(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		_, f := db.Claimed(t, run, "worker")
		s := storetest.Step(run, 1, f.Now)
		s.State = agent.StepAllowed
		if _, err := db.Commit(t.Context(), f, agent.Change{NewSteps: []agent.Step{s}}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Commit(t.Context(), f, agent.Change{NewSteps: []agent.Step{s}}); !errors.Is(err, agent.ErrSettled) {
			t.Errorf("the same number twice: %v", err)
		}
		done := s
		done.State, done.Executed, done.Epoch, done.Attempts, done.StartedAt = agent.StepExecuting, s.Proposed, f.Epoch, 1, f.Now
		done.Thought, done.Raw, done.Tool, done.Risk = "changed", "changed", "changed", tools.Low // of the proposal: not written
		move := agent.Change{Steps: []agent.StepChange{agent.Moved(&s, done)}}
		if _, err := db.Commit(t.Context(), f, move); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Commit(t.Context(), f, move); !errors.Is(err, agent.ErrSettled) {
			t.Errorf("the same move twice: %v", err)
		}
		want := s
		want.State, want.Executed, want.Epoch, want.Attempts, want.StartedAt = done.State, done.Executed, done.Epoch, 1, f.Now
		got, err := db.Step(t.Context(), run, 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Step, instants()); diff != "" {
			t.Error(diff)
		}
	})
}

// The database itself refuses to change a proposal.
func TestProposalsNeverChange(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		_, f := db.Claimed(t, run, "worker")
		if _, err := db.Commit(t.Context(), f, agent.Change{NewSteps: []agent.Step{storetest.Step(run, 1, f.Now)}}); err != nil {
			t.Fatal(err)
		}
		for _, column := range []string{"thought", "raw", "proposed", "tool", "risk", "fingerprint"} {
			if _, err := db.Writer().ExecContext(t.Context(), "UPDATE steps SET "+column+" = 'other'"); err == nil {
				t.Errorf("%s was changed", column)
			}
		}
	})
}

func TestACommitIsAllOrNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		r, f := db.Claimed(t, run, "worker")
		before, err := db.Load(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		db.Bell.Take()
		db.Wished.Take()
		r.State = agent.Executing
		_, err = db.Commit(t.Context(), f, agent.Change{
			Run: &r, Turn: &agent.Turn{Run: run, N: 1}, NewSteps: []agent.Step{storetest.Step(run, 1, f.Now)},
			Open: []approvals.Approval{storetest.Approval(run, 1, f.Now)}, Wishes: []agent.Wish{{Subject: "run/x/progress"}},
			Consumed: []agent.Consumed{{ID: "mnone", Turn: 1}}, Audit: []audit.Entry{{Kind: "step.proposed"}},
		})
		if !errors.Is(err, agent.ErrSettled) {
			t.Fatalf("commit: %v", err)
		}
		after, err := db.Load(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Error(diff)
		}
		if len(db.Bell.Take()) != 0 || db.Wished.Take() != 0 {
			t.Error("told of a commit that was none")
		}
		if err := db.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestInboxIsConsumedOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		m := agent.Message{ID: "m1", Run: run, Kind: agent.Stop, From: policy.Actor{Team: "T1", User: "U9"}, At: db.Clock.Now()}
		if err := db.Tell(t.Context(), m, ""); err != nil {
			t.Fatal(err)
		}
		_, f := db.Claimed(t, run, "worker")
		consume := agent.Change{Consumed: []agent.Consumed{{ID: "m1"}}} // acted upon before the first turn
		if _, err := db.Commit(t.Context(), f, consume); err != nil {
			t.Fatal(err)
		}
		if w, err := db.Load(t.Context(), run); err != nil || len(w.Inbox) != 0 {
			t.Errorf("inbox: %v, %v", w.Inbox, err)
		}
		if _, err := db.Commit(t.Context(), f, consume); !errors.Is(err, agent.ErrSettled) {
			t.Errorf("consumed twice: %v", err)
		}
	})
}

// A message that lands while the worker is about to park is not lost: the park
// fails, and the worker reads again.
func TestNoWakeUpIsLostWhileParking(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		r, f := db.Claimed(t, run, "worker")
		m := agent.Message{ID: "m1", Run: run, Kind: agent.FollowUp, From: storetest.Asker(), At: f.Now}
		if err := db.Tell(t.Context(), m, "2"); err != nil {
			t.Fatal(err)
		}
		r.State = agent.WaitingInput
		if _, err := db.Commit(t.Context(), f, agent.Change{Run: &r, Park: true}); !errors.Is(err, agent.ErrMoved) {
			t.Fatalf("park: %v", err)
		}
		f.Wake = -1
		wake, err := db.Commit(t.Context(), f, agent.Change{Run: &r})
		if err != nil || wake != 2 {
			t.Fatalf("commit that does not mind: wake %d, %v", wake, err)
		}
		f.Wake = wake
		if _, err := db.Commit(t.Context(), f, agent.Change{Run: &r, Park: true}); err != nil {
			t.Errorf("park after reading again: %v", err)
		}
	})
}

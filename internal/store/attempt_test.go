package store_test

import (
	"errors"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/internal/store/storetest"
)

// What a slow probe or a person says is about the attempt that was read. A step that
// was called again meanwhile, or has a further card, looks the same by its state alone.
//
// Row B7.
func TestWhatIsSaidOfOneAttemptSettlesNoOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		for name, meanwhile := range map[string]func(*agent.Step){
			"called again":   func(s *agent.Step) { s.Attempts = 2 },
			"a further card": func(s *agent.Step) { s.Approval = "a-further" },
		} {
			t.Run(name, func(t *testing.T) {
				run := db.Start(t, name)
				_, f := db.Claimed(t, run, "worker")
				first := storetest.Step(run, 1, f.Now)
				first.State, first.Attempts, first.Approval = agent.StepUncertain, 1, "a-first"
				now := first
				meanwhile(&now)
				happened := first
				happened.State = agent.StepSucceeded
				end := *mustRun(t, db, run)
				end.State = agent.Success // of one thread one run works at a time
				for _, c := range []agent.Change{
					{NewSteps: []agent.Step{first}},
					{Steps: []agent.StepChange{agent.Moved(&first, now)}},
					{Run: &end, Park: true},
				} {
					if _, err := db.Commit(t.Context(), f, c); err != nil {
						t.Fatal(err)
					}
				}
				said := decisions.Change{Run: run, At: f.Now, Steps: []agent.StepChange{agent.Moved(&first, happened)}}
				if err := db.Record(t.Context(), said); !errors.Is(err, agent.ErrSettled) {
					t.Errorf("what was said of the first attempt: %v", err)
				}
				said.Steps = []agent.StepChange{agent.Moved(&now, happened)}
				if err := db.Record(t.Context(), said); err != nil {
					t.Errorf("what was said of this attempt: %v", err)
				}
			})
		}
	})
}

// A call of unknown outcome may be settled after its run has ended, but not run again:
// nobody would use that approval.
func TestNothingIsOpenedInARunThatHasEnded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "ended")
		_, f := db.Claimed(t, run, "worker")
		step := storetest.Step(run, 1, f.Now)
		step.State, step.Attempts = agent.StepUncertain, 1
		end := *mustRun(t, db, run)
		end.State = agent.Failed
		for _, c := range []agent.Change{{NewSteps: []agent.Step{step}}, {Run: &end, Park: true}} {
			if _, err := db.Commit(t.Context(), f, c); err != nil {
				t.Fatal(err)
			}
		}
		again := step
		again.Approval = "a-further"
		further := storetest.Approval(run, 1, f.Now)
		further.ID = "a-further"
		opened := decisions.Change{Run: run, At: f.Now, Wake: true, Steps: []agent.StepChange{agent.Moved(&step, again)}, Open: []approvals.Approval{further}}
		if err := db.Record(t.Context(), opened); !errors.Is(err, agent.ErrSettled) {
			t.Errorf("opened in a run that has ended: %v", err)
		}
		happened := step
		happened.State = agent.StepSucceeded
		if err := db.Record(t.Context(), decisions.Change{Run: run, At: f.Now, Steps: []agent.StepChange{agent.Moved(&step, happened)}}); err != nil {
			t.Errorf("said to have happened: %v", err)
		}
	})
}

func mustRun(t *testing.T, db *storetest.DB, id string) *agent.Run {
	t.Helper()
	w, err := db.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return &w.Run
}

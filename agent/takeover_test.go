package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// Row B8: a call that a dead process left is made once more only while the service
// still knows its key, at the same place, and once.
func TestALeftCallIsMadeOnceMoreWithinItsWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*stage)
		runs   int
	}{
		{"within", func(s *stage) { s.db.Clock.Step(29 * time.Second) }, 2},
		{"after", func(s *stage) { s.db.Clock.Step(31 * time.Second) }, 1},
		{"another tool under its name", func(s *stage) {
			s.tools["pay"].spec.Description = "pays elsewhere"
			s.rewire()
			s.db.Clock.Step(10 * time.Second)
		}, 1},
		{"stricter rules", func(s *stage) {
			s.quorum = 2
			s.rewire()
			s.db.Clock.Step(10 * time.Second)
		}, 1},
		{"no longer there", func(s *stage) {
			kept := s.tools["pay"]
			delete(s.tools, "pay")
			s.rewire()
			s.tools["pay"] = kept
			s.db.Clock.Step(10 * time.Second)
		}, 1},
		{"a second death", func(s *stage) {
			s.db.Clock.Step(10 * time.Second)
			if err := s.processThatDiesAt(s.T, 2).Advance(s.Context(), s.run); !errors.Is(err, errDied) {
				s.Fatalf("it did not die: %v", err)
			}
			s.db.Clock.Step(10 * time.Second)
		}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(s *stage) { s.tools["pay"].spec.Window = 30 * time.Second }, calls("pay", `{"what":"a"}`), says("ok"))
			s.start()
			s.decide(1, approvals.Approve)
			if err := s.processThatDiesAt(t, 2).Advance(t.Context(), s.run); !errors.Is(err, errDied) {
				t.Fatalf("it did not die: %v", err)
			}
			tt.change(s)
			s.advance().ran("pay", tt.runs)
			if tt.name == "within" {
				s.want(agent.Success, agent.HaltDone)
				return
			}
			s.want(agent.WaitingInput, agent.HaltUncertain)
		})
	}
}

// Row B41: an approval under weaker rules than those of today runs nothing: people
// are asked again, under the stricter ones.
func TestStricterRulesAskAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("wipe", `{"what":"a"}`), says("ok"))
	s.start()
	s.decide(1, approvals.Approve)
	s.quorum = 2
	s.rewire()
	s.advance().ran("wipe", 0)
	s.want(agent.WaitingApproval, agent.HaltApproval)
	if a := s.pending(1); a.Needs().Quorum != 2 || !strings.Contains(a.Why, "policy asks for more") {
		t.Errorf("asked again for %d people: %s", a.Needs().Quorum, a.Why)
	}
	s.decideAs("M1", 1, approvals.Approve)
	s.advance().ran("wipe", 0)
	s.decideAs("M2", 1, approvals.Approve)
	s.advance().ran("wipe", 1)
}

// altered is a database in which somebody changed what was countersigned.
type altered struct{ agent.Store }

func (d altered) Load(ctx context.Context, run string) (*agent.Work, error) {
	w, err := d.Store.Load(ctx, run)
	if err == nil {
		for _, a := range w.Approvals {
			a.Revisions[len(a.Revisions)-1].Args = []byte(`{"n":1,"what":"SOMETHING ELSE"}`)
		}
	}
	return w, err
}

// Row B41: what was changed in the database after it was countersigned is not what
// was countersigned.
func TestAnAlteredCallRunsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("wipe", `{"what":"a"}`), says("ok"))
	s.start()
	s.decide(1, approvals.Approve)
	c := s.agent.Config
	c.Store = altered{s.db.Store}
	changed, err := agent.New(c)
	s.ok(err)
	s.ok(changed.Advance(t.Context(), s.run))
	s.ran("wipe", 0)
	if got := s.step(1); got.State != agent.StepRefused || got.Code != "tampered" {
		t.Errorf("the step is %s (%s)", got.State, got.Code)
	}
}

// Row B7: a call is not made when so much of the lease went by since it was committed
// that another process may soon take it over.
func TestACallThatComesTooLateIsNotMade(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("wipe", `{"what":"a"}`), says("ok"))
	s.start()
	s.decide(1, approvals.Approve)
	c := s.agent.Config
	c.Lease = time.Nanosecond // every commit takes longer than half of it
	slow, err := agent.New(c)
	s.ok(err)
	s.ok(slow.Advance(t.Context(), s.run))
	s.ran("wipe", 0)
	if got := s.step(1); got.State != agent.StepFailed || got.Code != "late" {
		t.Errorf("the step is %s (%s)", got.State, got.Code)
	}
}

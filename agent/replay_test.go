package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/id"
	"countersign/tools"
)

// Rows B5, B28: every call is committed by itself, so that a run whose process died
// goes on from the call that it had reached and repeats none before it.
func TestADeathRepeatsNothingThatHasItsResult(t *testing.T) {
	t.Parallel()
	for commit := 1; commit <= 10; commit++ {
		t.Run(fmt.Sprint("death at commit ", commit), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, calls("look", `{"what":"0"}`), calls("note", `{"what":"1"}`, "note", `{"what":"2"}`, "note", `{"what":"3"}`), says("ok"))
			s.accept()
			err := s.processThatDiesAt(t, commit).Advance(t.Context(), s.run)
			if !errors.Is(err, errDied) {
				t.Fatalf("it did not die: %v", err)
			}
			s.rewire()
			for range 4 { // what the dead process was at is asked about; people say that it happened
				s.db.Clock.Step(time.Minute)
				s.advance()
				s.settleAll(decisions.Happened)
			}
			s.want(agent.Success, agent.HaltDone)
			seen := map[string]int{}
			for _, c := range s.tools["note"].calls {
				seen[c.Step]++
			}
			for step, n := range seen {
				if n != 1 {
					t.Errorf("step %s ran %d times", step, n)
				}
			}
			s.paired()
		})
	}
}

// Row B11: calls of one tool with equal arguments are calls of their own: each has its
// card, its decision and its one effect. Row B17: decisions add up in the database, so
// that one never undoes another and none asks for a further card.
func TestEqualCallsOfOneTurnAreApprovedOneByOne(t *testing.T) {
	t.Parallel()
	same := `{"what":"a"}`
	s := newStage(t, nil, calls("wipe", same, "wipe", same, "wipe", same), says("ok"))
	s.start()
	cards := map[string]bool{}
	for n := 1; n <= 3; n++ {
		cards[s.pending(n).ID] = true
	}
	if len(cards) != 3 {
		t.Fatalf("%d cards for three calls", len(cards))
	}
	for ran, n := range []int{2, 3, 1} {
		s.decide(n, approvals.Approve)
		s.advance().rewire()
		s.ran("wipe", ran+1)
	}
	for n := 1; n <= 3; n++ {
		if a := s.pending(n); !cards[a.ID] || a.State != approvals.Redeemed {
			t.Errorf("step %d ended with card %s, %s", n, a.ID, a.State)
		}
	}
	s.want(agent.Success, agent.HaltDone)
	s.paired()
}

// Row B14: what a call needs is looked up when it is made. A tool that came while the
// run waited passes the same gate.
func TestAToolThatCameDuringTheRunIsGated(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("wipe", `{"what":"a"}`), calls("late", `{"what":"b"}`, "late", `{"what":"c"}`), says("ok"))
	s.start()
	spec := s.tools["wipe"].spec
	spec.Name = "late"
	s.tools["late"] = &counter{spec: spec}
	s.rewire()
	s.decide(1, approvals.Approve)
	s.advance().want(agent.WaitingApproval, agent.HaltApproval)
	s.ran("late", 0)
	s.decide(2, approvals.Approve)
	s.decide(3, approvals.Reject)
	s.advance().ran("late", 1)
	s.want(agent.Success, agent.HaltDone)
	s.paired()
}

// Row B16: a button of an earlier card decides on nothing but that card.
func TestAnOldCardDecidesOnNothingNewer(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("wipe", `{"what":"a"}`), calls("wipe", `{"what":"b"}`), says("ok"))
	s.start()
	old := s.pending(1)
	s.decide(1, approvals.Reject, "not this one")
	s.advance()
	out, err := s.door.Decide(t.Context(), decisions.Attempt{
		ID: id.Call(), Approval: old.ID, Revision: 1, Digest: old.Current().Digest, Verdict: approvals.Approve, Who: policy.Actor{Team: "T1", User: "M2"}, Via: "slack",
	})
	if err != nil || out.Refused != "settled" {
		t.Errorf("the old card: %q, %v", out.Refused, err)
	}
	s.advance().ran("wipe", 0)
	if a := s.pending(2); a.State != approvals.Pending || len(a.Decisions) != 0 {
		t.Errorf("the newer card is %s with %d decisions", a.State, len(a.Decisions))
	}
}

// Row B20: a card is posted after its commit and decided by a row, however large the
// run: nothing is polled and no snapshot is written.
func TestALargeRunIsDecidedAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(s *stage) {
		s.tools["look"].do = func(tools.Call) (tools.Result, error) {
			return tools.Result{Text: strings.Repeat("x", 5<<20)}, nil
		}
	}, calls("look", `{"what":"a"}`), calls("wipe", `{"what":"b"}`), says("ok"))
	s.start()
	if refused := s.decide(2, approvals.Approve); refused != "" {
		t.Fatalf("refused: %s", refused)
	}
	s.advance().ran("wipe", 1)
	s.want(agent.Success, agent.HaltDone)
}

// blind is a database that does not give a run back.
type blind struct {
	agent.Store
	err error
}

func (b blind) Load(context.Context, string) (*agent.Work, error) { return nil, b.err }

// Row B25: a run that cannot be read is not begun anew: it is an error, and the run
// stays as it was.
func TestARunThatCannotBeReadIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{errors.New("the disk is gone"), agent.ErrNotFound} {
		s := newStage(t, nil, calls("wipe", `{"what":"a"}`), says("ok"))
		s.start()
		s.decide(1, approvals.Approve)
		c := s.agent.Config
		c.Store = blind{s.db.Store, failure}
		a, err := agent.New(c)
		s.ok(err)
		if err := a.Advance(t.Context(), s.run); !errors.Is(err, failure) {
			t.Errorf("advanced with %v", err)
		}
		if len(s.model.seen) != 1 || s.step(1).State != agent.StepAllowed {
			t.Errorf("%d requests, step %s", len(s.model.seen), s.step(1).State)
		}
		s.ran("wipe", 0)
	}
}

// Row B26: a decision lives in its row. A process with other limits, another owner and
// another model goes on from it and asks nobody again.
func TestADecisionOutlivesAChangeOfSettings(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("look", `{"what":"a"}`), calls("wipe", `{"what":"b"}`), says("ok"))
	s.start()
	card := s.pending(2).ID
	s.decide(2, approvals.Approve)
	s.limits = agent.Limits{MaxSteps: 3, MaxTokens: 900, MaxActive: time.Minute, SelfHeal: 1, Window: 1, InputTTL: time.Minute}
	s.chars = 200
	s.model = &script{turns: []func(llm.Request) (llm.Reply, error){nil, nil, says("another model")}}
	s.rewire()
	s.advance().ran("wipe", 1)
	s.ran("look", 1)
	if a := s.pending(2); a.ID != card || a.State != approvals.Redeemed || len(s.model.seen) != 1 {
		t.Errorf("card %s is now %s (%s), %d requests", card, a.ID, a.State, len(s.model.seen))
	}
	s.want(agent.Success, agent.HaltDone)
}

// Row B29: between its card and the decision a call has no result: the model is not
// asked, however often the run is rung.
func TestAPendingCallHasNoResult(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("wipe", `{"what":"a"}`), says("ok"))
	s.start()
	for range 3 {
		s.tell(agent.FollowUp, "M1", "go on!")
		s.db.Clock.Step(time.Minute)
		s.advance().rewire()
	}
	if got := s.step(1); len(s.model.seen) != 1 || got.Observation != "" || got.State != agent.StepAwaiting {
		t.Errorf("%d requests, step %s: %q", len(s.model.seen), got.State, got.Observation)
	}
	s.decide(1, approvals.Approve)
	s.advance().want(agent.Success, agent.HaltDone)
	s.paired()
}

// Row B71: that the model is busy after a tool ran costs the turn nothing: it is asked
// again when it said, and the tool is not called again.
func TestABusyModelRepeatsNoTool(t *testing.T) {
	t.Parallel()
	tries := 0
	s := newStage(t, nil, calls("note", `{"what":"a"}`), func(llm.Request) (llm.Reply, error) {
		if tries++; tries == 1 {
			return llm.Reply{}, &llm.Error{Kind: llm.Overloaded, Message: "slow down", RetryAfter: 20 * time.Second}
		}
		return says("ok")(llm.Request{})
	})
	s.start()
	for i := 1; i <= 4; i++ {
		s.db.Clock.Step(5 * time.Second)
		if got := s.advance().work().Run.State; (got == agent.Success) != (i == 4) || (tries == 2) != (i == 4) {
			t.Errorf("after %d seconds and %d tries the run is %s", 5*i, tries, got)
		}
	}
	s.ran("note", 1)
	s.want(agent.Success, agent.HaltDone)
}

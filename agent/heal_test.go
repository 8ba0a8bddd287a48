package agent_test

import (
	"fmt"
	"testing"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/tools"
)

// Failures are counted in a row: a success in between begins anew.
func TestASuccessBeginsTheCountOfFailuresAnew(t *testing.T) {
	t.Parallel()
	n := 0
	s := newStage(t, func(s *stage) {
		s.limits.SelfHeal = 1
		s.tools["look"].do = func(tools.Call) (tools.Result, error) {
			if n++; n%2 == 1 {
				return tools.Result{}, &tools.Failure{Code: "not_found", Message: "no such thing"}
			}
			return tools.Result{Text: fmt.Sprint(n)}, nil
		}
	})
	for i := range 8 {
		s.model.turns = append(s.model.turns, calls("look", fmt.Sprintf(`{"what":"%d"}`, i)))
	}
	s.model.turns = append(s.model.turns, says("ok"))
	s.start().ran("look", 8)
	s.want(agent.Success, agent.HaltDone)
}

// Row B64: a different result of the same call ends a loop: what repeats itself later
// is warned of once more before the run halts.
func TestADifferentResultEndsALoop(t *testing.T) {
	t.Parallel()
	same, n := `{"what":"a"}`, 0
	var turns []func(llm.Request) (llm.Reply, error)
	for _, args := range []string{same, same, same, `{"what":"b"}`, `{"what":"c"}`, same, same, same} {
		turns = append(turns, calls("look", args))
	}
	s := newStage(t, func(s *stage) {
		s.limits.Window = 1
		s.tools["look"].do = func(c tools.Call) (tools.Result, error) {
			n++
			return tools.Result{Text: fmt.Sprint(n > 2)}, nil
		}
	}, append(turns, says("ok"))...)
	s.start().ran("look", 6)
	s.want(agent.Success, agent.HaltDone)
	if a, b := s.step(3).Code, s.step(8).Code; a != "loop" || b != "loop" {
		t.Errorf("the third is %q, the eighth %q", a, b)
	}
}

package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
	"countersign/tools"
)

// costly is a turn that uses tokens and time before it calls look.
func costly(s *stage, n int, u llm.Usage, takes time.Duration) func(llm.Request) (llm.Reply, error) {
	return func(llm.Request) (llm.Reply, error) {
		s.db.Clock.Step(takes)
		return llm.Reply{Calls: []llm.Call{{ID: fmt.Sprint("call", n), Name: "look", Arguments: fmt.Sprintf(`{"what":"%d"}`, n)}}, Usage: u}, nil
	}
}

// Row B65, of the other limits: a limit is reached exactly when as much was used as it
// says, not one call earlier and not one later. Row B62: the last request has no tools
// and says how far it came.
func TestBudgetsAreExact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		limit func(*agent.Limits)
		price agent.Price
		usage llm.Usage
		takes time.Duration
		runs  int
		halt  agent.Halt
	}{
		{"tokens, too few for one more", func(l *agent.Limits) { l.MaxTokens = 1000 }, agent.Price{}, llm.Usage{Prompt: 200, Completion: 51}, 0, 3, agent.HaltTokens},
		{"tokens, just enough", func(l *agent.Limits) { l.MaxTokens = 1000 }, agent.Price{}, llm.Usage{Prompt: 200, Completion: 50}, 0, 4, agent.HaltTokens},
		{"time, just used up", func(l *agent.Limits) { l.MaxActive = time.Minute }, agent.Price{}, llm.Usage{Prompt: 1}, 20 * time.Second, 3, agent.HaltTime},
		{"time, nearly", func(l *agent.Limits) { l.MaxActive = time.Minute + 1 }, agent.Price{}, llm.Usage{Prompt: 1}, 20 * time.Second, 4, agent.HaltTime},
		{"cost, just used up", func(l *agent.Limits) { l.MaxCost = 30 }, agent.Price{Input: 1_000_000}, llm.Usage{Prompt: 10}, 0, 3, agent.HaltCost},
		{"cost, nearly", func(l *agent.Limits) { l.MaxCost = 31 }, agent.Price{Input: 1_000_000}, llm.Usage{Prompt: 10}, 0, 4, agent.HaltCost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(s *stage) { tt.limit(&s.limits); s.price = tt.price })
			for n := range 6 {
				s.model.turns = append(s.model.turns, costly(s, n, tt.usage, tt.takes))
			}
			s.model.turns[tt.runs] = says("This far I came.")
			s.start().ran("look", tt.runs)
			s.want(agent.WaitingInput, tt.halt)
			l, spent := s.work().Run.Limits, s.work().Run.Spent
			gone := tt.halt == agent.HaltCost || spent.Prompt+spent.Completion >= l.MaxTokens
			if tools := len(s.model.last().Tools); !gone && (tools != 0 || s.work().Run.Answer != "This far I came.") {
				t.Errorf("the last request had %d tools, the answer is %q", tools, s.work().Run.Answer)
			}
			if n := len(s.model.seen); gone && (n != tt.runs || !strings.Contains(s.work().Run.Answer, "is used up")) {
				t.Errorf("%d requests for what is gone, the answer is %q", n-tt.runs, s.work().Run.Answer)
			}
			s.paired()
		})
	}
}

// Rows B35, B64: the run's memory of its own trouble is in its row: a loop is seen
// across a pause and a restart, and so are failures in a row and refusals.
func TestTroubleIsRememberedAcrossAPause(t *testing.T) {
	t.Parallel()
	same, pause := `{"what":"a"}`, calls("wipe", `{"what":"b"}`)
	broken := func(tools.Call) (tools.Result, error) {
		return tools.Result{}, &tools.Failure{Code: "not_found", Message: "no such thing"}
	}
	for _, tt := range []struct {
		name  string
		do    func(tools.Call) (tools.Result, error)
		turns []func(llm.Request) (llm.Reply, error)
		runs  int
		halt  agent.Halt
	}{
		{"a loop", nil, []func(llm.Request) (llm.Reply, error){calls("look", same), calls("look", same), pause, calls("look", same), calls("look", same), says("stopped")}, 2, agent.HaltLoop},
		{"failures", broken, []func(llm.Request) (llm.Reply, error){calls("look", `{"what":"1"}`), calls("look", `{"what":"2"}`, "wipe", `{"what":"b"}`), calls("look", `{"what":"3"}`), says("stopped")}, 3, agent.HaltError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(s *stage) {
				s.limits.SelfHeal = 2
				s.tools["look"].do = tt.do
				s.tools["wipe"].do = tt.do
			}, tt.turns...)
			s.start().want(agent.WaitingApproval, agent.HaltApproval)
			s.rewire()
			s.decide(3, approvals.Approve)
			s.advance().ran("look", tt.runs)
			s.want(agent.WaitingInput, tt.halt)
			s.paired()
		})
	}
}

// Row B64: three useful calls that all say the same are no loop: what they are asked
// for counts as well as what comes of it.
func TestEqualResultsOfDifferentCallsAreNoLoop(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(s *stage) {
		s.tools["note"].do = func(tools.Call) (tools.Result, error) { return tools.Result{Text: "true"}, nil }
	}, calls("note", `{"what":"a"}`), calls("note", `{"what":"b"}`), calls("note", `{"what":"c"}`), calls("note", `{"what":"d"}`), says("ok"))
	s.start().ran("note", 4)
	s.want(agent.Success, agent.HaltDone)
}

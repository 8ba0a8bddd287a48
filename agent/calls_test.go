package agent_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
	"countersign/tools"
)

// Calls that come with one id, or with none, are calls of their own: each has its
// result, under an id that no other has.
func TestCallsWithoutAnIDOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "same"} {
		two := func(llm.Request) (llm.Reply, error) {
			return llm.Reply{Calls: []llm.Call{{ID: id, Name: "note", Arguments: `{"what":"a"}`}, {ID: id, Name: "wipe", Arguments: `{"what":"b"}`}}, Usage: llm.Usage{Prompt: 1}}, nil
		}
		s := newStage(t, nil, two, two, says("ok"))
		s.start()
		s.decide(2, approvals.Approve)
		s.advance()
		s.decide(4, approvals.Reject, "not twice")
		s.advance().want(agent.Success, agent.HaltDone)
		s.ran("note", 2)
		s.ran("wipe", 1)
		s.paired()
	}
}

// A name that is nearly a tool's runs nothing: the model is told which one it may
// have meant.
func TestNamesThatAreNearlyATools(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Wipe", "WIPE", "wipe()", "functions.wipe", "wipe_", "Ask_User", "", "wi\u200bpe", "wipe\x00", strings.Repeat("wipe", 5000)} {
		t.Run(fmt.Sprintf("%.20q", name), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, calls(name, `{"what":"a","question":"b"}`), says("ok"))
			s.start().want(agent.Success, agent.HaltDone)
			s.ran("wipe", 0)
			told := result(s.model.last(), 1)
			if s.step(1).Code != "unknown_tool" || !strings.Contains(told, "wipe") || !strings.Contains(told, "ask_user") || len(told) > 1500 {
				t.Errorf("step %s, told %d characters: %.300s", s.step(1).Code, len(told), told)
			}
			s.paired()
		})
	}
}

// A thought without end is kept in part: the record, the card and the thread need a
// reason, not a book.
func TestAThoughtWithoutEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("because ", 12_500)
	s := newStage(t, nil, calls("wipe", `{"what":"a","thought":"`+long+`"}`, "update_plan", `{"items":[{"title":"x","status":"complete"}],"thought":"`+long+`"}`), says("ok"))
	s.start()
	for n := 1; n <= 2; n++ {
		if got := s.step(n); utf8.RuneCountInString(got.Thought) > 1100 || !strings.HasPrefix(got.Thought, "because because") || len(got.Raw) < len(long) {
			t.Errorf("step %d has a thought of %d bytes, of a call of %d", n, len(got.Thought), len(got.Raw))
		}
	}
	s.decide(1, approvals.Approve)
	s.advance().want(agent.Success, agent.HaltDone)
	if got := s.tools["wipe"].calls[0].Args; strings.Contains(string(got), "because") {
		t.Errorf("the thought reached the tool: %.100s", got)
	}
}

// More calls in one turn than a run has steps left: as many run as there are steps,
// each of the others is told why it did not.
func TestMoreCallsThanSteps(t *testing.T) {
	t.Parallel()
	var pairs []string
	for i := range 40 {
		pairs = append(pairs, "note", fmt.Sprintf(`{"what":"%d"}`, i))
	}
	s := newStage(t, func(s *stage) { s.limits.MaxSteps = 3 }, calls(pairs...), says("This far I came."))
	s.start().want(agent.WaitingInput, agent.HaltMaxSteps)
	s.ran("note", 3)
	if got := s.step(4); got.Code != "max_steps" || got.State != agent.StepRefused {
		t.Errorf("the fourth is %s (%s)", got.State, got.Code)
	}
	s.paired()
}

// A run asks people for so many calls at a time and no more: the others are told to
// wait for their results.
func TestMoreCardsThanARunMayHave(t *testing.T) {
	t.Parallel()
	var pairs []string
	for i := range 6 {
		pairs = append(pairs, "wipe", fmt.Sprintf(`{"what":"%d"}`, i))
	}
	s := newStage(t, nil, calls(pairs...), says("ok"))
	s.start().want(agent.WaitingApproval, agent.HaltApproval)
	for n := 1; n <= 5; n++ {
		if got := s.step(n).State; got != agent.StepAwaiting {
			t.Errorf("step %d is %s", n, got)
		}
	}
	if got := s.step(6); got.Code != "too_many_open" || got.Approval != "" {
		t.Errorf("the sixth is %s (%s), with card %q", got.State, got.Code, got.Approval)
	}
}

// Reads that a tool says may run side by side do; others run one after the other.
func TestReadsRunSideBySide(t *testing.T) {
	t.Parallel()
	var met sync.WaitGroup
	met.Add(3)
	var alone, most atomic.Int32
	s := newStage(t, func(s *stage) {
		s.tools["look"].spec.Parallel = true
		s.tools["look"].do = func(tools.Call) (tools.Result, error) {
			met.Done()
			met.Wait() // nobody gets on before all are here
			return tools.Result{Text: "seen"}, nil
		}
		s.tools["poll"].do = func(tools.Call) (tools.Result, error) {
			most.Store(max(most.Load(), alone.Add(1)))
			runtime.Gosched()
			alone.Add(-1)
			return tools.Result{Text: "seen"}, nil
		}
	}, calls("look", `{"what":"a"}`, "poll", `{"what":"b"}`, "look", `{"what":"c"}`, "poll", `{"what":"d"}`, "look", `{"what":"e"}`), says("ok"))
	s.start().want(agent.Success, agent.HaltDone)
	s.ran("look", 3)
	s.ran("poll", 2)
	if most.Load() != 1 {
		t.Errorf("%d at a time of a tool that did not say that this is safe", most.Load())
	}
	s.paired()
}

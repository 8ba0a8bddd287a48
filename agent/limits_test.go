package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
	"countersign/tools"
)

// The limit of steps is exact: n calls run, then one request without tools sums up,
// and the asker is asked whether to go on.
//
// Rows B62, B65.
func TestStepLimitIsExact(t *testing.T) {
	t.Parallel()
	for limit := 1; limit <= 5; limit++ {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			turns := []func(llm.Request) (llm.Reply, error){}
			for i := range limit {
				turns = append(turns, calls("look", fmt.Sprintf(`{"what":"%d"}`, i)))
			}
			s := newStage(t, func(s *stage) { s.limits.MaxSteps = limit }, append(turns, says("This far I came."))...)
			s.start()
			s.ran("look", limit)
			s.want(agent.WaitingInput, agent.HaltMaxSteps)
			if n := len(s.model.seen); n != limit+1 || len(s.model.last().Tools) != 0 {
				t.Errorf("%d requests, the last with %d tools", n, len(s.model.last().Tools))
			}
			if s.work().Run.Answer != "This far I came." {
				t.Errorf("answer %q", s.work().Run.Answer)
			}
		})
	}
}

// The asker may allow as much again; nobody else.
func TestFurtherAllowance(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(s *stage) { s.limits.MaxSteps = 1 }, calls("look", `{"what":"a"}`), says("stopped"), calls("look", `{"what":"b"}`), says("done"))
	s.start()
	s.tell(agent.Continue, "M1", "continue")
	s.advance().want(agent.WaitingInput, agent.HaltMaxSteps)
	s.tell(agent.Continue, "U1", "continue")
	s.advance().ran("look", 2)
	s.want(agent.WaitingInput, agent.HaltMaxSteps)
	s.db.Clock.Step(2 * time.Hour)
	s.advance().want(agent.Failed, agent.HaltMaxSteps)
}

// The same call with the same result is intercepted at the third time and halts at
// the fourth; other arguments, other results and polling tools are no loop.
//
// Row B64.
func TestLoops(t *testing.T) {
	t.Parallel()
	same, other := `{"what":"a"}`, `{"what":"b"}`
	n := 0
	changing := func(tools.Call) (tools.Result, error) { n++; return tools.Result{Text: fmt.Sprint(n)}, nil }
	tests := []struct {
		name string
		tool string
		args []string
		do   func(tools.Call) (tools.Result, error)
		runs int
		halt agent.Halt
	}{
		{"the same", "look", []string{same, same, same, same, same}, nil, 2, agent.HaltLoop},
		{"in turns", "look", []string{same, other, same, other, same, same}, nil, 4, agent.HaltLoop},
		{"other arguments", "look", []string{same, other, `{"what":"c"}`, `{"what":"d"}`}, nil, 4, agent.HaltDone},
		{"other results", "look", []string{same, same, same, same}, changing, 4, agent.HaltDone},
		{"polling", "poll", []string{same, same, same, same}, nil, 4, agent.HaltDone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var turns []func(llm.Request) (llm.Reply, error)
			for _, a := range tt.args {
				turns = append(turns, calls(tt.tool, a))
			}
			s := newStage(t, func(s *stage) { s.tools[tt.tool].do = tt.do }, append(turns, says("done"))...)
			s.start()
			s.ran(tt.tool, tt.runs)
			if got := s.work().Run.Halt; got != tt.halt {
				t.Errorf("halt %s, want %s", got, tt.halt)
			}
			if tt.halt == agent.HaltLoop && !strings.Contains(result(s.model.last(), tt.runs+1), "WARNING") {
				t.Errorf("no warning: %s", result(s.model.last(), tt.runs+1))
			}
			s.paired()
		})
	}
}

// Arguments that cannot be read never run, and the model is told which tool and what.
//
// Row B61.
func TestUnreadableArguments(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"a":`, `null`, `[]`, `"x"`, `{"what":1.5}`, strings.Repeat("x", 5000)} {
		s := newStage(t, nil, calls("note", raw), says("ok"))
		s.start()
		s.ran("note", 0)
		if told := result(s.model.last(), 1); !strings.Contains(told, "invalid_arguments") || len(told) > 1500 || !strings.Contains(told, "note") {
			t.Errorf("%.20s: told %d characters: %.200s", raw, len(told), told)
		}
		s.paired()
	}
}

// A tool that does not exist is answered with near names.
func TestUnknownTool(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("lok", `{"what":"a"}`), says("ok"))
	s.start()
	if told := result(s.model.last(), 1); !strings.Contains(told, "Did you mean look") {
		t.Errorf("told %q", told)
	}
}

// What a failed attempt used counts: the next one is capped at what is left.
//
// Row B67.
func TestFailedAttemptsAreOnTheLedger(t *testing.T) {
	t.Parallel()
	tries := 0
	s := newStage(t, func(s *stage) { s.limits.MaxTokens = 1000 }, func(llm.Request) (llm.Reply, error) {
		if tries++; tries == 1 {
			return llm.Reply{}, &llm.Error{Kind: llm.Overloaded, Message: "busy", Usage: llm.Usage{Prompt: 500, Completion: 100}, RetryAfter: 7 * time.Second}
		}
		return says("ok")(llm.Request{})
	})
	s.start()
	s.want(agent.Planning, agent.HaltNone)
	s.advance() // not due yet
	if len(s.model.seen) != 1 {
		t.Error("the model was called before it asked to be")
	}
	s.db.Clock.Step(8 * time.Second)
	s.advance().want(agent.Success, agent.HaltDone)
	if got := s.model.last().MaxTokens; got != 400 {
		t.Errorf("the second attempt is capped at %d, want 400", got)
	}
}

// A model that stays away ends the run with a sentence, not with silence; tools that
// ran are not run again.
func TestModelTroubles(t *testing.T) {
	t.Parallel()
	down := func(kind llm.Kind) func(llm.Request) (llm.Reply, error) {
		return func(llm.Request) (llm.Reply, error) {
			return llm.Reply{}, &llm.Error{Kind: kind, Message: "the key is wrong"}
		}
	}
	s := newStage(t, nil, calls("note", `{"what":"a"}`), down(llm.Config))
	s.start().want(agent.Failed, agent.HaltError)
	if a := s.work().Run.Answer; !strings.Contains(a, "the key is wrong") {
		t.Errorf("answer %q", a)
	}
	away := newStage(t, nil, calls("note", `{"what":"a"}`), down(llm.Overloaded))
	away.start()
	for range 10 {
		away.db.Clock.Step(time.Minute)
		away.advance()
	}
	away.want(agent.Failed, agent.HaltError)
	away.ran("note", 1)
}

// A long output is stored whole; the model sees its ends, its size and how to read
// on, and what it reads on is there.
//
// Row B70.
func TestLongOutputIsPaged(t *testing.T) {
	t.Parallel()
	long := "HEAD" + strings.Repeat("x", 2_499_996) + "MARKER" + strings.Repeat("y", 2_499_996) + "TAIL"
	s := newStage(t, func(s *stage) {
		s.tools["look"].do = func(tools.Call) (tools.Result, error) { return tools.Result{Text: long}, nil }
	}, calls("look", `{"what":"a"}`), calls("read_output", `{"ref":"step-1","offset":2499500}`), says("ok"))
	s.start()
	shown := result(s.model.last(), 1)
	if len(shown) > 1500 || strings.Contains(shown, "MARKER") || !strings.Contains(shown, "5000006") || !strings.Contains(shown, "step-1") {
		t.Errorf("shown %d characters: %.200s", len(shown), shown)
	}
	if !strings.Contains(shown, "HEADxxx") || !strings.Contains(shown, "yyyTAIL") {
		t.Errorf("both ends are not in %q", shown)
	}
	if page := result(s.model.last(), 2); !strings.Contains(page, "MARKER") {
		t.Errorf("page %.100s", page)
	}
	if s.step(1).Output != long {
		t.Error("the output is not stored whole")
	}
}

// small is a model that summarises.
type small struct {
	asked []llm.Request
	err   error
}

func (m *small) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	m.asked = append(m.asked, r)
	if m.err != nil {
		return llm.Reply{}, m.err
	}
	return llm.Reply{Text: "It is about MARKER.", Usage: llm.Usage{Prompt: 30, Completion: 4}}, nil
}

// Where a small model is named it summarises; what that costs is on the ledger.
//
// Rows B67, B70.
func TestLongOutputIsSummarised(t *testing.T) {
	t.Parallel()
	m := &small{}
	s := newStage(t, func(s *stage) {
		s.small = m
		s.tools["look"].do = func(tools.Call) (tools.Result, error) { return tools.Result{Text: strings.Repeat("z", 9000)}, nil }
	}, calls("look", `{"what":"a"}`), says("ok"))
	s.start()
	if told := result(s.model.last(), 1); !strings.Contains(told, "SUMMARY") || !strings.Contains(told, "It is about MARKER.") || !strings.Contains(told, "read_output") {
		t.Errorf("told %q", told)
	}
	if spent := s.work().Run.Spent; len(m.asked) != 1 || spent.Prompt != 50 || spent.Completion != 14 {
		t.Errorf("%d summaries, spent %+v", len(m.asked), spent)
	}
}

// A summary that fails costs what it cost, and the output is shown in part.
//
// Rows B67, B70.
func TestAFailedSummaryIsOnTheLedger(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(s *stage) {
		s.small = &small{err: &llm.Error{Kind: llm.Malformed, Message: "empty", Usage: llm.Usage{Prompt: 30, Completion: 4}}}
		s.tools["look"].do = func(tools.Call) (tools.Result, error) { return tools.Result{Text: strings.Repeat("z", 9000)}, nil }
	}, calls("look", `{"what":"a"}`), says("ok"))
	s.start().want(agent.Success, agent.HaltDone)
	if spent := s.work().Run.Spent; spent.Prompt != 50 || spent.Completion != 14 || spent.Calls != 3 {
		t.Errorf("on the ledger is %+v", spent)
	}
	if told := result(s.model.last(), 1); strings.Contains(told, "SUMMARY") || !strings.Contains(told, "read_output") {
		t.Errorf("told %q", told)
	}
}

// A request that does not fit the window is shortened once, calls stay with their
// results, the goal stays, and the stored scratchpad is untouched.
//
// Rows B67, B68.
func TestOverflowIsPruned(t *testing.T) {
	t.Parallel()
	tooLong := true
	s := newStage(t, func(s *stage) {
		s.tools["look"].do = func(c tools.Call) (tools.Result, error) {
			return tools.Result{Text: strings.Repeat("a", 900) + string(c.Args)}, nil
		}
	}, calls("look", `{"what":"1"}`), calls("look", `{"what":"2"}`), calls("look", `{"what":"3"}`), func(llm.Request) (llm.Reply, error) {
		if tooLong {
			tooLong = false
			return llm.Reply{}, &llm.Error{Kind: llm.Overflow, Message: "too long", Usage: llm.Usage{Prompt: 70, Completion: 2}}
		}
		return says("ok")(llm.Request{})
	})
	s.start().want(agent.Success, agent.HaltDone)
	s.paired()
	last := s.model.last()
	if first, third := result(last, 1), result(last, 3); len(first) > 400 || len(third) < 900 || !strings.Contains(first, "step-1") {
		t.Errorf("first %d, third %d characters", len(first), len(third))
	}
	if spent := s.work().Run.Spent; spent.Prompt != 110 || spent.Completion != 22 || spent.Calls != 5 {
		t.Errorf("on the ledger is %+v", spent)
	}
	if last.Messages[1].Text != "do it" || len(s.step(1).Observation) < 900 {
		t.Error("the goal or the stored result was shortened")
	}
}

// The failure history goes with the next request, and too many failures in a row
// hand the run over.
func TestReflection(t *testing.T) {
	t.Parallel()
	bad := func(i int) func(llm.Request) (llm.Reply, error) {
		return calls("look", fmt.Sprintf(`{"what":"%d"}`, i))
	}
	s := newStage(t, func(s *stage) {
		s.limits.SelfHeal = 2
		s.tools["look"].do = func(tools.Call) (tools.Result, error) {
			return tools.Result{}, &tools.Failure{Code: "not_found", Message: "no such thing"}
		}
	}, bad(1), bad(2), bad(3), says("I give up."))
	s.start().want(agent.WaitingInput, agent.HaltError)
	s.ran("look", 3)
	var told string
	for _, m := range s.model.seen[2].Messages {
		told += m.Text + "\n"
	}
	if !strings.Contains(told, "Before you go on, reflect") || !strings.Contains(told, "Attempt 2 of 2") || !strings.Contains(told, "no such thing") {
		t.Errorf("told %s", told)
	}
}

// Before the final answer of a run with effects the model is asked once about what its plan leaves open.
func TestPlanIsCheckedOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil,
		calls("update_plan", `{"items":[{"title":"first","status":"complete"},{"title":"second","status":"pending"}]}`, "note", `{"what":"a"}`),
		says("All done."), says("All but the second, which is not needed."))
	s.start().want(agent.Success, agent.HaltDone)
	if n := len(s.model.seen); n != 3 {
		t.Fatalf("%d requests", n)
	}
	last := s.model.last().Messages
	if text := last[len(last)-1].Text; !strings.Contains(text, "second") || strings.Contains(text, "first") {
		t.Errorf("checked with %q", text)
	}
}

// A question waits for the asker's answer, which is the call's result.
func TestQuestionIsAnsweredByTheAskerAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("ask_user", `{"question":"which?"}`), says("ok"))
	s.start().want(agent.WaitingInput, agent.HaltInput)
	s.tell(agent.FollowUp, "M1", "mine")
	s.advance().want(agent.WaitingInput, agent.HaltInput)
	s.tell(agent.FollowUp, "U1", "the blue one")
	s.advance().want(agent.Success, agent.HaltDone)
	if got := s.step(1); got.State != agent.StepAnswered || got.Observation != "the blue one" {
		t.Errorf("step %s: %q", got.State, got.Observation)
	}
	s.paired()
}

// A stop lets a call that runs end, records it and cancels the rest.
func TestStopCancelsWhatIsOpen(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("wipe", `{"what":"a"}`), says("not reached"))
	s.start()
	s.decide(1, approvals.Approve)
	s.tell(agent.Stop, "U1", "stop")
	s.advance().want(agent.Cancelled, agent.HaltCancelled)
	s.ran("wipe", 0)
	if a := s.pending(1); a.State != approvals.Cancelled || s.step(1).State != agent.StepCancelled {
		t.Errorf("approval %s, step %s", a.State, s.step(1).State)
	}
}

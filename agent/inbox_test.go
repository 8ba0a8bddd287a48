package agent_test

import (
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
)

// A press of the button that allows more is consent to the limit at hand. A second
// press, or one that came while nothing was at a limit, allows nothing later.
func TestPressedTwiceAllowsOnce(t *testing.T) {
	t.Parallel()
	look := func(what string) func(llm.Request) (llm.Reply, error) { return calls("look", `{"what":"`+what+`"}`) }
	for name, press := range map[string]func(*stage){
		"both before it goes on": func(s *stage) {
			s.tell(agent.Continue, "U1", "continue")
			s.tell(agent.Continue, "U1", "continue")
			s.advance()
		},
		"the second while it goes on": func(s *stage) {
			s.model.turns[2] = func(r llm.Request) (llm.Reply, error) {
				s.tell(agent.Continue, "U1", "continue")
				return look("b")(r)
			}
			s.tell(agent.Continue, "U1", "continue")
			s.advance()
		},
		"beside words": func(s *stage) {
			s.tell(agent.FollowUp, "U1", "go on")
			s.tell(agent.Continue, "U1", "continue")
			s.advance()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(s *stage) { s.limits.MaxSteps = 1 }, look("a"), says("one"), look("b"), says("two"), look("c"), says("three"))
			s.start().want(agent.WaitingInput, agent.HaltMaxSteps)
			press(s)
			s.advance().ran("look", 2)
			s.want(agent.WaitingInput, agent.HaltMaxSteps)
			s.tell(agent.Continue, "U1", "continue")
			s.advance().ran("look", 3)
			s.paired()
		})
	}
}

// Two questions of one turn get an answer each, in their order.
func TestTwoQuestionsOfOneTurn(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("ask_user", `{"question":"which?"}`, "ask_user", `{"question":"when?"}`), says("ok"))
	s.start().want(agent.WaitingInput, agent.HaltInput)
	s.tell(agent.FollowUp, "U1", "the blue one")
	s.advance().want(agent.WaitingInput, agent.HaltInput)
	if len(s.model.seen) != 1 {
		t.Error("the model was asked while a question had no answer")
	}
	s.tell(agent.FollowUp, "U1", "tomorrow")
	s.advance().want(agent.Success, agent.HaltDone)
	if a, b := result(s.model.last(), 1), result(s.model.last(), 2); a != "the blue one" || b != "tomorrow" {
		t.Errorf("answers %q and %q", a, b)
	}
	s.paired()
}

// A question, a plan, a read and calls that need a countersignature in one turn: each
// gets its one result, whatever comes first.
func TestAQuestionBesideCards(t *testing.T) {
	t.Parallel()
	turn := calls(
		"wipe", `{"what":"a"}`, "ask_user", `{"question":"which?"}`, "update_plan", `{"items":[{"title":"x","status":"complete"}]}`,
		"look", `{"what":"b"}`, "pay", `{"what":"c"}`,
	)
	play := map[string]func(*stage){
		"answer": func(s *stage) { s.tell(agent.FollowUp, "U1", "the blue one") },
		"wipe":   func(s *stage) { s.decide(1, approvals.Approve) },
		"pay":    func(s *stage) { s.decide(5, approvals.Reject, "no") },
	}
	for _, order := range [][]string{{"answer", "wipe", "pay"}, {"wipe", "answer", "pay"}, {"pay", "wipe", "answer"}} {
		t.Run(strings.Join(order, " "), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, turn, says("ok"))
			s.start().ran("look", 1)
			for i, act := range order {
				if len(s.model.seen) != 1 {
					t.Errorf("after %d of 3 the model was asked", i)
				}
				play[act](s)
				s.advance().rewire()
			}
			s.ran("wipe", 1)
			s.ran("pay", 0)
			s.want(agent.Success, agent.HaltDone)
			s.paired()
		})
	}
}

// A stop while a question and a card wait ends both; what is said or pressed later
// changes nothing.
func TestStopWhileAQuestionWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("ask_user", `{"question":"which?"}`, "wipe", `{"what":"a"}`), says("not reached"))
	s.start().want(agent.WaitingInput, agent.HaltInput)
	s.tell(agent.FollowUp, "U1", "the blue one")
	s.tell(agent.Stop, "U1", "stop")
	s.advance().want(agent.Cancelled, agent.HaltCancelled)
	for n := 1; n <= 2; n++ {
		if got := s.step(n).State; got != agent.StepCancelled {
			t.Errorf("step %d is %s", n, got)
		}
	}
	if refused := s.decide(2, approvals.Approve); refused != "settled" {
		t.Errorf("a press after the end: %q", refused)
	}
	s.db.Clock.Step(time.Minute)
	s.advance().ran("wipe", 0)
	if len(s.model.seen) != 1 {
		t.Error("the model was asked after the end")
	}
}

// A question that nobody answers ends the run with its card, at the time that was
// told, whatever else waits.
func TestAQuestionThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("ask_user", `{"question":"which?"}`, "wipe", `{"what":"a"}`), says("not reached"))
	s.start()
	s.db.Clock.Step(s.limits.InputTTL - time.Second)
	s.advance().want(agent.WaitingInput, agent.HaltInput)
	s.db.Clock.Step(time.Second)
	s.advance().want(agent.Failed, agent.HaltInput)
	if a := s.pending(2); a.State != approvals.Cancelled || s.work().Run.Answer == "" {
		t.Errorf("the card is %s, the answer %q", a.State, s.work().Run.Answer)
	}
	s.ran("wipe", 0)
}

// A question is answered by what the asker's words say by the time they are read: not by
// what they took back, and as they wrote it anew. What became of words that were read with
// them is not told again.
func TestAnswerAsItStands(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("ask_user", `{"question":"all of them?"}`), says("ok"))
	s.start().want(agent.WaitingInput, agent.HaltInput)
	s.tellAt("2000000000.000001", agent.FollowUp, "yes")
	s.tellAt("2000000000.000001", agent.TakenBack, "yes")
	s.advance().want(agent.WaitingInput, agent.HaltInput)
	s.tellAt("2000000000.000002", agent.FollowUp, "no")
	s.tellAt("2000000000.000002", agent.TakenBack, "only the old")
	s.tellAt("2000000000.000002", agent.Edited, "only the old") // its deletion came before it
	s.advance().want(agent.WaitingInput, agent.HaltInput)
	s.tellAt("2000000000.000003", agent.FollowUp, "no")
	s.tellAt("2000000000.000003", agent.Edited, "only the old")
	s.db.Clock.Step(time.Second)
	s.tellAt("2000000000.000003", agent.Edited, "only the blue")
	s.advance().want(agent.Success, agent.HaltDone)
	if got := s.work().Steps[0].Observation; got != "only the blue" {
		t.Errorf("the question was answered by %q", got)
	}
	if n := len(s.work().Inbox); n != 0 {
		t.Errorf("%d messages are still to be read", n)
	}
	last := s.model.seen[len(s.model.seen)-1]
	for _, m := range last.Messages {
		if strings.Contains(m.Text, "yes") || strings.Contains(m.Text, "the old") || strings.Contains(m.Text, "author") {
			t.Errorf("the model read %q", m.Text)
		}
	}
}

// Whoever allows more after the limit of money was taken out of the settings is not stopped
// at it again.
func TestMoreIsAllowedWhereTheLimitIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(s *stage) { s.limits.MaxCost, s.price = 10, agent.Price{Input: 1_000_000} }, calls("look", `{"what":"a"}`), calls("look", `{"what":"b"}`), says("ok"))
	s.start().want(agent.WaitingInput, agent.HaltCost)
	s.limits.MaxCost = 0
	s.rewire()
	s.tell(agent.Continue, "U1", "continue")
	s.advance().ran("look", 2)
	s.want(agent.Success, agent.HaltDone)
}

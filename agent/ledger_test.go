package agent_test

import (
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
)

// Row B67: every call of the model is made once and is on the ledger. What a worker has
// committed itself, it does not find settled by somebody else.
func TestTheAnswerAfterAnApprovalIsAskedForOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("wipe", `{"what":"a"}`), says("ok"))
	s.start()
	s.decide(1, approvals.Approve)
	s.advance().want(agent.Success, agent.HaltDone)
	if n, spent := len(s.model.seen), s.work().Run.Spent; n != 2 || spent.Calls != 2 || spent.Prompt != 20 {
		t.Errorf("%d requests, on the ledger %+v", n, spent)
	}
}

// Row B67: what a failed or an overtaken call used stays on the ledger, also when
// somebody says something at that moment.
func TestWhatWasUsedWhileSomebodySpokeIsOnTheLedger(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"a failed call": true, "an answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *stage
			tries := 0
			first := func(llm.Request) (llm.Reply, error) {
				if tries++; tries > 1 {
					return says("ok")(llm.Request{})
				}
				s.tell(agent.FollowUp, "U1", "and quickly")
				if fails {
					return llm.Reply{}, &llm.Error{Kind: llm.Overloaded, Message: "busy", Usage: llm.Usage{Prompt: 500, Completion: 100}}
				}
				return llm.Reply{Text: "ok", Usage: llm.Usage{Prompt: 500, Completion: 100}}, nil
			}
			s = newStage(t, nil, first, says("ok"))
			s.start()
			for range 3 {
				s.db.Clock.Step(time.Minute)
				s.advance()
			}
			s.want(agent.Success, agent.HaltDone)
			if spent := s.work().Run.Spent; spent.Calls != 2 || spent.Prompt != 510 || spent.Completion != 105 {
				t.Errorf("on the ledger is %+v", spent)
			}
		})
	}
}

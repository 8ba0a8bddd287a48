package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/agent/prompts"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/id"
	"countersign/internal/store/storetest"
	"countersign/tools"
)

// stage is an agent on a real database with a scripted model and tools that count.
type stage struct {
	*testing.T
	db     *storetest.DB
	model  *script
	limits agent.Limits
	chars  int
	quorum int
	price  agent.Price
	small  llm.Model
	window int
	gate   *agent.Gate
	agent  *agent.Agent
	door   *decisions.Door
	run    string
	tools  map[string]*counter
}

// counter is a tool that counts.
type counter struct {
	spec tools.Spec
	do   func(tools.Call) (tools.Result, error)
	show func() tools.Preview

	mu    sync.Mutex
	calls []tools.Call
}

func (c *counter) Spec() tools.Spec { return c.spec }

func (c *counter) Call(_ context.Context, call tools.Call) (tools.Result, error) {
	c.mu.Lock()
	c.calls = append(c.calls, call)
	c.mu.Unlock()
	if c.do != nil {
		return c.do(call)
	}
	return tools.Result{Text: "done " + string(call.Args), Effect: c.spec.Name}, nil
}

func (c *counter) Preview(context.Context, tools.Call) (tools.Preview, error) {
	if c.show != nil {
		return c.show(), nil
	}
	return tools.Preview{Summary: "one"}, nil
}

// script is a model that answers the n-th request after n assistant messages.
type script struct {
	turns []func(llm.Request) (llm.Reply, error)
	seen  []llm.Request
	count bool // it answers the n-th request that it gets, whatever that shows
}

func (s *script) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	s.seen = append(s.seen, r)
	n := 0
	for _, m := range r.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	if s.count {
		n = len(s.seen) - 1
	}
	if n >= len(s.turns) {
		return llm.Reply{Text: "The script is over.", Usage: llm.Usage{Prompt: 10, Completion: 5}}, nil
	}
	return s.turns[n](r)
}

func (s *script) last() llm.Request { return s.seen[len(s.seen)-1] }

// says and calls are turns of a script; calls alternates names and arguments.
func says(text string) func(llm.Request) (llm.Reply, error) {
	return func(llm.Request) (llm.Reply, error) {
		return llm.Reply{Text: text, Usage: llm.Usage{Prompt: 10, Completion: 5}}, nil
	}
}

func calls(pairs ...string) func(llm.Request) (llm.Reply, error) {
	return func(llm.Request) (llm.Reply, error) {
		r := llm.Reply{Usage: llm.Usage{Prompt: 10, Completion: 5}}
		for i := 0; i < len(pairs); i += 2 {
			r.Calls = append(r.Calls, llm.Call{ID: id.Call(), Name: pairs[i], Arguments: pairs[i+1]})
		}
		return r, nil
	}
}

// newStage makes a stage; change, if not nil, changes it before the agent is made.
func newStage(t *testing.T, change func(*stage), turns ...func(llm.Request) (llm.Reply, error)) *stage {
	t.Helper()
	s := &stage{
		T: t, db: storetest.SQLite(t), model: &script{turns: turns}, chars: 1000, quorum: 1, tools: map[string]*counter{},
		limits: agent.Limits{MaxSteps: 10, MaxTokens: 50000, MaxActive: time.Hour, SelfHeal: 3, Window: 3, InputTTL: time.Hour},
	}
	schema := json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"},"n":{"type":"integer","default":1}},"required":["what"]}`)
	for _, spec := range []tools.Spec{
		{Name: "look", Risk: tools.Low}, {Name: "poll", Risk: tools.Low, Polling: true}, {Name: "note", Risk: tools.Medium, Effects: true},
		{Name: "wipe", Risk: tools.High, Effects: true}, {Name: "pay", Risk: tools.High, Effects: true, Idempotent: true},
	} {
		spec.Parameters, spec.Description = schema, spec.Name
		s.tools[spec.Name] = &counter{spec: spec}
	}
	if change != nil {
		change(s)
	}
	s.rewire()
	return s
}

// rewire makes agent and door anew, as another process would: nothing but the database remains.
func (s *stage) rewire() {
	s.Helper()
	p, err := prompts.New()
	s.ok(err)
	var all []tools.Tool
	for _, t := range s.tools {
		all = append(all, t)
	}
	registry, err := tools.NewRegistry(all...)
	s.ok(err)
	rules := &policy.Policy{Default: policy.Requirement{Approvers: []string{"manager"}, Quorum: s.quorum, TTL: time.Hour, EditApproves: true}}
	s.gate = &agent.Gate{Tools: registry, Policy: func() *policy.Policy { return rules }, Prompts: p, Timeout: time.Second}
	plain := func(text string) string { return text }
	s.agent, err = agent.New(agent.Config{
		Store: s.db, Model: s.model, Small: s.small, Window: s.window, Gate: s.gate, Directory: people{}, Prompts: p, Now: s.db.Clock.Now, Logger: slog.New(slog.DiscardHandler),
		Owner: "o" + id.Call(), Lease: 6 * time.Second, Limits: s.limits, OutputChars: s.chars, Name: "countersign", OpenPerRun: 5, Mask: plain, Price: s.price,
	})
	s.ok(err)
	s.door = decisions.New(decisions.Config{
		Store: s.db, Directory: people{}, Gate: s.gate, Prompts: p, Now: s.db.Clock.Now, Logger: slog.New(slog.DiscardHandler), Lease: 6 * time.Second, Mask: plain,
	})
}

func (s *stage) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// start starts a run and advances it as far as it goes.
func (s *stage) start() *stage {
	s.Helper()
	return s.accept().advance()
}

// accept starts a run that nobody advances yet.
func (s *stage) accept() *stage {
	s.Helper()
	a, err := s.agent.Start(s.Context(), agent.Mention{
		Thread: agent.Thread{Installation: "T1", Channel: "C1", TS: "1.1"}, MessageTS: "1.1", Asker: policy.Actor{Team: "T1", User: "U1"}, Text: "do it", Language: "en",
	})
	s.ok(err)
	s.run = a.Run
	return s
}

// settleAll lets manager M1 say the same of every call of unknown outcome.
func (s *stage) settleAll(f decisions.Finding) {
	s.Helper()
	for _, step := range s.work().Steps {
		if step.State == agent.StepUncertain {
			_, err := s.door.Settle(s.Context(), decisions.Settlement{ID: id.Call(), Run: s.run, Step: step.N, Finding: f, Who: policy.Actor{Team: "T1", User: "M1"}, Via: "slack"})
			s.ok(err)
		}
	}
}

func (s *stage) advance() *stage {
	s.Helper()
	s.ok(s.agent.Advance(s.Context(), s.run))
	return s
}

func (s *stage) work() *agent.Work {
	s.Helper()
	w, err := s.db.Load(s.Context(), s.run)
	s.ok(err)
	return w
}

func (s *stage) step(n int) agent.Step { s.Helper(); return s.work().Steps[n-1] }

// pending is the n-th step's approval.
func (s *stage) pending(n int) approvals.Approval {
	s.Helper()
	c, err := s.db.Case(s.Context(), s.step(n).Approval)
	s.ok(err)
	return c.Approval
}

// decide lets manager M1 decide on a step's approval and says why it did not count.
func (s *stage) decide(n int, v approvals.Verdict, text ...string) string {
	s.Helper()
	return s.decideAs("M1", n, v, text...)
}

// decideAs is decide by somebody else.
func (s *stage) decideAs(who string, n int, v approvals.Verdict, text ...string) string {
	s.Helper()
	a := s.pending(n)
	t := decisions.Attempt{
		ID: id.Call(), Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Verdict: v, Who: policy.Actor{Team: "T1", User: who}, Via: "slack",
	}
	if v == approvals.Edit {
		t.Args = text[0]
	} else if len(text) > 0 {
		t.Text = text[0]
	}
	out, err := s.door.Decide(s.Context(), t)
	s.ok(err)
	if out.Refused == "" {
		s.asStored(out.Case)
	}
	return out.Refused
}

// asStored holds what the door says of a case after a verdict to what the database has.
func (s *stage) asStored(c *decisions.Case) {
	s.Helper()
	stored, err := s.db.Case(s.Context(), c.Approval.ID)
	s.ok(err)
	if diff := cmp.Diff(stored.Approval, c.Approval, cmpopts.EquateEmpty()) + cmp.Diff(stored.Step, c.Step, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("the case after the verdict (-stored +said):\n%s", diff)
	}
}

func (s *stage) tell(kind agent.MessageKind, user, text string) {
	s.Helper()
	s.ok(s.agent.Tell(s.Context(), agent.Message{Run: s.run, Kind: kind, From: policy.Actor{Team: "T1", User: user}, Text: text}, id.Call()))
}

// tellAt is tell of the asker's words in a message of Slack.
func (s *stage) tellAt(ts string, kind agent.MessageKind, text string) {
	s.Helper()
	s.ok(s.agent.Tell(s.Context(), agent.Message{Run: s.run, Kind: kind, From: policy.Actor{Team: "T1", User: "U1"}, Text: text, TS: ts}, id.Call()))
}

// want checks the run's state and halt.
func (s *stage) want(state agent.RunState, halt agent.Halt) {
	s.Helper()
	if r := s.work().Run; r.State != state || r.Halt != halt {
		s.Errorf("run is %s (%s), want %s (%s): %s", r.State, r.Halt, state, halt, r.Answer)
	}
}

func (s *stage) ran(tool string, want int) {
	s.Helper()
	if n := len(s.tools[tool].calls); n != want {
		s.Errorf("%s ran %d times, want %d", tool, n, want)
	}
}

// paired checks the strict server's rule on the last request.
func (s *stage) paired() {
	s.Helper()
	h := &history{t: s.T}
	h.checkRequest(s.model.last())
}

func result(r llm.Request, n int) string {
	for i := range r.Messages {
		if r.Messages[i].Role == llm.Tool {
			if n--; n == 0 {
				return r.Messages[i].Text
			}
		}
	}
	return fmt.Sprintf("no result %d", n)
}

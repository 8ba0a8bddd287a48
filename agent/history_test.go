package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/agent/prompts"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/id"
	"countersign/internal/store/storetest"
	"countersign/tools"
)

var errDied = errors.New("the process died here")

// frail is a process's view of the database: it dies at a commit that the history chose.
type frail struct {
	agent.Store
	left   int  // commits until death; negative: it lives
	before bool // it dies before that commit, never after
}

func (f *frail) live() error {
	switch f.left {
	case 0:
		return errDied
	case 1:
		f.left = 0
		return errDied
	}
	if f.left > 0 {
		f.left--
	}
	return nil
}

func (f *frail) Commit(ctx context.Context, fence agent.Fence, c agent.Change) (int64, error) {
	if f.left == 0 {
		return 0, errDied
	}
	if f.left == 1 && !f.before && fence.Epoch%2 == 0 { // sometimes it dies after its commit
		f.left = 0
		if _, err := f.Store.Commit(ctx, fence, c); err != nil {
			return 0, err
		}
		return 0, errDied
	}
	if err := f.live(); err != nil {
		return 0, err
	}
	return f.Store.Commit(ctx, fence, c)
}

// people are everybody in the histories: the asker, three approvers, a stranger.
type people struct{}

func (people) Person(_ context.Context, who policy.Actor, _ bool) (policy.Person, error) {
	p := policy.Person{Actor: who, Standing: policy.Member}
	switch who.User {
	case "U1":
		p.Roles = []string{"manager"} // the asker is a manager too: it must not help
	case "M1", "M2", "M3":
		p.Roles = []string{"manager"}
	case "OUT":
		p.Standing = policy.Outsider
	}
	return p, nil
}

// call is one real call of a tool.
type call struct {
	run, step, args string
}

// hand is a tool of the histories.
type hand struct {
	spec  tools.Spec
	h     *history
	calls *[]call
}

func (t hand) Spec() tools.Spec { return t.spec }

func (t hand) Call(_ context.Context, c tools.Call) (tools.Result, error) {
	*t.calls = append(*t.calls, call{c.Run, c.Step, string(c.Args)})
	switch t.h.rand.IntN(6) {
	case 0:
		return tools.Result{}, &tools.Failure{Code: "no", Message: "refused by the service"}
	case 1:
		if t.spec.Effects {
			return tools.Result{}, errors.New("connection lost")
		}
	}
	return tools.Result{Text: fmt.Sprintf("ok %d", t.h.rand.IntN(3)), Effect: t.spec.Name}, nil
}

func (t hand) Preview(context.Context, tools.Call) (tools.Preview, error) {
	return tools.Preview{Summary: "it counts", Material: map[string]string{"state": fmt.Sprint(t.h.world)}}, nil
}

// history is one random story: a model, people, a clock, deaths and two replicas.
type history struct {
	t     *testing.T
	rand  *rand.Rand
	db    *storetest.DB
	calls map[string]*[]call
	world int // changes now and then: previews no longer match
	gate  *agent.Gate
	run   string
	log   []string
}

// model is a random model that checks every request it gets.
type model struct{ h *history }

func (m model) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	m.h.checkRequest(r)
	usage := llm.Usage{Prompt: 10, Completion: 5}
	switch n := m.h.rand.IntN(10); {
	case n == 0:
		return llm.Reply{}, &llm.Error{Kind: llm.Overloaded, Message: "busy", Usage: usage}
	case n <= 2 || len(r.Tools) == 0:
		return llm.Reply{Text: "The answer.", Usage: usage}, nil
	}
	reply := llm.Reply{Text: "Working.", Usage: usage}
	for range 1 + m.h.rand.IntN(3) {
		name := []string{"look", "note", "wipe", "refund", "nonsense", agent.AskUser}[m.h.rand.IntN(6)]
		args := []string{`{"thought":"t","what":"a"}`, `{"what":"b"}`, `{"what":`, `{"question":"which?"}`}[m.h.rand.IntN(4)]
		reply.Calls = append(reply.Calls, llm.Call{ID: id.Call(), Name: name, Arguments: args})
	}
	return reply, nil
}

// checkRequest is the strict server's rule: every call has exactly one result, right behind it.
func (h *history) checkRequest(r llm.Request) {
	var open []string
	for _, m := range r.Messages {
		switch m.Role {
		case llm.Tool:
			at := slices.Index(open, m.CallID)
			if at < 0 || m.Text == "" {
				h.failf("a result without its call, or empty: %+v", m)
			} else {
				open = slices.Delete(open, at, at+1)
			}
		default:
			if len(open) > 0 {
				h.failf("calls without results before %q", m.Text)
			}
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		h.failf("calls without results at the end: %v", open)
	}
}

func (h *history) failf(format string, args ...any) {
	h.t.Helper()
	h.t.Errorf(format+"\n%s", append(args, strings.Join(h.log, "\n"))...)
}

// process makes a replica that dies after some commits, or lives.
func (h *history) process(owner string, left int) (*agent.Agent, *decisions.Door) {
	p, err := prompts.New()
	if err != nil {
		h.t.Fatal(err)
	}
	f := &frail{Store: h.db.Store, left: left}
	a, err := agent.New(agent.Config{
		Store: f, Model: model{h}, Gate: h.gate, Directory: people{}, Prompts: p, Now: h.db.Clock.Now, Logger: slog.New(slog.DiscardHandler),
		Owner: owner, Lease: 6 * time.Second, OutputChars: 1000, Name: "countersign", OpenPerRun: 5, Mask: func(s string) string { return s },
		Limits: agent.Limits{MaxSteps: 8, MaxTokens: 100000, MaxActive: time.Hour, SelfHeal: 3, Window: 3, InputTTL: time.Hour},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return a, decisions.New(decisions.Config{
		Store: h.db.Store, Directory: people{}, Gate: h.gate, Prompts: p, Now: h.db.Clock.Now, Logger: slog.New(slog.DiscardHandler),
		Lease: 6 * time.Second, Mask: func(s string) string { return s },
	})
}

// TestHistories plays random stories against the promises: a call that people must
// countersign runs only as they approved it and never twice, the model always sees
// every call with its one result, and no run is lost.
func TestHistories(t *testing.T) {
	t.Parallel()
	n := histories()
	db := storetest.SQLite(t)
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("COUNTERSIGN_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("seed %d", seed)
	for i := first(); i < n; i++ {
		playHistory(t, db, rand.New(rand.NewPCG(seed, uint64(i))), i)
		if t.Failed() {
			t.Fatalf("history %d of seed %d", i, seed)
		}
	}
	if err := db.VerifyAudit(t.Context()); err != nil {
		t.Errorf("audit: %v", err)
	}
	t.Logf("what happened in them: %v", happened(t, db))
}

// happened counts the kinds of the record's entries, so that a reader sees that the
// stories are not all the same.
func happened(t *testing.T, db *storetest.DB) map[string]int {
	out := map[string]int{}
	after := int64(0)
	for {
		entries, err := db.AuditEntries(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return out
		}
		for _, e := range entries {
			out[e.Kind]++
			after = e.Seq
		}
	}
}

func playHistory(t *testing.T, db *storetest.DB, r *rand.Rand, i int) {
	h := &history{t: t, rand: r, db: db, calls: map[string]*[]call{}}
	h.gate = h.newGate()
	a, _ := h.process("starter", -1)
	accepted, err := a.Start(t.Context(), agent.Mention{
		Thread:    agent.Thread{Installation: "T1", Channel: "C1", TS: fmt.Sprintf("%d.000001", i)},
		MessageTS: fmt.Sprintf("%d.000001", i), Asker: policy.Actor{Team: "T1", User: "U1"}, Text: "do it", Language: "en",
	})
	if err != nil {
		t.Fatal(err)
	}
	h.run = accepted.Run
	for range 12 + r.IntN(12) {
		h.step()
	}
	h.drain()
	h.judge()
}

func (h *history) newGate() *agent.Gate {
	p, err := prompts.New()
	if err != nil {
		h.t.Fatal(err)
	}
	schema := json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}`)
	var all []tools.Tool
	for _, s := range []tools.Spec{
		{Name: "look", Risk: tools.Low, Parallel: true}, {Name: "note", Risk: tools.Medium, Effects: true},
		{Name: "wipe", Risk: tools.High, Effects: true}, {Name: "refund", Risk: tools.High, Effects: true, Idempotent: true},
	} {
		s.Parameters, s.Description = schema, s.Name
		calls := &[]call{}
		h.calls[s.Name] = calls
		all = append(all, hand{s, h, calls})
	}
	registry, err := tools.NewRegistry(all...)
	if err != nil {
		h.t.Fatal(err)
	}
	rules := &policy.Policy{Roles: map[string]policy.Role{}, Default: policy.Requirement{
		Approvers: []string{"manager"}, Quorum: 1 + h.rand.IntN(2), TTL: time.Hour, EditApproves: h.rand.IntN(2) == 0,
	}}
	return &agent.Gate{Tools: registry, Policy: func() *policy.Policy { return rules }, Prompts: p, Timeout: time.Second}
}

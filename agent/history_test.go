package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/prompts"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/store/storetest"
	"countersign/tools"
)

// history is one random story: a model, people, a clock, deaths and replicas.
type history struct {
	t        *testing.T
	ctx      context.Context // patient: many share the cores
	rand     *rand.Rand
	db       *storetest.DB
	words    *prompts.Prompts
	gate     *agent.Gate
	door     *decisions.Door
	replicas []*replica
	run      string
	world    int // changes now and then: previews no longer match
	place    int // changes now and then: the tools are others
	depth    int // of things that happen while others do
	log      []string
	broken   bool // something is wrong already

	calls  map[string][]call   // by step: those with effects
	agreed map[string][]string // by step: the arguments, and where, that counted for somebody's yes
	answer string              // the request that was answered last, while nothing else happened
	sent   []string            // the calls and results of the longest request so far
	state  agent.RunState      // as it was committed last
	last   *agent.Work         // as it was read last
	edges  map[string]bool     // of the tables
}

// TestHistories plays random stories against the promises: a call that people must
// countersign runs only as they approved it and never twice, the model always sees
// every call with its one result, and no run is lost. COUNTERSIGN_HISTORIES,
// COUNTERSIGN_FIRST and COUNTERSIGN_SEED say how many, from which, and of what.
//
// Rows B4, B13, B35, B68.
func TestHistories(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("COUNTERSIGN_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("seed %d", seed)
	next, all := make(chan int), map[string]int{}
	var mu sync.Mutex
	var tellers sync.WaitGroup
	for range tellersAtOnce {
		tellers.Go(func() {
			for kind, n := range tell(t, seed, next) {
				mu.Lock()
				all[kind] += n
				mu.Unlock()
			}
		})
	}
	for i := first(); i < first()+histories() && !t.Failed(); i++ {
		next <- i
	}
	close(next)
	tellers.Wait()
	t.Logf("what happened in them: %v", all)
}

// tellersAtOnce is how many stories are told side by side, each teller with a
// database of its own.
const tellersAtOnce = 2

// tell plays stories on one database and counts what happened in them.
func tell(t *testing.T, seed uint64, next <-chan int) map[string]int {
	db := storetest.SQLite(t)
	if _, err := db.Writer().Exec("PRAGMA synchronous = OFF"); err != nil { // no power is cut here
		t.Error(err)
	}
	words, err := prompts.New()
	if err != nil {
		t.Error(err)
	}
	happened, read := map[string]int{}, int64(0)
	for i := range next {
		if t.Failed() {
			continue
		}
		h := newHistory(t, db, words, rand.New(rand.NewPCG(seed, uint64(i))))
		h.play(i)
		entries := h.entries(&read)
		if !h.broken {
			h.judge(entries)
		}
		for _, e := range entries {
			happened[e.Kind]++
		}
		if h.broken {
			t.Errorf("history %d of seed %d", i, seed)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if err := db.VerifyAudit(ctx); err != nil {
		t.Errorf("audit: %v", err)
	}
	return happened
}

// entries are the record's since the last story.
func (h *history) entries(read *int64) []audit.Entry {
	var all []audit.Entry
	for {
		entries, err := h.db.AuditEntries(h.ctx, *read, 1000)
		h.must(err)
		if len(entries) == 0 || err != nil {
			return all
		}
		all = append(all, entries...)
		*read = entries[len(entries)-1].Seq
	}
}

func newHistory(t *testing.T, db *storetest.DB, words *prompts.Prompts, r *rand.Rand) *history {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	h := &history{
		t: t, ctx: ctx, rand: r, db: db, words: words, calls: map[string][]call{}, agreed: map[string][]string{},
		state: agent.Init, edges: edges(),
	}
	h.gate = h.newGate()
	h.door = decisions.New(decisions.Config{
		Store: watched{db.Store, h}, Care: db.Store, Reviews: db.Store, Grants: db.Store, Bounds: decisions.GrantBounds{Count: 3, Within: 12 * time.Hour}, Directory: people{}, Gate: h.gate, Prompts: words, Now: db.Clock.Now,
		Logger: slog.New(slog.DiscardHandler), Lease: 6 * time.Second, Mask: func(s string) string { return s },
	})
	return h
}

func (h *history) play(i int) {
	at := fmt.Sprintf("%d.000001", i)
	accepted, err := h.replica(-1).Start(h.ctx, agent.Mention{
		Thread:    agent.Thread{Installation: "T1", Channel: "C1", TS: at},
		MessageTS: at, Asker: policy.Actor{Team: "T1", User: "U1"}, Text: "do it", Language: "en",
	})
	h.must(err)
	h.run = accepted.Run
	h.rung("the start", false)
	for range 16 + h.rand.IntN(24) {
		h.step()
	}
	h.drain()
}

// replica is one process: an agent that dies after some commits, or lives.
type replica struct {
	*agent.Agent
	frail *frail
	busy  bool // it works on the run: it never takes it over from itself
}

// replica gives a process that is not at work. Two of them live; a dead one is
// followed by another with a new name.
func (h *history) replica(left int) *replica {
	for _, r := range h.replicas {
		if !r.busy && r.frail.left != 0 && h.rand.IntN(2) == 0 {
			r.frail.left = left
			return r
		}
	}
	r := &replica{frail: &frail{Store: watched{h.db.Store, h}, left: left}}
	limits := agent.Limits{MaxSteps: 8, MaxTokens: 100000, MaxActive: time.Hour, SelfHeal: 3, Window: 3, InputTTL: time.Hour}
	if h.rand.IntN(4) == 0 {
		limits.MaxTokens = 150
	}
	var err error
	r.Agent, err = agent.New(agent.Config{
		Store: r.frail, Grants: h.db.Store, Model: model{h}, Gate: h.gate, Directory: people{}, Prompts: h.words, Now: h.db.Clock.Now, Logger: slog.New(slog.DiscardHandler),
		Owner: fmt.Sprintf("p%d", len(h.replicas)), Lease: 6 * time.Second, OutputChars: 1000, Name: "countersign", OpenPerRun: 5,
		Mask: func(s string) string { return s }, Limits: limits,
	})
	h.must(err)
	h.replicas = append(h.replicas, r)
	return r
}

func (h *history) newGate() *agent.Gate {
	schema := json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}`)
	var all []tools.Tool
	for _, s := range []tools.Spec{
		{Name: "look", Risk: tools.Low, Parallel: true}, {Name: "note", Risk: tools.Medium, Effects: true},
		{Name: "wipe", Risk: tools.High, Effects: true}, {Name: "refund", Risk: tools.High, Effects: true, Idempotent: true},
	} {
		s.Parameters, s.Description = schema, s.Name
		all = append(all, hand{s, h})
	}
	registry, err := tools.NewRegistry(all...)
	h.must(err)
	rules := &policy.Policy{Roles: map[string]policy.Role{}, Default: policy.Requirement{
		Approvers: []string{"manager"}, Quorum: 1 + h.rand.IntN(2), TTL: time.Hour, EditApproves: h.rand.IntN(2) == 0, BreakGlass: []string{"oncall"},
	}}
	return &agent.Gate{Tools: registry, Policy: func() *policy.Policy { return rules }, Prompts: h.words, Timeout: time.Second}
}

func (h *history) failf(format string, args ...any) {
	h.t.Helper()
	h.broken = true
	h.t.Errorf(format+"\n%s", append(args, strings.Join(h.log, "\n"))...)
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.failf("unexpected: %v", err)
	}
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, strings.Repeat("  ", h.depth)+fmt.Sprintf(format, args...))
}

// histories is how many stories one run plays; the soak sets more.
func histories() int {
	if n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_HISTORIES")); err == nil && n > 0 {
		return n
	}
	return 60
}

// first is the story to begin with, to see one again.
func first() int {
	n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_FIRST"))
	if err != nil {
		return 0
	}
	return n
}

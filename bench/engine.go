package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/agent/llm/openai"
	"countersign/agent/prompts"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/slacktext"
	"countersign/internal/id"
	"countersign/internal/queue"
	"countersign/internal/store"
)

// System is the system message of the measured scenarios, instead of ours.
const System = "You are an operations assistant. Use the tools."

// Config says what is measured.
type Config struct {
	Database string       // sqlite:FILE or postgres://…; it is migrated
	ModelURL string       // of a chat completions API; ignored where there is a Model
	Model    llm.Model    // instead; nil: the client that the program uses
	Hands    Hands        // the tools
	Queue    bool         // runs are advanced by the queue, as in the program, and not by who gave them work
	Logger   *slog.Logger // nil: none
	// Between stands between the agent and the database, so that commits can be
	// counted; nil: nothing does.
	Between func(agent.Store) agent.Store
}

// Engine is an open engine. It is safe for use by several goroutines at once.
type Engine struct {
	store *store.Store
	agent *agent.Agent
	door  *decisions.Door
	gate  *agent.Gate
	words *prompts.Prompts
	mask  *slacktext.Masker
	log   *slog.Logger
	owner string
	queue *doorbell // nil: none
}

// Open opens the database, migrates it and wires the engine.
func Open(ctx context.Context, c Config) (*Engine, error) {
	e := &Engine{log: c.Logger, owner: fmt.Sprintf("bench/%d/%s", os.Getpid(), id.Call())}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if e.store, err = store.Open(ctx, store.Config{URL: c.Database, Logger: e.log}); err != nil {
		return nil, err
	}
	if err := e.wire(ctx, c); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engine) wire(ctx context.Context, c Config) (err error) {
	if err := e.store.Migrate(ctx); err != nil {
		return err
	}
	if err := e.wireGate(c); err != nil {
		return err
	}
	var saves agent.Store = e.store
	if c.Between != nil {
		saves = c.Between(e.store)
	}
	if e.agent, err = e.newAgent(c, saves); err != nil {
		return err
	}
	e.door = decisions.New(decisions.Config{
		Store: e.store, Directory: people{}, Gate: e.gate, Prompts: e.words, Now: time.Now, Logger: e.log, Lease: queue.DefaultLease, Mask: e.masked,
	})
	if c.Queue {
		e.queue, err = e.startQueue(ctx)
	}
	return err
}

func (e *Engine) wireGate(c Config) (err error) {
	if e.mask, err = slacktext.NewMasker(nil); err != nil {
		return err
	}
	built, err := prompts.New()
	if err != nil {
		return err
	}
	if e.words, err = built.With("system", System); err != nil {
		return err
	}
	registry, err := c.Hands.registry()
	if err != nil {
		return err
	}
	rules := &policy.Policy{Roles: map[string]policy.Role{}, Default: policy.Requirement{Approvers: []string{approverRole}, Quorum: 1, TTL: time.Hour}}
	e.gate = &agent.Gate{Tools: registry, Policy: func() *policy.Policy { return rules }, Prompts: e.words, Timeout: 10 * time.Second}
	return nil
}

func (e *Engine) newAgent(c Config, saves agent.Store) (*agent.Agent, error) {
	model := c.Model
	if model == nil {
		model = openai.New(openai.Config{BaseURL: c.ModelURL, Model: "scripted", Logger: e.log})
	}
	return agent.New(agent.Config{
		Store: saves, Model: model, Gate: e.gate, Directory: people{}, Prompts: e.words, Now: time.Now, Logger: e.log,
		Owner: e.owner, Lease: queue.DefaultLease, Limits: limits, OutputChars: 1000, Name: "countersign",
		OpenPerRun: 5, OpenPerAsker: 10, Mask: e.masked,
	})
}

// limits are the defaults, but for what would end the longest scenario.
var limits = agent.Limits{
	MaxSteps: 1000, MaxTokens: 10_000_000, MaxActive: time.Hour, SelfHeal: 3, Window: 3, InputTTL: 24 * time.Hour,
}

func (e *Engine) masked(s string) string {
	text, _ := e.mask.Mask(s)
	return text
}

// Close stops the engine and closes its database.
func (e *Engine) Close() error {
	var err error
	if e.queue != nil {
		err = e.queue.stop()
	}
	return errors.Join(err, e.store.Close())
}

// The people of the measurements: everybody asks, one decides.
const (
	team         = "T0BENCH"
	channel      = "C0BENCH"
	approver     = "U0APPROVER"
	approverRole = "manager"
)

// people is the directory.
type people struct{}

// Person says who somebody is.
func (people) Person(_ context.Context, who policy.Actor, _ bool) (policy.Person, error) {
	p := policy.Person{Actor: who, Standing: policy.Member}
	if who.User == approver {
		p.Roles = []string{approverRole}
	}
	return p, nil
}

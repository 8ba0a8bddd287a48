package agent

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"countersign/agent/llm"
	"countersign/agent/prompts"
	"countersign/approvals/policy"
	"countersign/tools"
)

// Directory knows people. internal/app gives Slack's.
type Directory interface {
	// Person says who somebody is. Fresh asks Slack now instead of a short-lived
	// memory. An error means that it is not known: refuse. ErrNobody says that it never will be.
	Person(ctx context.Context, who policy.Actor, fresh bool) (policy.Person, error)
}

// History reads what a thread showed before a message.
type History interface {
	// Before gives the messages of the thread older than ts, oldest first.
	Before(ctx context.Context, t Thread, ts string) ([]Quoted, error)
}

// Quoted is one message of somebody, as data.
type Quoted struct {
	Author string // user id
	Name   string
	Text   string
}

// Config wires an Agent. Every field without a remark is required.
type Config struct {
	Store       Store
	Grants      Grants // standing grants; nil: none is used
	Model       llm.Model
	Small       llm.Model // summarises long outputs and the oldest turns; nil: they are shown in part
	Window      int       // tokens that both models read at once; 0: not known
	Gate        *Gate
	Directory   Directory
	History     History // nil: threads have no past
	Prompts     *prompts.Prompts
	Now         func() time.Time
	Logger      *slog.Logger
	Owner       string        // unique per process start
	Lease       time.Duration // how long a claim holds without a heartbeat
	Limits      Limits
	OutputChars int    // longer outputs are kept whole and shown in part
	Name        string // how the bot calls itself
	House       string // the house rules that every prompt carries
	Cards       string // a channel that gets every card too; empty: none
	OpenPerRun  int    // open approvals that one run may have; 0: any number
	// OpenPerAsker is how many approvals of one person may wait over all runs; 0: any number.
	OpenPerAsker int
	Notify       bool // approvers are told privately of every card
	Price        Price
	Ledger       Ledger              // nil: days are not counted
	Day          Day                 // what 24 hours may use; zeros: no limit
	Tracer       trace.Tracer        // nil: nothing is traced
	Mask         func(string) string // hides secrets in what the record shows
	Stopping     func() bool         // the process is being stopped: give runs back at the next good point; nil: never
}

// Price of the model in micro-units of the currency per million tokens.
type Price struct {
	Input, Output int64
}

// Of is the cost of a usage in micro-units.
func (p Price) Of(u llm.Usage) int64 {
	return (int64(u.Prompt)*p.Input + int64(u.Completion)*p.Output) / 1_000_000
}

// Agent starts runs and advances them. It is safe for use by several goroutines;
// two of them never advance one run, because the lease is in the row.
type Agent struct {
	Config
	control map[string]*tools.Schema
	shown   shownSchemas
}

// New makes an Agent.
func New(c Config) (*Agent, error) {
	control, err := controlSchemas()
	if err != nil {
		return nil, err
	}
	if c.Tracer == nil {
		c.Tracer = noop.NewTracerProvider().Tracer("")
	}
	return &Agent{Config: c, control: control}, nil
}

// roundsPerLease is after how many rounds a worker lets other runs have its slot: a
// step takes two, the call of the model and the call of the tool. Everything of the
// run is read again afterwards.
const roundsPerLease = 40

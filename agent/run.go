// Package agent is the run: one answer to one request of one person, made of
// durable steps. It starts runs, tells them what people say meanwhile, and
// advances them under a lease, one turn of the model at a time.
package agent

import (
	"encoding/json"
	"time"

	"countersign/agent/llm"
	"countersign/approvals/policy"
	"countersign/tools"
)

// Thread is the conversation a run belongs to.
type Thread struct {
	Installation string // our own workspace, never a payload's
	Channel      string
	TS           string // of the thread's root message
}

// Run is the header of a run; its steps are rows of their own.
type Run struct {
	ID string
	Thread
	MessageTS string       // the asker's message
	Asker     policy.Actor // whose rights the run has
	Request   string       // the asker's words
	Language  string       // "en" or "zh": of what we say in the channel
	Origin    string       // slack, api, hook, schedule
	Owner     policy.Actor // who answers for a run whose asker is no person; zero: the asker does
	Trace     string       // the trace that it belongs to (W3C traceparent); empty: none

	State   RunState
	Halt    Halt
	Closing Halt // a limit was reached: the next call of the model is its last, without tools
	Answer  string
	System  string // the system prompt as it was rendered at the start, so that prompts stay append-only
	Version string // of the prompt templates

	Limits   Limits
	Spent    Spent
	Counters Counters
	Plan     []PlanItem

	Turns    int // committed turns
	NextStep int // number of the next step, from 1

	Wake    int64 // raised by every commit that gives the run work
	Seen    int64 // the wake that was loaded when it last parked
	ReadyAt time.Time
	Lease   Lease
	InputBy time.Time // when it stops waiting for a person's word; zero: it does not wait for one

	CreatedAt time.Time
	UpdatedAt time.Time
	EndedAt   time.Time
}

// Lease says who works on a run, and until when. Epoch is the fencing token.
type Lease struct {
	Owner string
	Epoch int64
	Until time.Time
}

// Limits are what a run may use. They are fixed at its start; run_continue adds an allowance.
type Limits struct {
	MaxSteps  int           `json:"max_steps"`
	MaxTokens int           `json:"max_tokens"`
	MaxActive time.Duration `json:"max_active"`
	MaxCost   int64         `json:"max_cost"` // micro-units of the currency; 0: none
	SelfHeal  int           `json:"self_heal"`
	Window    int           `json:"loop_window"`
	InputTTL  time.Duration `json:"input_ttl"`
}

// Spent is what a run has used so far, failed calls included.
type Spent struct {
	Steps      int           `json:"steps"`
	Calls      int           `json:"calls"` // of the model
	Prompt     int           `json:"prompt"`
	Completion int           `json:"completion"`
	Cached     int           `json:"cached"`
	Estimated  bool          `json:"estimated,omitempty"`
	Active     time.Duration `json:"active"`
	Cost       int64         `json:"cost"` // micro-units
}

// atLeast is the larger of two states of the ledger, of which calls are never taken
// back. Steps are the rows': one that was not stored was not made.
func (s Spent) atLeast(o Spent) Spent {
	s.Calls, s.Prompt, s.Completion, s.Cached = max(s.Calls, o.Calls), max(s.Prompt, o.Prompt), max(s.Completion, o.Completion), max(s.Cached, o.Cached)
	s.Estimated, s.Active, s.Cost = s.Estimated || o.Estimated, max(s.Active, o.Active), max(s.Cost, o.Cost)
	return s
}

// Counters are the run's memory of its own trouble; they survive every pause.
type Counters struct {
	Heals    int    `json:"heals"`              // reflections in a row
	Warned   bool   `json:"warned,omitempty"`   // a loop was intercepted
	Looped   bool   `json:"looped,omitempty"`   // and went on after the warning
	Checked  bool   `json:"checked,omitempty"`  // the check before the final answer was made
	Checking bool   `json:"checking,omitempty"` // and the next request carries it
	Denials  int    `json:"denials"`            // refusals by people in a row
	Empty    int    `json:"empty,omitempty"`    // replies in a row that could not be used
	Trouble  int    `json:"trouble,omitempty"`  // failed calls of the model in a row
	Pruned   int    `json:"pruned,omitempty"`   // results of the turns up to here are sent shortened
	Rolled   Rolled `json:"rolled,omitzero"`    // a summary is sent in place of the turns up to some
	Lapses   int    `json:"lapses,omitempty"`   // approvals that lapsed before they could be redeemed
	Cut      bool   `json:"cut,omitempty"`      // the last reply ended at the provider's limit, not where the model ended
}

// PlanItem is one item of the plan that the model keeps.
type PlanItem struct {
	Title  string `json:"title"`
	Status string `json:"status"` // pending, in_progress, complete, error
}

// Turn is one reply of the model, with what was added to the request before it.
type Turn struct {
	Run       string
	N         int    // from 1
	Notes     []Note // between the results of the turn before and this reply
	Text      string
	Reasoning string
	Extra     json.RawMessage
	Usage     llm.Usage
	At        time.Time
}

// NoteKind says what a note is.
type NoteKind string

// The kinds of notes, in rising priority.
const (
	NoteHistory NoteKind = "history" // what the thread showed before, quoted
	NoteSteer   NoteKind = "steer"   // the asker's further words
	NoteQuote   NoteKind = "quote"   // other people's words, quoted as data
	NoteReflect NoteKind = "reflect" // the history of failures
	NoteCheck   NoteKind = "check"   // the check before the final answer
	NoteWarning NoteKind = "warning" // a loop, a limit
	NoteClosing NoteKind = "closing" // answer now, without tools
)

// Note is text added to an ordinary request.
type Note struct {
	Kind NoteKind     `json:"kind"`
	From policy.Actor `json:"from,omitzero"`
	Text string       `json:"text"`
}

// Step is one tool call of a turn.
type Step struct {
	Run    string
	N      int // within the run, from 1
	Turn   int
	CallID string // ours, nine letters and digits
	Tool   string
	// The proposal, which never changes.
	Thought     string
	Raw         string          // the arguments as the model wrote them
	Proposed    json.RawMessage // canonical; nil when they did not pass the gates
	Fingerprint string          // of tool and canonical arguments
	Extra       json.RawMessage
	Risk        tools.Risk
	// What the tool does, as it was proposed or called: either is only ever added.
	Effects bool
	Private bool
	// What became of it, each set once.
	State       StepState
	Executed    json.RawMessage
	Observation string // what the model reads
	Output      string // the whole output, when the observation is a part of it
	Summary     string // one line for the thread
	Effect      string // one line for "Changed: …"
	Code        string // of a failure or refusal
	Outcome     string // hash of the observation
	Sources     []string
	Approval    string       // the id of its latest approval
	Grant       string       // the standing grant under which it ran without a card
	GrantBy     policy.Actor // who gave that
	Contract    string       // of the tool that was looked at last, and of no other is it called with effects
	Epoch       int64        // of the worker that executes it
	Attempts    int          // how often the tool was called
	Question    string       // of a step that asks
	Attached    []Attachment // what the result had beside text; it is not read back with the run
	ProposedAt  time.Time
	StartedAt   time.Time
	EndedAt     time.Time
}

// become takes on what its tool does by now, which may be more than when it was proposed.
func (s *Step) become(spec tools.Spec) {
	s.Effects, s.Private = s.Effects || spec.Effects, s.Private || spec.Private
}

// Unknown says that nobody knows what the call did. That stays so where a person gave it
// up, and where a further call failed: of the first there is a person's word alone.
func (s *Step) Unknown() bool {
	switch s.State {
	case StepUncertain:
		return true
	case StepExecuting:
		return s.Attempts > 1
	case StepFailed:
		return s.Attempts > 1 || s.Code == CodeStopped
	}
	return false
}

// CodeStopped is the code of a step that a person gave up, with its outcome unknown.
const CodeStopped = "stopped"

// UnknownBefore is the number of a step before n that made this very call, with an
// outcome that nobody knows; 0 when there is none.
func UnknownBefore(steps []Step, n int, tool string, args json.RawMessage) int {
	for i := range steps {
		s := &steps[i]
		if s.N < n && s.Unknown() && s.Tool == tool && string(s.Executed) == string(args) {
			return s.N
		}
	}
	return 0
}

// MessageKind says what an inbox message wants.
type MessageKind string

// The kinds of inbox messages.
const (
	FollowUp  MessageKind = "followup"
	Reply     MessageKind = "answer"     // to a question of the run
	Stop      MessageKind = "stop"       // by the asker or somebody who may countersign in the run
	Continue  MessageKind = "continue"   // a further allowance
	Edited    MessageKind = "edited"     // the request, or a message to the run, as it reads after its author edited it
	TakenBack MessageKind = "taken_back" // a message to the run that its author deleted
)

// Message is one inbox row: it reached the run while it was not finished.
type Message struct {
	ID   string
	Run  string
	Kind MessageKind
	From policy.Actor
	Name string // of the person, decoration
	Text string
	TS   string // of the Slack message; empty for a button
	At   time.Time
	Turn int // the turn whose request carried it; 0: not yet
}

// Halt says why a run stopped or waits.
type Halt string

// The halt reasons. Success beats every defensive stop.
const (
	HaltNone      Halt = ""
	HaltDone      Halt = "done"
	HaltApproval  Halt = "approval_required"
	HaltInput     Halt = "input_required"
	HaltMaxSteps  Halt = "max_steps"
	HaltLoop      Halt = "loop"
	HaltTokens    Halt = "token_budget"
	HaltTime      Halt = "time_budget"
	HaltCost      Halt = "cost_budget"
	HaltDenied    Halt = "denied"
	HaltUncertain Halt = "uncertain"
	HaltError     Halt = "error"
	HaltCancelled Halt = "cancelled"
)

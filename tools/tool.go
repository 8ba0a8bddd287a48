// Package tools says what a tool is and keeps the gates that every call passes
// before it may run: the registry, validation against the schema, the canonical
// form of arguments and their digest. It knows nothing of runs, approvals or Slack.
package tools

import (
	"context"
	"encoding/json"
	"time"
)

// Risk is how much harm a call may do.
type Risk string

// The three risks, from reading to what a person must countersign.
const (
	Low    Risk = "low"    // reads
	Medium Risk = "medium" // reversible effects
	High   Risk = "high"   // a person must countersign
)

// Tool is one thing the agent can do. Implementations must be safe for use by
// several goroutines at once.
type Tool interface {
	Spec() Spec
	// Call runs the tool once. Arguments have passed the schema and the guard.
	// A *Failure says that the call is known not to have happened (or was
	// answered so); any other error of a tool with effects leaves the outcome
	// unknown.
	Call(ctx context.Context, c Call) (Result, error)
}

// Guard is implemented by tools with rules of their own beyond the schema:
// one read-only statement, a path inside the root. A *Failure is told to the model.
type Guard interface {
	Check(ctx context.Context, args json.RawMessage) error
}

// Previewer is implemented by tools that can show the effect of a call without having it.
type Previewer interface {
	Preview(ctx context.Context, c Call) (Preview, error)
}

// Prober is implemented by tools that can find out whether an earlier call,
// whose outcome is not known, happened.
type Prober interface {
	Probe(ctx context.Context, c Call) (Probed, error)
}

// Spec is a tool's contract. Its hash is part of what an approver countersigns.
type Spec struct {
	Name        string          // unique: [a-zA-Z0-9_-]{1,64}
	Description string          // for the model
	Parameters  json.RawMessage // JSON Schema of the arguments, an object
	Risk        Risk
	Effects     bool          // it changes something outside
	Idempotent  bool          // it honours the idempotency key
	Window      time.Duration // how long the key is honoured; 0: for ever
	Polling     bool          // repeated equal answers are normal
	Parallel    bool          // safe beside other calls of the same turn
	Private     bool          // its results are not for the channel
	Egress      bool          // it sends data to the outside world
	Target      string        // where its calls act (an address, a database, a folder); never shown, it may hold secrets; empty: in one place only
	Roles       []string      // who may ask for it; empty: every asker
	Channels    []string      // where it may be asked for; empty: everywhere
	Timeout     time.Duration // 0: the configured tool_timeout
}

// Call is one call of a tool.
type Call struct {
	Run     string          // the run's id
	Step    string          // the step's number within the run
	Asker   string          // the asking person's Slack user id
	Args    json.RawMessage // canonical arguments
	Preview *Preview        // what the approvers were shown; nil when there was no preview
}

// IdempotencyKey is the key that tells a service two attempts of one step apart from two steps.
func (c Call) IdempotencyKey() string { return c.Run + "-" + c.Step }

// Result is what a successful call gave.
type Result struct {
	Text    string   // the whole observation, for the model
	Summary string   // one line for the thread; empty: the head of Text
	Effect  string   // one line for "Changed: …"; empty: nothing changed
	Sources []string // what was read (file, table, address), for the card of a later call
	Table   *Table   // the same as a table, when it is one
	Files   []File   // what is not text, for people: a chart
}

// File is a result that is not text. The model is told of it in the text of the result.
type File struct {
	Name  string // "chart.png"; no path
	MIME  string // "image/png"
	Bytes []byte
}

// Table is tabular output.
type Table struct {
	Columns []string
	Rows    [][]string
	More    bool // rows were cut at the limit
}

// Preview is the effect of a call, shown before anybody approves it.
type Preview struct {
	Summary  string            `json:"summary"`            // one line: "1 row would change"
	Detail   string            `json:"detail,omitempty"`   // preformatted: rows before and after, the request
	Untried  string            `json:"untried,omitempty"`  // why the effect cannot be shown beforehand
	Material map[string]string `json:"material,omitempty"` // what must be the same when it runs
}

// TriedTooOften is why an effect is not looked at that is one too many for its asker.
const TriedTooOften = "The effect was not looked at: that was done too often for this asker within a minute."

// Probed is a tool's own answer to whether an uncertain call happened.
type Probed string

// What a probe can find.
const (
	ProbedHappened Probed = "happened"
	ProbedNot      Probed = "not_happened"
	ProbedUnknown  Probed = "unknown"
)

// Failure is an outcome that is known: the call did not happen, or the tool
// answered that it failed. The message is for the model and for people; it
// holds no secrets.
type Failure struct {
	Code    string // short and stable: "not_found", "invalid", "forbidden", "changed" …
	Message string // one or more clear sentences: what was wrong and what is allowed
	Pointer string // JSON pointer into the arguments, when one is to blame
	Breach  Breach // the rule of the schema that was broken there; zero: it was none
	Looked  bool   // the tool said it about a call that was not made
}

// Error makes a Failure an error.
func (f *Failure) Error() string {
	if f.Pointer != "" {
		return f.Code + " at " + f.Pointer + ": " + f.Message
	}
	return f.Code + ": " + f.Message
}

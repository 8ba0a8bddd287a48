// Package llm says what a model is to the agent, whichever provider serves it.
package llm

import (
	"context"
	"encoding/json"
	"time"
)

// Model answers one request with one reply.
type Model interface {
	// Complete returns the reply, or an *Error that says what kind of trouble it
	// was and what it cost. It never returns an empty reply without an error.
	Complete(ctx context.Context, r Request) (Reply, error)
}

// Role is who speaks in a message.
type Role string

// The roles of a conversation.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one entry of the conversation sent to the model.
type Message struct {
	Role      Role
	Text      string
	Calls     []Call          // of an assistant
	CallID    string          // of a tool result: the call it answers
	Reasoning string          // of an assistant: sent back where the provider wants it
	Extra     json.RawMessage // provider's extras of the assistant message, sent back unchanged
}

// Call is one tool call that the model asks for.
type Call struct {
	ID        string          // ours: nine letters and digits, unique within the run
	Name      string          // as the model wrote it
	Arguments string          // raw, as the model wrote it
	Extra     json.RawMessage // provider's extras of the call (thought signatures), sent back unchanged
}

// ToolDef is a tool as it is shown to the model.
type ToolDef struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Request is one call of the model.
type Request struct {
	Messages  []Message
	Tools     []ToolDef // none: the model must answer in text
	MaxTokens int       // cap of the completion; 0: the provider's
	Key       string    // stable per run: lets a provider route to its prompt cache
}

// Reply is what the model said.
type Reply struct {
	Text      string
	Reasoning string
	Calls     []Call
	Cut       bool // the reply hit the token cap: its arguments may be truncated
	Shrunk    bool // the provider seems to have read a part of the request only
	Usage     Usage
	Extra     json.RawMessage
}

// Usage is what a call cost in tokens, failed attempts included.
type Usage struct {
	Prompt     int
	Completion int
	Cached     int  // part of Prompt that the provider's cache served
	Estimated  bool // the provider gave none; counted by us
}

// Total is prompt and completion together.
func (u Usage) Total() int { return u.Prompt + u.Completion }

// Kind sorts the troubles of a model by what can be done about them.
type Kind string

// The kinds of trouble.
const (
	Overloaded Kind = "overloaded" // 429 for rate, 5xx, timeouts, cut streams: worth another try
	Quota      Kind = "quota"      // the account is out of money or quota
	Overflow   Kind = "overflow"   // the request does not fit the model's window
	BadRequest Kind = "bad_request"
	Config     Kind = "config" // wrong key, unknown model, not an API at that address
	Malformed  Kind = "malformed"
)

// Error is a failed call of the model, after the adapter's own retries.
type Error struct {
	Kind       Kind
	Message    string        // one clear sentence, without secrets or pages of HTML
	RetryAfter time.Duration // what the provider asked for; 0: nothing
	Usage      Usage         // what the failed attempts cost
	Err        error         // the cause
}

// Error makes it an error.
func (e *Error) Error() string { return "model: " + string(e.Kind) + ": " + e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

package localslack

import (
	"slices"
	"sync"
	"time"
)

// Call is one answered Web API call.
type Call struct {
	At         time.Time
	Method     string
	Args       map[string]string // without the token
	Status     int               // HTTP status; 0: the connection was cut
	Error      string            // Slack's code; empty when ok
	Warning    string
	RetryAfter time.Duration // with a 429
}

// The kinds of violations: what a careful app never does.
const (
	ViolationRetryAfter = "retry_after"       // called again before Retry-After was over
	ViolationNoText     = "no_text"           // a message with blocks has no notification text
	ViolationUnfurl     = "unfurl"            // a link was posted without switching unfurling off
	ViolationBroadcast  = "broadcast"         // a post would call everybody or a group
	ViolationAckLate    = "ack_late"          // after the 3 seconds
	ViolationAckSize    = "ack_oversize"      // 20,480 bytes or more, or fragmented: Slack ignores it
	ViolationAckUnknown = "ack_unknown"       // no such envelope on this connection
	ViolationPayload    = "ack_payload"       // a payload where none is accepted
	ViolationHotLoop    = "too_many_opens"    // more than 20 connections opened within a minute
	ViolationResponse   = "response_url"      // used more than 5 times or after 30 minutes
	ViolationTrigger    = "trigger"           // trigger_id used late or twice
	ViolationScope      = "scope"             // a scope that the token does not have
	ViolationBlocks     = "blocks"            // blocks or views that Slack refuses
	ViolationToken      = "token_in_query"    // a token in a URL
	ViolationAckForm    = "ack_not_an_object" // a frame that is no ack
)

// Violation is one breach of Slack's rules or manners.
type Violation struct {
	At     time.Time
	Kind   string
	Detail string // never message text
}

// records is what tests read back. It has its own lock so that it can be
// written while the workspace is locked.
type records struct {
	mu         sync.Mutex
	calls      []Call
	violations []Violation
	deliveries []Delivery
	opens      []time.Time
}

func (r *records) call(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) == keptCalls {
		r.calls = append(r.calls[:0], r.calls[keptCalls/2:]...) // a demo may run for weeks
	}
	r.calls = append(r.calls, c)
}

// keptCalls is how many calls are remembered.
const keptCalls = 20_000

func (r *records) violation(v Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, v)
}

// Calls are the answered calls of a method in order; of all for "".
func (s *Server) Calls(method string) []Call {
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.records.calls), func(c Call) bool {
		return method != "" && c.Method != method
	})
}

// Violations are all breaches so far.
func (s *Server) Violations() []Violation {
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	return slices.Clone(s.records.violations)
}

func (s *Server) violate(kind, detail string) {
	s.records.violation(Violation{At: s.cfg.Now(), Kind: kind, Detail: detail})
	s.cfg.Logger.Warn("local Slack: the app broke a rule", "kind", kind, "detail", detail)
}

// open notes one opened connection and returns how many the last minute saw.
func (r *records) open(now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opens = append(r.opens, now)
	n := 0
	for _, t := range r.opens {
		if now.Sub(t) <= time.Minute {
			n++
		}
	}
	return n
}

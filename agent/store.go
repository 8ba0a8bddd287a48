package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// Errors of the store.
var (
	// ErrFenced says that the lease is no longer ours: nothing was written.
	ErrFenced = errors.New("the run's lease is held by somebody else")
	// ErrMoved says that the run was given work meanwhile: nothing was written; load again.
	ErrMoved = errors.New("the run was given work meanwhile")
	// ErrNotFound says that there is no such run.
	ErrNotFound = errors.New("no such run")
	// ErrNobody says that nobody is known under an id, or no longer: no outage, but an answer.
	ErrNobody = errors.New("nobody is known under this id")
	// ErrSettled says that a step or approval was not in the state that the change starts from.
	ErrSettled = errors.New("already settled")
	// ErrHeld says that an approval may not be used now: whose word or edit it has is locked, and
	// what they decided is being made void.
	ErrHeld = errors.New("whoever approved or edited this is locked")
	// ErrBudget says that a rule that lowers risks has nothing left to pay with.
	ErrBudget = errors.New("the rule's budget is used up")
	// ErrOpenLimit says that too many approvals of the asker wait already.
	ErrOpenLimit = errors.New("too many approvals of the asker are open")
)

// Store keeps runs. internal/store implements it on both databases.
type Store interface {
	// Accept commits what a message means: a new run, an inbox row of an unfinished
	// run of the same asker in the same thread, or nothing when the key was seen.
	Accept(ctx context.Context, in Incoming) (Accepted, error)
	// Tell commits an inbox row to a run that is not finished and raises its wake;
	// ErrSettled when the run has ended, a quiet success when the key was seen.
	Tell(ctx context.Context, m Message, key string) error
	// Claim takes the lease of a run that is due: not terminal, wake > seen, ready,
	// and unowned or its lease over. It gives nil when the run is not due.
	Claim(ctx context.Context, run string, lease Lease, now time.Time) (*Run, error)
	// Load reads everything of a run: ErrNotFound when there is none.
	Load(ctx context.Context, run string) (*Work, error)
	// Commit writes a change in one transaction, the fence first, the audit last.
	// It gives the run's wake as it is after the commit. On any error nothing was written.
	Commit(ctx context.Context, f Fence, c Change) (wake int64, err error)
}

// Incoming is a message of a person that may start a run.
type Incoming struct {
	Key    string    // dedupe key: installation, channel and message ts
	Run    Run       // as it would be inserted, State Init, Wake 1
	Follow bool      // it may only follow an unfinished run: it starts none
	Name   string    // of the person, decoration
	Quoted []Message // that come with it as data
	Wishes []Wish
	Audit  []audit.Entry
}

// Accepted says what became of an incoming message.
type Accepted struct {
	Run     string // the run it started or reached; empty when it was a duplicate or nothing to follow
	Started bool
	Seen    bool // the key was seen before
}

// Work is a run with everything it needs to go on.
type Work struct {
	Run       Run
	Turns     []Turn
	Steps     []Step
	Inbox     []Message                      // not yet consumed, in order of arrival
	Approvals map[string]*approvals.Approval // by id, of steps that are not settled
	Paid      map[int]string                 // by step that is allowed: the key of the budget that was paid from
	Asked     string                         // Slack's time of the message with which the run waits for the asker's word; empty: not known
}

// Words says since when the run waits for the asker's word, and under which delivery it
// says so; false while it does not wait.
func (w *Work) Words() (since time.Time, subject string, waits bool) {
	for i := range w.Steps {
		if s := &w.Steps[i]; s.State == StepAsking {
			return s.ProposedAt, QuestionSubject(w.Run.ID, s.N), true
		}
	}
	if w.Run.Closing != HaltNone && w.Run.Answer != "" {
		return w.Run.InputBy.Add(-w.Run.Limits.InputTTL), AnswerSubject(w.Run.ID), true
	}
	return time.Time{}, "", false
}

// Meant says whether words may be meant for what the run waits for: they were said after
// it was there to be read. Words that came late are told apart by Slack's own times.
func (w *Work) Meant(ts string, at time.Time) bool {
	since, _, waits := w.Words()
	switch {
	case !waits || at.Before(since):
		return false
	case ts != "" && w.Asked != "":
		return ts > w.Asked
	}
	sent, ok := SentAt(ts) // it may be there to be read, and its receipt not stored yet
	return !ok || !sent.Before(since)
}

// SentAt reads Slack's time of a message.
func SentAt(ts string) (time.Time, bool) {
	seconds, micros, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	us, failed := strconv.ParseInt(micros, 10, 64)
	return time.Unix(s, us*1000), err == nil && failed == nil
}

// Fence is what a commit must find: the lease, and the wake unless it is negative.
type Fence struct {
	Run   string
	Owner string
	Epoch int64
	Wake  int64 // -1: the run may have been given work meanwhile
	Now   time.Time
	Until time.Time // the lease's new end, written with every commit; zero: unchanged
}

// Change is what one commit writes. Zero fields are not written.
type Change struct {
	Run       *Run   // the header as it should be, without wake and lease and what is fixed at the start; Seen only with Park
	System    string // the system prompt, which the first work on a run fixes
	Park      bool   // give the lease back and set seen: requires a wake in the fence
	Yield     bool   // give the lease back and leave the run due at Run.ReadyAt
	Turn      *Turn
	NewSteps  []Step
	Steps     []StepChange
	Open      []approvals.Approval // with their first revision (and decisions, if any were carried over)
	MostOpen  int                  // pending approvals that the asker may have when these are open; 0: any number
	Payments  []Payment            // of risks that a rule lowered
	Uses      []GrantUse           // of standing grants
	Approvals []ApprovalChange
	Consumed  []Consumed
	Wishes    []Wish
	Audit     []audit.Entry
}

// Payment is what one step takes from the budget of the rule that lowered its risk.
type Payment struct {
	Step int
	policy.Budget
}

// LimitError says which step of a change a count in the database does not allow.
// It matches ErrBudget or ErrOpenLimit; nothing was written.
type LimitError struct {
	Step  int
	Limit error
}

// Error names the step.
func (e *LimitError) Error() string { return fmt.Sprintf("step %d: %s", e.Step, e.Limit) }

// Unwrap gives the limit.
func (e *LimitError) Unwrap() error { return e.Limit }

// StepChange moves a step: compare-and-set on the state, the attempt and the approval
// that were read, so that what is said about one attempt never settles a later one.
type StepChange struct {
	From     StepState
	Attempts int
	Approval string
	Step     Step // as it should be; the proposal is not written
}

// Moved is the change of a step from how it was read to how it should be.
func Moved(before *Step, after Step) StepChange {
	return StepChange{From: before.State, Attempts: before.Attempts, Approval: before.Approval, Step: after}
}

// ApprovalChange moves an approval: compare-and-set on version.
type ApprovalChange struct {
	ID      string
	From    approvals.State
	To      approvals.State
	Version int64 // that was read; -1: whatever it is
	At      time.Time
}

// Consumed says that an inbox message went into a turn's request (or was acted upon).
type Consumed struct {
	ID   string
	Turn int
}

// Wish asks for the delivery of a subject's current state. Wanting the same
// subject again raises its version.
type Wish struct {
	Subject  string // run/<id>/progress, run/<id>/answer, approval/<id>/card/<channel>, home/<user>
	Channel  string
	ThreadTS string
	Priority int // lower goes first
	ReadyAt  time.Time
}

// Priorities of deliveries.
const (
	PriorityCard     = 0
	PriorityAnswer   = 1
	PriorityProgress = 2
	PriorityHome     = 3
	PriorityLater    = 4 // nobody waits for it, and there may be very many
)

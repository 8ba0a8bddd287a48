// Package decisions is the only door through which a verdict enters: people's
// clicks and forms, the command line's, and the scheduler's expiry. Nothing that a
// model's words reach can name it.
package decisions

import (
	"context"
	"errors"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// ErrLocked says that a person's decisions do not count until an operator says so;
// nothing was written.
var ErrLocked = errors.New("this person is locked")

// ErrStands says that something in a locked person's name is not void yet.
var ErrStands = errors.New("what was decided in this person's name is not void yet")

// Case is an approval with what it is about.
type Case struct {
	Run      agent.Run
	Step     agent.Step
	Approval approvals.Approval
	Read     []string // private sources that the run has read
}

// Fixed says that the call can only be made once more exactly as it was, or not at
// all: nobody knows whether it happened, and under its key a service must never get
// other bytes.
func (c *Case) Fixed() bool { return c.Step.State == agent.StepUncertain }

// Store keeps approvals. internal/store implements it on both databases.
type Store interface {
	// Case reads an approval with its revisions, decisions, step and run header, and what
	// the run has read: agent.ErrNotFound when there is none.
	Case(ctx context.Context, approval string) (*Case, error)
	// Step reads the same of a step, but no approval: agent.ErrNotFound when there is none.
	Step(ctx context.Context, run string, step int) (*Case, error)
	// Record writes a change in one transaction: agent.ErrSettled when the
	// approval or a step was not as the change expects, or the run in which it opens
	// one has ended; then nothing was written.
	Record(ctx context.Context, c Change) error
	// Refuse writes the audit entries of something that did not count, or of what
	// people were shown. Refused clicks, as decisions, name the cards that stood there.
	Refuse(ctx context.Context, entries []audit.Entry) error
	// Overdue lists pending approvals whose time is over, those that ended last first.
	// Of their runs, steps and revisions it reads only what their end needs.
	Overdue(ctx context.Context, now time.Time, limit int) ([]Case, error)
	// Expire writes the ends of many approvals in one transaction and says how many it
	// wrote. It leaves out what is no longer overdue, and what somebody is just deciding
	// or working on: that is found again. Runs whose change gives no instant to wake them
	// are woken a gap apart, after all that were woken so before.
	Expire(ctx context.Context, ends []Change, gap time.Duration) (int, error)
	// Opened says whether the person was shown everything of the revision.
	Opened(ctx context.Context, approval string, revision int, who policy.Actor) (bool, error)
}

// Change is what one verdict writes.
type Change struct {
	Run       string
	Approval  string          // empty when only a step is settled
	Version   int64           // that was read: compare-and-set
	From, To  approvals.State // From is part of the compare-and-set
	By        policy.Actor    // the person whose act it is: a locked one's is ErrLocked; zero: the scheduler
	LiveAt    time.Time       // the approval must expire after this instant; zero for expiry itself
	At        time.Time
	Revision  *approvals.Revision // a new one, when edited
	ExpiresAt time.Time           // a new end; zero: as it was
	Decision  *approvals.Decision
	Review    *approvals.Review // what others are asked to look at afterwards
	Void      bool              // the decisions so far no longer count
	VoidOf    policy.Actor      // the decisions of this person no longer count; zero: nobody's
	Steps     []agent.StepChange
	Open      []approvals.Approval
	Wake      bool      // the run is given work and rung
	ReadyAt   time.Time // of the wake; zero: At
	Wishes    []agent.Wish
	Audit     []audit.Entry
}

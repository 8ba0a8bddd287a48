// Package bot is the Slack edge: events in, deliveries out.
package bot

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
)

// Outbox keeps deliveries. A delivery names a subject and the version wanted;
// what is posted is the subject's state at the time of posting.
type Outbox interface {
	// ClaimDeliveries leases up to n deliveries that are due, by priority and age.
	ClaimDeliveries(ctx context.Context, owner string, now, until time.Time, n int) ([]Delivery, error)
	// Intend records, before a first post, that it may happen, with the delivery's hash.
	Intend(ctx context.Context, d Delivery, now time.Time) error
	// Delivered stores the receipt and gives the lease back. It is fenced by owner and epoch.
	Delivered(ctx context.Context, d Delivery, done Receipt) error
	// Pace takes a slot of a method in a channel, at least gap after the one before.
	// Where none is free it takes none and says how long that is so. All replicas
	// share the row.
	Pace(ctx context.Context, method, channel string, now time.Time, gap time.Duration) (time.Duration, error)
	// Hold forbids a method in a channel ("" : everywhere) until an instant.
	Hold(ctx context.Context, method, channel string, until time.Time) error
	// Redraw sends a posted message again although nothing about it changed: somebody
	// deleted it. One that is not ours, or no longer known, means nothing.
	Redraw(ctx context.Context, channel, ts string, now time.Time) error
	// Wish asks for deliveries outside of a run's own commits.
	Wish(ctx context.Context, wishes []agent.Wish, now time.Time) error
}

// Delivery is one subject's row in the outbox.
type Delivery struct {
	Subject  string
	Channel  string
	ThreadTS string
	Priority int
	Version  int64 // wanted
	Done     int64 // delivered
	PostedTS string
	Hash     string // of what was rendered last; of a file the id of its upload
	Intended bool   // a first post may have happened
	Attempts int
	Owner    string
	Epoch    int64
	Since    time.Time // when the version was first wanted
}

// Receipt is what came of a delivery.
type Receipt struct {
	Version  int64 // delivered; 0: none
	PostedTS string
	Hash     string
	Channel  string    // where it went, outside of any thread, when not where it was meant to
	RetryAt  time.Time // when it failed or was put off
	Gone     bool      // it can never be delivered
	Place    bool      // the failure is of this one channel alone
	Error    string
	At       time.Time
	Wishes   []agent.Wish // what follows it, asked for in the same commit
}

// After reads what is left to do when an approval has been given.
type After interface {
	// Unreviewed lists approvals that one person gave alone and nobody looked at, oldest first.
	Unreviewed(ctx context.Context, installation string, n int) ([]decisions.Case, error)
	// Granting lists approvals with an open standing grant of that person's, oldest first.
	Granting(ctx context.Context, installation string, giver policy.Actor, n int) ([]decisions.Case, error)
}

// Places keeps up with what happens to channels, and to what was said there.
type Places interface {
	// MoveChannel gives everything of a channel its new id.
	MoveChannel(ctx context.Context, from, to string) error
	// CloseChannel sends what still waits for people in a channel again, so that it
	// finds the way that is left.
	CloseChannel(ctx context.Context, channel string, now time.Time) error
	// Heard gives what reached a run as the message with a timestamp; nil for nothing.
	Heard(ctx context.Context, run, ts string) (*agent.Message, error)
}

// ErrUnsure says that something may have been stored: the answer to it got lost.
var ErrUnsure = errors.New("it is not known whether it was stored")

// Clicks keeps what people pressed until it has been acted upon.
type Clicks interface {
	// SaveClick stores a click; false when its id was seen. ErrUnsure is among its errors.
	SaveClick(ctx context.Context, c Click) (bool, error)
	// TakeBack keeps a click of which nobody knows whether it was stored from ever being
	// acted upon; false when that is too late.
	TakeBack(ctx context.Context, c Click) (bool, error)
	// OpenClicks lists clicks stored before an instant and not ended.
	OpenClicks(ctx context.Context, before time.Time, n int) ([]Click, error)
	// EndClick says what came of it.
	EndClick(ctx context.Context, id, outcome string, now time.Time) error
	// SaveOpening records that a person was shown everything of a revision.
	SaveOpening(ctx context.Context, approval string, revision int, who policy.Actor, now time.Time) error
	// SeenEvent stores an event's key for deduplication; true when it is new.
	SeenEvent(ctx context.Context, key string, now time.Time) (bool, error)
}

// Click is one press of a button or one submitted form.
type Click struct {
	ID        string // dedupe key
	Action    string // action or callback id
	Actor     policy.Actor
	Channel   string
	MessageTS string
	Run       string
	Step      int
	Approval  string
	Revision  int
	Digest    string
	Input     json.RawMessage // of a form
	At        time.Time
}

// Views reads what is drawn.
type Views interface {
	Load(ctx context.Context, run string) (*agent.Work, error)
	// Attachments are what a run's steps gave beside text, in their order.
	Attachments(ctx context.Context, run string) ([]agent.Attachment, error)
	Case(ctx context.Context, approval string) (*decisions.Case, error)
	// Waiting lists pending approvals of an installation, soonest expiry first.
	Waiting(ctx context.Context, installation string, n int) ([]decisions.Case, error)
	// RunsOf lists a person's latest runs, newest first.
	RunsOf(ctx context.Context, installation string, who policy.Actor, n int) ([]agent.Run, error)
	// OpenRuns lists the unfinished runs of a thread, oldest first.
	OpenRuns(ctx context.Context, t agent.Thread) ([]agent.Run, error)
	// Unfinished lists the runs of an installation that have not ended, oldest first.
	Unfinished(ctx context.Context, installation string, n int) ([]agent.Run, error)
}

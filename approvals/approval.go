// Package approvals holds the request to countersign one step: its revisions,
// its life and its digest. It is pure; verdicts enter through approvals/decisions.
package approvals

import (
	"encoding/json"
	"slices"
	"time"

	"countersign/approvals/policy"
	"countersign/internal/fsm"
	"countersign/tools"
)

// State is where an approval is in its life.
type State string

// The states of an approval.
const (
	Pending    State = "pending"
	Approved   State = "approved"
	Rejected   State = "rejected"
	Answered   State = "answered"
	Expired    State = "expired"
	Cancelled  State = "cancelled"
	Superseded State = "superseded"
	Redeemed   State = "redeemed"
	Lapsed     State = "lapsed"
)

// Machine is the life of an approval.
var Machine = fsm.Machine[State]{Name: "approval", Edges: []fsm.Edge[State]{
	{From: Pending, On: "count", To: Pending},
	{From: Pending, On: "edit", To: Pending},
	{From: Pending, On: "void", To: Pending},
	{From: Pending, On: "approve", To: Approved},
	{From: Pending, On: "reject", To: Rejected},
	{From: Pending, On: "respond", To: Answered},
	{From: Pending, On: "expire", To: Expired},
	{From: Pending, On: "cancel", To: Cancelled},
	{From: Pending, On: "supersede", To: Superseded},
	{From: Approved, On: "void", To: Pending},
	{From: Approved, On: "redeem", To: Redeemed},
	{From: Approved, On: "lapse", To: Lapsed},
	{From: Approved, On: "cancel", To: Cancelled},
}}

// Approval is the request to countersign one step.
type Approval struct {
	ID        string
	Run       string
	Step      int
	Tool      string
	Risk      tools.Risk
	Channel   string // where its card belongs
	ThreadTS  string
	State     State
	Revision  int   // the current one, from 1
	Version   int64 // raised by every change: the compare-and-set key
	OpenedAt  time.Time
	ExpiresAt time.Time
	SettledAt time.Time
	Requester policy.Actor   // the asker of the run
	Shapers   []policy.Actor // who edited the arguments before this approval was opened
	Again     string         // the uncertain step's earlier approval, or the lapsed one that this replaces
	Why       string         // why it was asked again, in words; empty for the first
	Bundle    int            // the first step of those that one press may decide together with this one; 0: none

	// What happens while it waits; none of it is countersigned.
	Claimer    policy.Actor // who said to be at it
	ClaimUntil time.Time
	Reminded   int       // reminders given
	Escalated  time.Time // since when further roles are asked; zero: not yet

	Revisions []Revision
	Decisions []Decision
	Grants    []Grant // that were given on its card
	Review    *Review // of an approval that one person gave alone; nil: none
}

// Revision fixes what is countersigned.
type Revision struct {
	N           int
	Args        json.RawMessage // canonical, exactly what will run
	Requirement policy.Requirement
	Contract    string // hash of the tool's contract
	Preview     *tools.Preview
	Digest      string // over the four above and the approval's id
	By          policy.Actor
	Reason      string // of the editor
	At          time.Time
}

// Verdict is what a decision says.
type Verdict string

// The verdicts. Expire is the scheduler's.
const (
	Approve Verdict = "approve"
	Edit    Verdict = "edit"
	Reject  Verdict = "reject"
	Respond Verdict = "respond"
	Expire  Verdict = "expire"
)

// Decision is one person's verdict on one revision.
type Decision struct {
	ID       string
	Approval string
	Revision int
	Verdict  Verdict
	By       policy.Actor
	Reason   string
	Via      string // slack, cli, scheduler
	Void     bool   // an edit voided it
	Glass    bool   // an approval that one person gave alone in an emergency
	At       time.Time
}

// Current is the revision that a decision must name.
func (a *Approval) Current() *Revision { return &a.Revisions[a.Revision-1] }

// Approvers are the distinct people whose approval of the current revision stands,
// in the order in which they gave it.
func (a *Approval) Approvers() []policy.Actor {
	var people []policy.Actor
	for _, d := range a.Decisions {
		stands := d.Verdict == Approve || d.Verdict == Edit && a.Current().Requirement.EditApproves
		if stands && d.Revision == a.Revision && !d.Void && !slices.ContainsFunc(people, d.By.Same) {
			people = append(people, d.By)
		}
	}
	return people
}

// Approvals counts the distinct people whose approval of the current revision stands.
func (a *Approval) Approvals() int { return len(a.Approvers()) }

// Needs is what the current revision takes now: once it was escalated, further
// roles may decide, as the requirement said from the start.
func (a *Approval) Needs() policy.Requirement {
	needs := a.Current().Requirement
	if a.Escalated.IsZero() {
		return needs
	}
	return needs.Escalated()
}

// Claimed says whether somebody is at it.
func (a *Approval) Claimed(now time.Time) bool { return a.State == Pending && now.Before(a.ClaimUntil) }

// Open says whether the approval still waits or may still be redeemed.
func (a *Approval) Open() bool { return a.State == Pending || a.State == Approved }

// longest is how many times the time of its rule an approval can be open in all: who
// may decide can give it more time, but it never waits for ever.
const longest = 4

// Later is the end that an approval gets when somebody gives it more time now.
func (a *Approval) Later(now time.Time) time.Time {
	ttl := a.Current().Requirement.TTL
	end, last := now.Add(ttl), a.OpenedAt.Add(longest*ttl)
	if end.Before(last) {
		return end
	}
	return last
}

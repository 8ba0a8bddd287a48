package decisions

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/id"
	"countersign/tools"
)

// found is a settlement with what it is about.
type found struct {
	Settlement
	c      *Case
	person policy.Person
	needs  policy.Requirement // that countersigning the call took
}

// runAgain opens a new approval of the arguments that ran, through all gates. A
// *tools.Failure says that the call cannot be made as things are.
func (d *Door) runAgain(ctx context.Context, change *Change, r found) error {
	s, c, needs := r.Settlement, r.c, r.needs
	passed, preview, err := d.asNow(ctx, c, c.Step.Executed)
	if err != nil {
		return err
	}
	switch {
	case passed.Ruling.Outcome == policy.Ask:
		needs = policy.Stricter(needs, passed.Ruling.Needs)
	case passed.Ruling.Budget != nil: // what it could run under was used by the first call
		after := passed.Ruling.AfterAll()
		if after.Outcome == policy.Deny {
			return &tools.Failure{Code: "denied", Message: after.Why}
		}
		if c.Step.Approval != "" || c.Step.Grant != "" {
			after.Needs = policy.Stricter(needs, after.Needs)
		}
		needs = after.Needs
	}
	a, err := d.another(c, passed, preview, again(needs), "the outcome of the first call is not known")
	if err != nil {
		return err
	}
	alike, err := d.alike(ctx, s, c, &a)
	if err != nil {
		return err
	}
	free := passed.Ruling.Outcome == policy.Run && passed.Ruling.Budget == nil // nobody has to countersign it
	shown := c.Approval.ID != "" || free                                       // what had no card was shown to nobody
	d.reopen(change, s.Who, s.Via, c, &a)
	if alike && shown && (free && byAsker(c, needs) || a.Current().Requirement.MayDecide(r.person, a.Requesters()) == nil) {
		d.count(change, s, c, &a)
	}
	change.Open = []approvals.Approval{a}
	return nil
}

// another opens the approval that follows the case's one, of the call as it passed now.
func (d *Door) another(c *Case, p agent.Passed, preview *tools.Preview, needs policy.Requirement, why string) (approvals.Approval, error) {
	now := d.Now()
	return approvals.Open(approvals.Opening{
		ID: id.New("a", now), Run: c.Run.ID, Step: c.Step.N, Spec: p.Spec, Risk: c.Step.Risk, Channel: c.Run.Channel, ThreadTS: c.Run.TS,
		Requester: c.Run.Requester(), Editors: c.Approval.Editors(), Args: p.Args, Contract: p.Contract, Preview: preview, Needs: needs, Now: now,
		Again: c.Step.Approval, Why: why,
	})
}

// count makes the press the first approval of what it opened.
func (d *Door) count(change *Change, s Settlement, c *Case, a *approvals.Approval) {
	by := d.decision(Attempt{ID: s.ID, Approval: a.ID, Verdict: approvals.Approve, Who: s.Who, Via: s.Via}, a.Revision)
	a.Decisions = []approvals.Decision{by}
	kind := "approval.count"
	if a.Enough() {
		a.State, a.SettledAt = approvals.Approved, change.At
		change.Wake, kind = true, "approval.approve"
	}
	change.Audit = append(change.Audit, d.entry(&Case{Run: c.Run, Step: c.Step, Approval: *a}, kind, &by))
}

// asNow passes the call with these arguments through the gates once more.
func (d *Door) asNow(ctx context.Context, c *Case, args json.RawMessage) (agent.Passed, *tools.Preview, error) {
	asker, err := d.Directory.Person(ctx, c.Run.Asker, true)
	if errors.Is(err, agent.ErrNobody) {
		return agent.Passed{}, nil, agent.AskerGone()
	}
	if err != nil {
		return agent.Passed{}, nil, err
	}
	p := d.check(ctx, string(args), c, asker)
	if p.Refusal != nil {
		return p, nil, p.Refusal
	}
	if c.Fixed() && string(p.Args) != string(args) { // under its key a service must never get other bytes
		return p, nil, &tools.Failure{Code: "changed", Message: "the tool reads its arguments differently now"}
	}
	preview, failure := d.preview(ctx, c, p)
	if failure != nil {
		return p, nil, failure
	}
	return p, preview, nil
}

// alike says that whoever wants the call to run again has seen all of what they let run:
// tool, place and effect are those of the first card, they saw the whole of that, and
// nothing else is asked of them. Only then their press is an approval; else the new card
// is there to be read.
func (d *Door) alike(ctx context.Context, s Settlement, c *Case, a *approvals.Approval) (bool, error) {
	first, now := &c.Approval, a.Current()
	if first.ID == "" {
		plain := now.Requirement.StepUp == "" && !now.Requirement.Confirm
		return plain && c.Step.Grant == "" && c.Step.Contract == now.Contract, nil
	}
	then := first.Current()
	switch {
	case first.State != approvals.Redeemed: // a card for a further call, and it came to nothing
		return false, nil
	case now.Requirement.StepUp != "" || now.Requirement.Confirm:
		return false, nil
	case then.Contract != now.Contract || !samePreview(then.Preview, now.Preview):
		return false, nil
	case !s.Unseen:
		return true, nil
	}
	return d.Store.Opened(ctx, first.ID, first.Revision, s.Who)
}

// samePreview compares all that a preview shows, not only what is material.
func samePreview(a, b *tools.Preview) bool {
	x, err := json.Marshal(a)
	y, failed := json.Marshal(b)
	return err == nil && failed == nil && string(x) == string(y)
}

// reopen adds the new approval to the change.
func (d *Door) reopen(change *Change, who policy.Actor, via string, c *Case, a *approvals.Approval) {
	step := c.Step
	step.Approval = a.ID
	change.Steps = []agent.StepChange{agent.Moved(&c.Step, step)}
	change.Wishes = append(change.Wishes, agent.CardWishes(a, d.Cards, change.At)...)
	if d.Notify || a.Risk == tools.High {
		change.Wishes = append(change.Wishes, agent.PeopleWish(a, change.At))
	}
	opened := agent.Opened(a, d.Gate.Policy().Stamp, d.Mask)
	opened.Team, opened.User, opened.Via = who.Team, who.User, via
	change.Audit = append(change.Audit, opened)
}

// again is what a further call takes: what the first one took, and one person at least.
func again(needs policy.Requirement) policy.Requirement {
	needs.Quorum = max(needs.Quorum, 1)
	if needs.TTL == 0 {
		needs.TTL = time.Hour
	}
	return needs
}

package decisions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/tools"
)

// edit makes a new revision with other arguments. Everything is gated anew, what
// people approved before is void, and the requirement never sinks below the one shown.
func (d *Door) edit(ctx context.Context, t Attempt, c *Case, editor policy.Person) (Outcome, error) {
	a := &c.Approval
	if t.Args == "" { // nobody wrote any: it must not be read as a call without arguments
		return d.refuse(ctx, t, c, "not_typed", "")
	}
	asker, err := d.Directory.Person(ctx, c.Run.Asker, false)
	if err != nil {
		return d.refuse(ctx, t, c, unchecked(err), "")
	}
	passed := d.check(ctx, t.Args, c, asker)
	if passed.Refusal != nil {
		return d.refuse(ctx, t, c, "bad_edit", passed.Refusal.Error())
	}
	if passed.Contract != a.Current().Contract { // it changed since we looked: once more
		return Outcome{}, agent.ErrSettled
	}
	if string(passed.Args) == string(a.Current().Args) {
		return d.refuse(ctx, t, c, "same_edit", "")
	}
	preview, failure := d.preview(ctx, c, passed)
	if failure != nil {
		return d.refuse(ctx, t, c, "bad_edit", failure.Error())
	}
	revision, err := d.revise(t, c, passed, preview, editor)
	if err != nil {
		return Outcome{}, err
	}
	return d.record(ctx, c, d.editChange(t, c, revision))
}

func (d *Door) check(ctx context.Context, raw string, c *Case, asker policy.Person) agent.Passed {
	return d.Gate.Check(ctx, agent.Proposal{
		Run: c.Run.ID, Step: strconv.Itoa(c.Step.N), Tool: c.Step.Tool, Raw: raw, Asker: asker, Channel: c.Run.Channel, Read: c.Read,
	})
}

func (d *Door) preview(ctx context.Context, c *Case, p agent.Passed) (*tools.Preview, *tools.Failure) {
	return d.Gate.Preview(ctx, p.Tool, tools.Call{Run: c.Run.ID, Step: strconv.Itoa(c.Step.N), Asker: c.Run.Asker.User, Args: p.Args})
}

func (d *Door) revise(t Attempt, c *Case, p agent.Passed, preview *tools.Preview, editor policy.Person) (approvals.Revision, error) {
	a := &c.Approval
	needs := a.Current().Requirement
	if p.Ruling.Outcome == policy.Ask {
		needs = policy.Stricter(needs, p.Ruling.Needs)
	}
	byEditor := d.Gate.Policy().Judge(policy.Question{Spec: p.Spec, Args: p.Args, Asker: editor, Channel: c.Run.Channel, Read: c.Read})
	if byEditor.Outcome == policy.Ask {
		needs = policy.Stricter(needs, byEditor.Needs)
	}
	if needs.StepUp != "" && !t.Proved || needs.MayDecide(editor, []policy.Actor{a.Requester, c.Run.Asker}) != nil || !written(t.Args, p.Args) {
		// Without a code, by somebody who may not approve what they made of it, or where the
		// call is something else than they wrote, it is no approval.
		needs.EditApproves = false
	}
	r := approvals.Revision{
		N: a.Revision + 1, Args: p.Args, Requirement: needs, Contract: p.Contract, Preview: preview, By: t.Who, Reason: t.Text, At: d.Now(),
	}
	digest, err := a.Seal(r)
	if err != nil {
		return r, fmt.Errorf("seal revision %d of %s: %w", r.N, a.ID, err)
	}
	r.Digest = digest
	return r, nil
}

// written says that the arguments are those that the editor wrote, without a default that
// was filled in or a value that was read as another one.
func written(raw string, args json.RawMessage) bool {
	as, err := tools.Canonical(json.RawMessage(raw))
	return err == nil && bytes.Equal(as, args)
}

func (d *Door) editChange(t Attempt, c *Case, r approvals.Revision) Change {
	decision := d.decision(t, r.N)
	on := "edit"
	if r.Requirement.EditApproves && r.Requirement.Quorum <= 1 {
		on = "approve"
	}
	change := d.change(c, on, &decision)
	change.Revision, change.Void = &r, true
	change.ExpiresAt = d.Now().Add(r.Requirement.TTL)
	last := &change.Audit[len(change.Audit)-1]
	last.Kind, last.Digest = "approval.edit", r.Digest
	last.Data = d.data(map[string]any{"before": string(c.Approval.Current().Args), "after": string(r.Args), "reason": t.Text, "settled": on == "approve"})
	if on == "approve" {
		d.release(&change, c)
	}
	return change
}

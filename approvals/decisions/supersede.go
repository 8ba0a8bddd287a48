package decisions

import (
	"context"
	"errors"
	"fmt"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/tools"
)

// OtherTool says that the tool of an approval is another one than the card was made for:
// its words, its arguments, or where it acts. A tool that is not there may be back before
// the call, which is looked at once more then; the command line has none at all.
func (d *Door) OtherTool(c *Case) bool {
	tool, there := d.Gate.Tools.Get(c.Approval.Tool)
	return there && tools.Contract(tool.Spec()) != c.Approval.Current().Contract
}

// Renew asks anew for a call of what is another tool by now, when somebody who may decide
// wants to edit it. It never lets a verdict in: without a refusal the tool is the card's.
func (d *Door) Renew(ctx context.Context, t Attempt) (Outcome, error) {
	t.Verdict = approvals.Edit
	return d.attempt(ctx, t, func(_ context.Context, _ Attempt, c *Case, _ policy.Person) (Outcome, error) {
		return Outcome{Case: c}, nil
	})
}

// supersede settles an approval of what is another tool by now, in place of counting a
// verdict of somebody who has not read what it would do. In the same commit an approval of
// the call as it stands takes its place, or the call has its result when the gates refuse
// it. It says which of the two, as a key of the catalogue.
func (d *Door) supersede(ctx context.Context, t Attempt, c *Case) (code, detail string, err error) {
	passed, preview, err := d.asNow(ctx, c, c.Approval.Current().Args)
	var no *tools.Failure
	if err != nil && !errors.As(err, &no) {
		return unchecked(err), "", nil
	}
	change := d.change(c, "supersede", nil)
	change.By = t.Who
	e := &change.Audit[0]
	e.Team, e.User, e.Via, e.Data = t.Who.Team, t.Who.User, t.Via, d.data(map[string]any{"why": agent.ToolChanged, "policy": d.Gate.Policy().Stamp})
	code = "superseded"
	if no != nil {
		code, detail = "withdrawn", no.Error()
		d.withdraw(&change, c, no)
	} else if err := d.renew(&change, t, c, passed, preview); err != nil {
		return "", "", err
	}
	if err := d.Store.Record(ctx, change); err != nil {
		return "", "", fmt.Errorf("supersede %s: %w", c.Approval.ID, err)
	}
	return code, detail, nil
}

// renew adds the approval that takes the place of the case's one. It takes at least what
// that one took, and of the same people: who shaped the call still does not count.
func (d *Door) renew(change *Change, t Attempt, c *Case, p agent.Passed, preview *tools.Preview) error {
	needs := c.Approval.Current().Requirement
	if p.Ruling.Outcome == policy.Ask {
		needs = policy.Stricter(needs, p.Ruling.Needs)
	}
	a, err := d.another(c, p, preview, needs, agent.ToolChanged)
	if err != nil {
		return err
	}
	d.reopen(change, t.Who, t.Via, c, &a)
	change.Open = []approvals.Approval{a}
	return nil
}

// withdraw gives a call that may not be made any more its result. One of unknown outcome
// stays so: it is asked about again.
func (d *Door) withdraw(change *Change, c *Case, f *tools.Failure) {
	d.settleStep(change, c, agent.StepRefused, f.Code, "")
	for i := range change.Steps {
		d.Gate.Refuse(&change.Steps[i].Step, f, change.At)
	}
}

package decisions

import (
	"slices"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// after is the case as the change left it: what was recorded need not be read again,
// and what others did since is not taken for it.
func (c *Change) after(before Case) *Case {
	a := &before.Approval
	switch {
	case a.State == approvals.Pending && c.To != approvals.Pending:
		a.SettledAt = c.At
	case c.To == approvals.Pending:
		a.SettledAt = time.Time{}
	}
	a.State, a.Version = c.To, a.Version+1
	if !c.ExpiresAt.IsZero() {
		a.ExpiresAt = c.ExpiresAt
	}
	if c.Revision != nil {
		a.Revisions, a.Revision, a.Reminded = append(slices.Clone(a.Revisions), *c.Revision), c.Revision.N, 0
	}
	a.Decisions = slices.Clone(a.Decisions)
	for i := range a.Decisions {
		d := &a.Decisions[i]
		d.Void = d.Void || c.Void || !c.VoidOf.Zero() && d.By == c.VoidOf
	}
	if c.Decision != nil {
		a.Decisions = append(a.Decisions, *c.Decision)
	}
	if c.Review != nil {
		a.Review = c.Review
	}
	if i := slices.IndexFunc(c.Steps, func(m agent.StepChange) bool { return m.Step.Run == a.Run && m.Step.N == a.Step }); i >= 0 {
		before.Step = c.Steps[i].Step
	}
	return &before
}

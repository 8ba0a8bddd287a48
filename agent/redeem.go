package agent

import (
	"context"
	"fmt"

	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/tools"
)

// ToolChanged says on a card why it asks again: the contract of the tool is another one.
const ToolChanged = "the tool itself changed"

// redeem uses an approval up, once: what it was given for is computed again, and
// if all of it is the same the step executes with the arguments that were shown.
func (w *worker) redeem(ctx context.Context, s *Step) error {
	a := w.open[s.Approval]
	if a == nil || a.State != approvals.Approved {
		return fmt.Errorf("run %s step %d: %w", w.run.ID, s.N, ErrSettled)
	}
	r := a.Current()
	passed, why, err := w.again(ctx, s, a)
	if err != nil {
		return err
	}
	if passed.Refusal != nil {
		return w.withdraw(ctx, s, a, passed.Refusal)
	}
	if why != "" {
		return w.lapse(ctx, s, a, passed, why)
	}
	next := *s
	next.Executed, next.Contract = r.Args, r.Contract
	now := w.a.Now()
	return w.start(ctx, s, next, Change{
		Approvals: []ApprovalChange{{ID: a.ID, From: approvals.Approved, To: approvals.Redeemed, Version: a.Version, At: now}},
		Wishes:    CardWishes(a, w.a.Cards, now),
		Audit: []audit.Entry{{
			At: now, Kind: "approval.redeemed", Run: a.Run, Step: a.Step, Approval: a.ID, Revision: r.N, Digest: r.Digest, Via: "worker",
			Data: w.a.data(map[string]any{"policy": w.a.Gate.Policy().Stamp}),
		}},
	}, r.Preview)
}

// again computes what the approval was given for once more, and says what changed.
func (w *worker) again(ctx context.Context, s *Step, a *approvals.Approval) (Passed, string, error) {
	r := a.Current()
	digest, err := a.Seal(*r)
	if err != nil {
		return Passed{}, "", err
	}
	if digest != r.Digest {
		return Passed{Refusal: &tools.Failure{Code: "tampered", Message: "the stored call is not the one that was countersigned"}}, "", nil
	}
	p, err := w.asNow(ctx, s, r.Args)
	if err != nil || p.Refusal != nil {
		return p, "", err
	}
	switch {
	case p.Contract != r.Contract:
		return p, ToolChanged, nil
	case string(p.Args) != string(r.Args):
		return p, "the arguments read differently now", nil
	case p.Ruling.Outcome == policy.Ask && !policy.Covers(r.Requirement, p.Ruling.Needs):
		return p, "the policy asks for more now", nil
	}
	return p, w.effectChanged(ctx, s, p, r), nil
}

func (w *worker) effectChanged(ctx context.Context, s *Step, p Passed, r *approvals.Revision) string {
	preview, failure := w.a.Gate.Preview(ctx, p.Tool, w.call(s, r.Args, nil))
	if failure != nil {
		return "the effect can no longer be shown: " + failure.Message
	}
	if preview.Fingerprint() == r.Preview.Fingerprint() {
		return ""
	}
	return fmt.Sprintf("the effect changed: shown was %q, now it is %q", summaryOf(r.Preview), summaryOf(preview))
}

func summaryOf(p *tools.Preview) string {
	if p == nil {
		return "nothing"
	}
	return orDefault(p.Summary, p.Untried)
}

// withdraw settles a step whose approval is worth nothing any more. A step whose
// first outcome is unknown stays so: it is asked about again.
func (w *worker) withdraw(ctx context.Context, s *Step, a *approvals.Approval, f *tools.Failure) error {
	if s.State == StepUncertain {
		return w.stillUnknown(ctx, s, a, f.Message)
	}
	next := *s
	w.refuse(&next, f)
	return w.giveUp(ctx, s, next, a, f.Message)
}

func (w *worker) stillUnknown(ctx context.Context, s *Step, a *approvals.Approval, why string) error {
	c := w.lapsed(a, why)
	c.Wishes = append(c.Wishes, questionWish(&w.run, s.N, w.a.Now()))
	return w.commit(ctx, c, true)
}

// lapse lets an approval go because what it was given for changed, and asks again
// with what is true now. A second lapse of one run stops with a question to the person.
func (w *worker) lapse(ctx context.Context, s *Step, a *approvals.Approval, p Passed, why string) error {
	w.run.Counters.Lapses++
	next := *s
	switch {
	case s.State == StepUncertain:
		return w.stillUnknown(ctx, s, a, why)
	case w.run.Counters.Lapses > 1:
		return w.lapseTwice(ctx, s, a, why)
	}
	preview, failure := w.a.Gate.Preview(ctx, p.Tool, w.call(s, p.Args, nil))
	if failure != nil {
		return w.withdraw(ctx, s, a, failure)
	}
	if p.Ruling.Outcome != policy.Ask {
		p.Ruling.Needs = a.Current().Requirement
	}
	p.Ruling.Needs = policy.Stricter(a.Current().Requirement, p.Ruling.Needs)
	fresh, err := w.openApproval(s, p, preview)
	if err != nil {
		return err
	}
	fresh.Again, fresh.Why, fresh.Shapers = a.ID, why, a.Editors()
	next.State, next.Approval = StepAwaiting, fresh.ID
	c := w.lapsed(a, why)
	c.Steps = []StepChange{Moved(s, next)}
	w.addApproval(&c, fresh)
	if err := w.commit(ctx, c, true); err != nil {
		return err
	}
	*s = next
	w.open[fresh.ID] = &fresh
	return nil
}

func (w *worker) lapseTwice(ctx context.Context, s *Step, a *approvals.Approval, why string) error {
	text, err := w.a.Prompts.Render("twice", why)
	if err != nil {
		return err
	}
	next := *s
	w.refuse(&next, &tools.Failure{Code: "lapsed", Message: text, Looked: true})
	w.run.Closing = HaltUncertain
	return w.giveUp(ctx, s, next, a, why)
}

func (w *worker) giveUp(ctx context.Context, s *Step, next Step, a *approvals.Approval, why string) error {
	c := w.lapsed(a, why)
	c.Steps = []StepChange{Moved(s, next)}
	*s = next
	if err := w.settle(&c); err != nil {
		return err
	}
	return w.commit(ctx, c, true)
}

func (w *worker) lapsed(a *approvals.Approval, why string) Change {
	now := w.a.Now()
	return Change{
		Approvals: []ApprovalChange{{ID: a.ID, From: approvals.Approved, To: approvals.Lapsed, Version: a.Version, At: now}},
		Wishes:    CardWishes(a, w.a.Cards, now),
		Audit: []audit.Entry{{
			At: now, Kind: "approval.lapsed", Run: a.Run, Step: a.Step, Approval: a.ID, Revision: a.Revision, Via: "worker",
			Data: w.a.data(map[string]any{"why": why}),
		}},
	}
}

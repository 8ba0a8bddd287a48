package decisions

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/audit"
	"countersign/tools"
)

// StepRef names one step.
type StepRef struct {
	Run string
	N   int
}

// ProbeDue asks the tools of calls whose outcome is not known whether they happened.
// A clear answer settles the step as a person's would; without one, people are still
// asked. A "did not happen" counts only when the first call is surely over.
func (d *Door) ProbeDue(ctx context.Context) error {
	refs, err := d.Care.Uncertain(ctx, batch)
	if err != nil {
		return fmt.Errorf("read steps of unknown outcome: %w", err)
	}
	for _, ref := range refs {
		if err := d.probe(ctx, ref); err != nil && !errors.Is(err, agent.ErrSettled) {
			return fmt.Errorf("probe step %d of %s: %w", ref.N, ref.Run, err)
		}
	}
	return nil
}

func (d *Door) probe(ctx context.Context, ref StepRef) error {
	c, err := d.Store.Step(ctx, ref.Run, ref.N)
	if err != nil {
		return err
	}
	step := &c.Step
	tool, _ := d.Gate.Tools.Get(step.Tool)
	prober, ok := tool.(tools.Prober)
	if !ok || step.State != agent.StepUncertain || step.Contract != tools.Contract(tool.Spec()) {
		return nil // another tool, or the same one elsewhere, knows nothing of this call
	}
	if _, err := d.needsOf(ctx, c); err != nil {
		return err
	}
	if c.Approval.ID != "" && c.Approval.Open() {
		return nil // somebody is about to run it again
	}
	found := d.ask(ctx, prober, c)
	late := !d.Now().Before(d.Safe(step))
	switch {
	case found == tools.ProbedHappened:
		return d.probed(ctx, c, true)
	case found == tools.ProbedNot && late:
		return d.probed(ctx, c, false)
	}
	return nil
}

func (d *Door) ask(ctx context.Context, p tools.Prober, c *Case) tools.Probed {
	ctx, cancel := context.WithTimeout(ctx, d.Gate.Timeout)
	defer cancel()
	call := tools.Call{Run: c.Run.ID, Step: strconv.Itoa(c.Step.N), Asker: c.Run.Asker.User, Args: c.Step.Executed}
	if c.Approval.State == approvals.Redeemed { // a later card, which came to nothing, showed no effect of this call
		call.Preview = c.Approval.Current().Preview
	}
	found, err := p.Probe(ctx, call)
	if err != nil {
		d.Logger.WarnContext(ctx, "a probe failed", "run", c.Run.ID, "step", c.Step.N, "error", d.Mask(err.Error()))
		return tools.ProbedUnknown
	}
	return found
}

// probed settles a step by what its tool answered.
func (d *Door) probed(ctx context.Context, c *Case, happened bool) error {
	text, err := d.Prompts.Render("probed", map[string]bool{"Happened": happened})
	if err != nil {
		return err
	}
	now, step := d.Now(), c.Step
	step.State, step.Code, step.EndedAt = agent.StepFailed, "not_happened", now
	if happened {
		step.State, step.Code, step.Effect = agent.StepSucceeded, "", step.Tool+" (confirmed by its service)"
	}
	step.Observation, step.Outcome = text, tools.Digest("outcome", text)
	change := Change{
		Run: c.Run.ID, At: now, Wake: true, Steps: []agent.StepChange{agent.Moved(&c.Step, step)},
		Wishes: []agent.Wish{questionWish(c, now), progressWish(c, now)},
		Audit: []audit.Entry{{
			At: now, Kind: "uncertain.probed", Run: c.Run.ID, Step: c.Step.N, Approval: c.Step.Approval, Via: "scheduler",
			Data: d.data(map[string]any{"happened": happened}),
		}},
	}
	if c.Approval.ID != "" {
		change.Wishes = append(change.Wishes, agent.CardWishes(&c.Approval, d.Cards, now)...)
	}
	return d.Store.Record(ctx, change)
}

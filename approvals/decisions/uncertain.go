package decisions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/tools"
)

// Finding is what a person says of a call whose outcome is not known.
type Finding string

// The findings.
const (
	Happened Finding = "happened"
	RunAgain Finding = "run"
	GiveUp   Finding = "stop"
)

// Settlement is a person's try to settle an uncertain step.
type Settlement struct {
	ID      string // of the click
	Run     string
	Step    int
	Attempt int // of the call that the person was asked about; 0: the question did not say, and the first is meant
	Finding Finding
	Who     policy.Actor
	Via     string
	Unseen  bool // the first card could not show everything: running again counts only for somebody who opened all of it
}

// Settle lets people who may countersign a call say what became of it.
func (d *Door) Settle(ctx context.Context, s Settlement) (Outcome, error) {
	person, err := d.Directory.Person(ctx, s.Who, true)
	if err != nil {
		return d.refuseFinding(ctx, s, "cannot_check", "")
	}
	for range tries {
		if out, err := d.settleOnce(ctx, s, person); !errors.Is(err, agent.ErrSettled) {
			return out, err
		}
	}
	return Outcome{}, fmt.Errorf("settle step %d of %s: too many people at once", s.Step, s.Run)
}

func (d *Door) settleOnce(ctx context.Context, s Settlement, person policy.Person) (Outcome, error) {
	c, err := d.Store.Step(ctx, s.Run, s.Step)
	if errors.Is(err, agent.ErrNotFound) {
		return d.refuseFinding(ctx, s, "unknown", "")
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("read step %d of %s: %w", s.Step, s.Run, err)
	}
	needs, err := d.needsOf(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	if code, detail := d.objectionTo(s, c, needs, person); code != "" {
		return d.refuseFinding(ctx, s, code, detail)
	}
	change, err := d.finding(ctx, found{s, c, person, needs})
	var no *tools.Failure
	if errors.As(err, &no) {
		return d.refuseFinding(ctx, s, "cannot_rerun", no.Message)
	}
	if err != nil {
		return Outcome{}, err
	}
	if err := d.Store.Record(ctx, change); err != nil {
		if errors.Is(err, ErrLocked) {
			return d.refuseFinding(ctx, s, "locked", "")
		}
		return Outcome{}, fmt.Errorf("settle step %d of %s: %w", s.Step, s.Run, err)
	}
	if s.Finding == GiveUp {
		return Outcome{Case: c}, d.voidGrant(ctx, c.Step.Grant)
	}
	return Outcome{Case: c}, nil
}

func (d *Door) objectionTo(s Settlement, c *Case, needs policy.Requirement, person policy.Person) (code, detail string) {
	if c.Step.State != agent.StepUncertain || c.Approval.Open() {
		return "settled", string(c.Step.State)
	}
	if max(s.Attempt, 1) != c.Step.Attempts {
		return "stale", ""
	}
	if !byAsker(c, needs) || s.Who != c.Run.Asker {
		if r := needs.MayDecide(person, []policy.Actor{c.Run.Requester()}); r != nil {
			return r.Code, r.Role
		}
	}
	if s.Finding == RunAgain && agent.RunMachine.Terminal(c.Run.State) {
		return "nothing_running", "" // nobody would redeem that approval
	}
	if s.Finding == RunAgain && d.Now().Before(d.Safe(&c.Step)) {
		return "too_early", ""
	}
	return "", ""
}

// byAsker says that the asker alone settles a call: nobody countersigned it.
func byAsker(c *Case, needs policy.Requirement) bool {
	return len(needs.Approvers) == 0 || c.Step.Risk == tools.Medium && c.Step.Approval == ""
}

// Safe is from when on an uncertain call may be run again: the first one's lease
// and timeout are over by then.
func (d *Door) Safe(s *agent.Step) time.Time {
	timeout := d.Gate.Timeout
	if t, ok := d.Gate.Tools.Get(s.Tool); ok && t.Spec().Timeout > 0 {
		timeout = t.Spec().Timeout
	}
	return s.StartedAt.Add(timeout + d.Lease)
}

// needsOf is what countersigning the step takes: what its card said, or that of the
// standing grant under which it ran, or the policy's default for a call that had
// neither. It fills in the step's approval.
func (d *Door) needsOf(ctx context.Context, c *Case) (policy.Requirement, error) {
	if c.Step.Approval == "" && c.Step.Grant != "" {
		g, err := d.Grants.Grant(ctx, c.Step.Grant)
		if err != nil {
			return policy.Requirement{}, fmt.Errorf("read the grant %s: %w", c.Step.Grant, err)
		}
		return g.Requirement, nil
	}
	if c.Step.Approval == "" {
		return d.Gate.Policy().Default, nil
	}
	old, err := d.Store.Case(ctx, c.Step.Approval)
	if err != nil {
		return policy.Requirement{}, fmt.Errorf("read approval %s: %w", c.Step.Approval, err)
	}
	c.Approval = old.Approval
	return old.Approval.Current().Requirement, nil
}

func (d *Door) finding(ctx context.Context, r found) (Change, error) {
	now, s, c := d.Now(), r.Settlement, r.c
	change := Change{Run: c.Run.ID, At: now, By: s.Who, Wishes: []agent.Wish{questionWish(c, now), progressWish(c, now)}}
	if c.Step.Approval != "" {
		change.Wishes = append(change.Wishes, agent.CardWishes(&c.Approval, d.Cards, now)...)
	}
	change.Audit = []audit.Entry{{
		At: now, Kind: "uncertain." + string(s.Finding), Run: s.Run, Step: s.Step, Approval: c.Step.Approval,
		Team: s.Who.Team, User: s.Who.User, Via: s.Via, Data: "{}",
	}}
	if s.Finding == RunAgain {
		return change, d.runAgain(ctx, &change, r)
	}
	step := c.Step
	name := "happened"
	step.State, step.Code, step.EndedAt = agent.StepSucceeded, "", now
	if s.Finding == GiveUp {
		name = "stopped"
		step.State, step.Code = agent.StepFailed, agent.CodeStopped
	} else {
		step.Effect = step.Tool + " (confirmed by a person)"
	}
	text, err := d.Prompts.Render(name, map[string]string{"By": s.Who.User})
	if err != nil {
		return change, err
	}
	step.Observation, step.Outcome = text, tools.Digest("outcome", text)
	change.Steps, change.Wake = []agent.StepChange{agent.Moved(&c.Step, step)}, true
	return change, nil
}

func (d *Door) refuseFinding(ctx context.Context, s Settlement, code, detail string) (Outcome, error) {
	e := audit.Entry{
		At: d.Now(), Kind: "click.refused", Run: s.Run, Step: s.Step, Team: s.Who.Team, User: s.Who.User, Via: s.Via,
		Data: d.data(map[string]any{"finding": s.Finding, "why": code}),
	}
	if err := d.Store.Refuse(ctx, []audit.Entry{e}); err != nil {
		return Outcome{}, fmt.Errorf("audit a refusal: %w", err)
	}
	return Outcome{Refused: code, Detail: detail}, nil
}

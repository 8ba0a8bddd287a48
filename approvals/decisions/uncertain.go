package decisions

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/id"
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
	Finding Finding
	Who     policy.Actor
	Via     string
}

// Settle lets people who may countersign a call say what became of it. Running it
// again is a new approval of the same arguments, with their approval counted.
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
	run, step, err := d.Store.Step(ctx, s.Run, s.Step)
	if errors.Is(err, agent.ErrNotFound) {
		return d.refuseFinding(ctx, s, "unknown", "")
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("read step %d of %s: %w", s.Step, s.Run, err)
	}
	c := &Case{Run: *run, Step: *step}
	needs, err := d.needsOf(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	if code, detail := d.objectionTo(s, c, needs, person); code != "" {
		return d.refuseFinding(ctx, s, code, detail)
	}
	change, err := d.finding(s, c, needs)
	if err != nil {
		return Outcome{}, err
	}
	if err := d.Store.Record(ctx, change); err != nil {
		if errors.Is(err, ErrLocked) {
			return d.refuseFinding(ctx, s, "locked", "")
		}
		return Outcome{}, fmt.Errorf("settle step %d of %s: %w", s.Step, s.Run, err)
	}
	return Outcome{Case: c}, nil
}

func (d *Door) objectionTo(s Settlement, c *Case, needs policy.Requirement, person policy.Person) (code, detail string) {
	if c.Step.State != agent.StepUncertain || c.Approval.Open() {
		return "settled", string(c.Step.State)
	}
	byAsker := len(needs.Approvers) == 0 || c.Step.Risk == tools.Medium && c.Step.Approval == ""
	if !byAsker || s.Who != c.Run.Asker {
		if r := needs.MayDecide(person, []policy.Actor{c.Run.Asker}); r != nil {
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

func (d *Door) finding(s Settlement, c *Case, needs policy.Requirement) (Change, error) {
	now := d.Now()
	change := Change{Run: c.Run.ID, At: now, By: s.Who, Wishes: []agent.Wish{questionWish(c, now), progressWish(c, now)}}
	if c.Step.Approval != "" {
		change.Wishes = append(change.Wishes, agent.CardWishes(&c.Approval, d.Cards, now)...)
	}
	change.Audit = []audit.Entry{{
		At: now, Kind: "uncertain." + string(s.Finding), Run: s.Run, Step: s.Step, Approval: c.Step.Approval,
		Team: s.Who.Team, User: s.Who.User, Via: s.Via, Data: "{}",
	}}
	if s.Finding == RunAgain {
		return change, d.runAgain(&change, s, c, needs)
	}
	step := c.Step
	name := "happened"
	step.State, step.Code, step.EndedAt = agent.StepSucceeded, "", now
	if s.Finding == GiveUp {
		name = "stopped"
		step.State, step.Code = agent.StepFailed, "stopped"
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

// runAgain opens a new approval of the arguments that ran, with this person's approval in it.
func (d *Door) runAgain(change *Change, s Settlement, c *Case, needs policy.Requirement) error {
	tool, ok := d.Gate.Tools.Get(c.Step.Tool)
	if !ok {
		return fmt.Errorf("the tool %s is no longer there", c.Step.Tool)
	}
	preview, failure := d.Gate.Preview(context.Background(), tool, tools.Call{Run: c.Run.ID, Step: strconv.Itoa(c.Step.N), Asker: c.Run.Asker.User, Args: c.Step.Executed})
	if failure != nil {
		preview = &tools.Preview{Untried: failure.Message}
	}
	now := d.Now()
	a, err := approvals.Open(approvals.Opening{
		ID: id.New("a", now), Run: c.Run.ID, Step: c.Step.N, Spec: tool.Spec(), Risk: c.Step.Risk, Channel: c.Run.Channel, ThreadTS: c.Run.TS,
		Requester: c.Run.Asker, Args: c.Step.Executed, Contract: tools.Contract(tool.Spec()), Preview: preview, Needs: again(needs), Now: now,
		Again: c.Step.Approval, Why: "the outcome of the first call is not known",
	})
	if err != nil {
		return err
	}
	a.Decisions = []approvals.Decision{{ID: s.ID, Approval: a.ID, Revision: 1, Verdict: approvals.Approve, By: s.Who, Via: s.Via, At: now}}
	if a.Enough() {
		a.State, a.SettledAt = approvals.Approved, now
		change.Wake = true
	}
	step := c.Step
	step.Approval = a.ID
	change.Steps = []agent.StepChange{agent.Moved(&c.Step, step)}
	change.Open = []approvals.Approval{a}
	change.Wishes = append(change.Wishes, agent.CardWishes(&a, d.Cards, now)...)
	if d.Notify || a.Risk == tools.High {
		change.Wishes = append(change.Wishes, agent.PeopleWish(&a, now))
	}
	change.Audit = append(change.Audit, audit.Entry{
		At: now, Kind: "approval.opened", Run: a.Run, Step: a.Step, Approval: a.ID, Revision: 1, Digest: a.Current().Digest,
		Team: s.Who.Team, User: s.Who.User, Via: s.Via, Data: d.data(map[string]any{"tool": a.Tool, "arguments": string(c.Step.Executed), "why": a.Why}),
	})
	return nil
}

// again is what a further call takes: what the first one took, and one person at least.
func again(needs policy.Requirement) policy.Requirement {
	needs.Quorum = max(needs.Quorum, 1)
	if needs.TTL == 0 {
		needs.TTL = time.Hour
	}
	return needs
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

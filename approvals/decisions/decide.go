package decisions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"countersign/agent"
	"countersign/agent/prompts"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/seal"
	"countersign/tools"
)

// Config wires the door.
type Config struct {
	Store     Store
	Care      Care
	Factors   Factors
	Box       seal.Box // opens the secrets of one-time codes
	Reviews   Reviews
	Grants    Grants
	Bounds    GrantBounds // of standing grants
	Directory agent.Directory
	Clock     func() error // an error while our clock cannot be trusted; nil: it can
	Gate      *agent.Gate
	Prompts   *prompts.Prompts
	Now       func() time.Time
	Logger    *slog.Logger
	Cards     string // a channel that gets every card too; empty: none
	Lease     time.Duration
	PerMinute int                 // runs that expiry wakes in a minute; 0: any number
	Mask      func(string) string // hides secrets in what the record shows
	Notify    bool                // approvers are told privately of every card
	Remind    []time.Duration     // before expiry
	Escalate  time.Duration       // after opening; 0: never
}

// Door lets verdicts in. It is safe for use by several goroutines and replicas:
// every verdict is one compare-and-set.
type Door struct{ Config }

// New makes a Door.
func New(c Config) *Door {
	if c.Clock != nil {
		c.Directory = timely{c.Directory, c.Clock}
	}
	return &Door{Config: c}
}

// Attempt is a person's try to decide.
type Attempt struct {
	ID       string // of the click: becomes the decision's id
	Approval string
	Revision int
	Digest   string
	Verdict  approvals.Verdict
	Args     string // of an edit: the new arguments as JSON
	Text     string // the reason, or the answer of a respond
	Who      policy.Actor
	Via      string // slack, cli
	Proved   bool   // a one-time code of the person was right just now
	Together int    // calls that the same press decides; 0: this one alone
	Glass    bool   // an approval alone in an emergency
	Unseen   bool   // the card could not show everything: it counts only for somebody who opened all of it
}

// Outcome says what came of an attempt.
type Outcome struct {
	Case    *Case  // as the attempt left it
	Refused string // why it did not count: a key of the message catalogue; empty: it counted
	Detail  string // a value that the sentence needs
}

// tries is how often an attempt starts over when others decide at the same time.
const tries = 8

// Decide lets one verdict in, or says why it does not count. It never decides
// anything else than the revision and digest that the person was shown.
func (d *Door) Decide(ctx context.Context, t Attempt) (Outcome, error) {
	return d.attempt(ctx, t, d.judge)
}

// attempt lets somebody go on with an approval that they may decide, as often as it takes.
func (d *Door) attempt(ctx context.Context, t Attempt, on entered) (Outcome, error) {
	person, err := d.Directory.Person(ctx, t.Who, true)
	if err != nil {
		d.Logger.WarnContext(ctx, "a decider cannot be looked up", "user", t.Who.User, "error", err)
		return d.refuse(ctx, t, nil, unchecked(err), "")
	}
	for range tries {
		out, err := d.once(ctx, t, person, on)
		if errors.Is(err, ErrLocked) {
			return d.refuse(ctx, t, nil, "locked", "")
		}
		if !errors.Is(err, agent.ErrSettled) {
			return out, err
		}
	}
	return Outcome{}, fmt.Errorf("decide %s: too many people at once", t.Approval)
}

// entered is what somebody does who may decide a case.
type entered func(ctx context.Context, t Attempt, c *Case, person policy.Person) (Outcome, error)

func (d *Door) once(ctx context.Context, t Attempt, person policy.Person, on entered) (Outcome, error) {
	c, out, err := d.subject(ctx, t)
	if c == nil {
		return out, err
	}
	code, detail, err := d.barred(ctx, t, c, person)
	if err != nil {
		return Outcome{}, err
	}
	if code != "" {
		return d.refuse(ctx, t, c, code, detail)
	}
	return on(ctx, t, c, person)
}

// judge lets the verdict itself in.
func (d *Door) judge(ctx context.Context, t Attempt, c *Case, person policy.Person) (Outcome, error) {
	code, err := d.objection(ctx, t, c)
	if err != nil {
		return Outcome{}, err
	}
	if code != "" {
		return d.refuse(ctx, t, c, code, "")
	}
	return d.apply(ctx, t, c, person)
}

// enter looks up who tries, and what about. Without a case the outcome says why the
// attempt does not count.
func (d *Door) enter(ctx context.Context, t Attempt) (who policy.Person, c *Case, out Outcome, err error) {
	if who, err = d.Directory.Person(ctx, t.Who, true); err != nil {
		out, err = d.refuse(ctx, t, nil, unchecked(err), "")
		return who, nil, out, err
	}
	c, out, err = d.subject(ctx, t)
	return who, c, out, err
}

// subject reads what an attempt is about. Without a case the outcome says why the
// attempt does not count.
func (d *Door) subject(ctx context.Context, t Attempt) (*Case, Outcome, error) {
	c, err := d.Store.Case(ctx, t.Approval)
	if errors.Is(err, agent.ErrNotFound) {
		out, err := d.refuse(ctx, t, nil, "unknown", "")
		return nil, out, err
	}
	if err != nil {
		return nil, Outcome{}, fmt.Errorf("read approval %s: %w", t.Approval, err)
	}
	return c, Outcome{}, nil
}

// barred says why an attempt cannot be about a case at all, in the order in which a person
// would ask. What is another tool by now is asked for anew.
func (d *Door) barred(ctx context.Context, t Attempt, c *Case, person policy.Person) (code, detail string, err error) {
	a, now := &c.Approval, d.Now()
	switch {
	case c.Run.Installation == "" || c.Run.ID != a.Run:
		return "unknown", "", nil
	case a.State != approvals.Pending:
		return "settled", string(a.State), nil
	case t.Revision != a.Revision || t.Digest != a.Current().Digest:
		return "stale", "", nil
	case !now.Before(a.ExpiresAt):
		return "settled", string(approvals.Expired), d.expire(ctx, c, now)
	case c.Fixed() && (t.Verdict == approvals.Edit || t.Verdict == approvals.Respond):
		return "fixed_call", "", nil
	}
	needs := a.Needs()
	requesters := a.Requesters()
	if t.Together > 0 && !needs.Batch {
		return "not_batch", "", nil
	}
	r := needs.MayDecide(person, requesters)
	if t.Glass {
		r = needs.MayBreakGlass(person, requesters)
	}
	if r != nil {
		return r.Code, r.Role, nil
	}
	if (t.Verdict == approvals.Approve || t.Verdict == approvals.Edit) && d.OtherTool(c) {
		return d.supersede(ctx, t, c)
	}
	return "", "", nil
}

// objection says why a verdict of somebody who may decide does not count.
func (d *Door) objection(ctx context.Context, t Attempt, c *Case) (code string, err error) {
	a := &c.Approval
	needs := a.Needs()
	if t.Glass {
		if code := glassObjection(t); code != "" {
			return code, nil
		}
	}
	approves := t.Verdict == approvals.Approve || t.Verdict == approvals.Edit && needs.EditApproves
	if needs.StepUp != "" && !t.Proved && approves {
		return "code_needed", nil
	}
	if t.Verdict == approvals.Approve && !t.Glass && slices.ContainsFunc(a.Approvers(), t.Who.Same) {
		return "counted", nil
	}
	if !approves || !t.Unseen {
		return "", nil
	}
	seen, err := d.Opened(ctx, a, t.Who)
	if err == nil && !seen {
		return "unseen", nil
	}
	return "", err
}

// Opened says whether somebody was shown everything of an approval as it is.
func (d *Door) Opened(ctx context.Context, a *approvals.Approval, who policy.Actor) (bool, error) {
	seen, err := d.Store.Opened(ctx, a.ID, a.Revision, who)
	if err != nil {
		return false, fmt.Errorf("read openings of %s: %w", a.ID, err)
	}
	return seen, nil
}

func (d *Door) apply(ctx context.Context, t Attempt, c *Case, person policy.Person) (Outcome, error) {
	switch t.Verdict {
	case approvals.Approve:
		return d.approve(ctx, t, c)
	case approvals.Reject:
		return d.reject(ctx, t, c)
	case approvals.Respond:
		return d.respond(ctx, t, c)
	case approvals.Edit:
		return d.edit(ctx, t, c, person)
	}
	return d.refuse(ctx, t, c, "unknown", "")
}

// approve counts distinct people; enough of them let the step run.
func (d *Door) approve(ctx context.Context, t Attempt, c *Case) (Outcome, error) {
	decision := d.decision(t, c.Approval.Revision)
	after := c.Approval
	after.Decisions = append(append([]approvals.Decision{}, after.Decisions...), decision)
	change := d.change(c, "count", &decision)
	if after.Enough() {
		change = d.change(c, "approve", &decision)
		d.release(&change, c)
	}
	if t.Glass {
		d.announce(&change, c)
	}
	return d.record(ctx, c, change)
}

// release lets the step run and gives the run work. An uncertain step stays as it
// is: the worker runs it again from there.
func (d *Door) release(change *Change, c *Case) {
	if c.Step.State == agent.StepAwaiting {
		step := c.Step
		step.State = agent.StepAllowed
		change.Steps = append(change.Steps, agent.Moved(&c.Step, step))
	}
	change.Wake = true
}

func (d *Door) reject(ctx context.Context, t Attempt, c *Case) (Outcome, error) {
	text, err := d.Prompts.Render("rejected", map[string]string{"By": t.Who.User, "Reason": t.Text})
	if err != nil {
		return Outcome{}, err
	}
	decision := d.decision(t, c.Approval.Revision)
	change := d.change(c, "reject", &decision)
	d.settleStep(&change, c, agent.StepRefused, "rejected", text)
	return d.record(ctx, c, change)
}

func (d *Door) respond(ctx context.Context, t Attempt, c *Case) (Outcome, error) {
	if t.Text == "" {
		return d.refuse(ctx, t, c, "empty", "")
	}
	text, err := d.Prompts.Render("responded", map[string]string{"By": t.Who.User, "Text": t.Text})
	if err != nil {
		return Outcome{}, err
	}
	decision := d.decision(t, c.Approval.Revision)
	change := d.change(c, "respond", &decision)
	d.settleStep(&change, c, agent.StepAnswered, "answered", text)
	return d.record(ctx, c, change)
}

// settleStep gives the step its one result in the same commit as the verdict.
func (d *Door) settleStep(change *Change, c *Case, to agent.StepState, code, text string) {
	change.Wake = true
	if c.Step.State != agent.StepAwaiting {
		change.Wishes = append(change.Wishes, questionWish(c, d.Now()))
		return // of an uncertain step only the further call was refused
	}
	step := c.Step
	step.State, step.Code, step.Observation, step.EndedAt = to, code, text, d.Now()
	if step.Private && change.Decision != nil && change.Decision.Reason != "" { // the card keeps it from the channel
		step.Sources = []string{step.Tool}
	}
	change.Steps = append(change.Steps, agent.Moved(&c.Step, step))
}

func (d *Door) decision(t Attempt, revision int) approvals.Decision {
	if t.Together > 0 {
		t.Via += fmt.Sprintf(", one press for %d calls", t.Together)
	}
	if t.Proved {
		t.Via += ", with a code"
	}
	return approvals.Decision{
		ID: t.ID, Approval: t.Approval, Revision: revision, Verdict: t.Verdict, By: t.Who, Reason: t.Text, Via: t.Via, Glass: t.Glass, At: d.Now(),
	}
}

// change starts a change of an approval along its table.
func (d *Door) change(c *Case, on string, decision *approvals.Decision) Change {
	a, now := &c.Approval, d.Now()
	to, err := approvals.Machine.Fire(a.State, on)
	if err != nil {
		to = a.State // the compare-and-set on From then finds nothing to change
	}
	change := Change{
		Run: a.Run, Approval: a.ID, Version: a.Version, From: a.State, To: to, LiveAt: now, At: now, Decision: decision,
		Wishes: append(agent.CardWishes(a, d.Cards, now), progressWish(c, now)),
	}
	if decision != nil {
		change.By = decision.By
	}
	if d.Notify || a.Reminded > 0 || decision != nil && a.Risk == tools.High {
		change.Wishes = append(change.Wishes, agent.PeopleWish(a, now))
	}
	change.Audit = append(change.Audit, d.entry(c, "approval."+on, decision))
	return change
}

func (d *Door) entry(c *Case, kind string, decision *approvals.Decision) audit.Entry {
	a := &c.Approval
	e := audit.Entry{
		At: d.Now(), Kind: kind, Run: a.Run, Step: a.Step, Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Via: "scheduler", Data: "{}",
	}
	if decision != nil {
		e.Team, e.User, e.Via, e.Revision = decision.By.Team, decision.By.User, decision.Via, decision.Revision
		e.Data = d.data(map[string]any{"verdict": decision.Verdict, "reason": decision.Reason, "policy": d.Gate.Policy().Stamp})
	}
	return e
}

func (d *Door) data(fields map[string]any) string { return audit.Data(fields, d.Mask) }

func (d *Door) record(ctx context.Context, c *Case, change Change) (Outcome, error) {
	if err := d.Store.Record(ctx, change); err != nil {
		return Outcome{}, fmt.Errorf("record %s on %s: %w", change.To, change.Approval, err)
	}
	return Outcome{Case: change.after(*c)}, nil
}

// refuse audits an attempt that does not count.
func (d *Door) refuse(ctx context.Context, t Attempt, c *Case, code, detail string) (Outcome, error) {
	e := audit.Entry{
		At: d.Now(), Kind: "click.refused", Approval: t.Approval, Revision: t.Revision, Digest: t.Digest,
		Team: t.Who.Team, User: t.Who.User, Via: t.Via, Data: d.data(map[string]any{"verdict": t.Verdict, "why": code}),
	}
	if c != nil {
		e.Run, e.Step = c.Run.ID, c.Step.N
	}
	if err := d.Store.Refuse(ctx, []audit.Entry{e}); err != nil {
		return Outcome{}, fmt.Errorf("audit a refusal: %w", err)
	}
	return Outcome{Case: c, Refused: code, Detail: detail}, nil
}

func progressWish(c *Case, now time.Time) agent.Wish {
	return agent.Wish{Subject: agent.ProgressSubject(c.Run.ID), Channel: c.Run.Channel, ThreadTS: c.Run.TS, Priority: agent.PriorityProgress, ReadyAt: now}
}

func questionWish(c *Case, now time.Time) agent.Wish {
	return agent.Wish{Subject: agent.QuestionSubject(c.Run.ID, c.Step.N), Channel: c.Run.Channel, ThreadTS: c.Run.TS, Priority: agent.PriorityCard, ReadyAt: now}
}

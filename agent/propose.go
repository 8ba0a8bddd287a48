package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"countersign/agent/llm"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/id"
	"countersign/tools"
)

// called commits a turn's calls, each through the gate: allowed, awaiting a
// countersignature, asking, or refused with what was wrong.
func (w *worker) called(ctx context.Context, t Turn, reply llm.Reply, consumed []Consumed) (done bool, err error) {
	before, first := w.run, len(w.steps)
	w.over = map[int]error{}
	for {
		done, err := w.proposeAll(ctx, t, reply, consumed)
		var limit *LimitError
		if !errors.As(err, &limit) || errors.Is(w.over[limit.Step], limit.Limit) {
			return done, err
		}
		// The database counted more than this worker could know: the same calls once
		// more, that one without what the rule or the limit would have given it.
		w.over[limit.Step] = errors.Join(w.over[limit.Step], limit.Limit)
		before.Spent.Active = w.run.Spent.Active
		w.run, w.steps, w.moved = before, w.steps[:first], false
	}
}

func (w *worker) proposeAll(ctx context.Context, t Turn, reply llm.Reply, consumed []Consumed) (parked bool, err error) {
	if err := w.fire(OnCalls); err != nil {
		return false, err
	}
	change := Change{Turn: &t, Consumed: consumed, MostOpen: w.a.OpenPerAsker, Audit: w.auditReply(t)}
	first := len(w.steps)
	for _, call := range reply.Calls {
		s := w.propose(ctx, t, call, &change)
		w.steps = append(w.steps, s)
	}
	w.run.Turns, w.run.NextStep = t.N, len(w.steps)+1
	change.NewSteps = w.steps[first:]
	bundle(&change, w.a.Cards, w.a.Now())
	if err := w.settle(&change); err != nil {
		return false, err
	}
	if parked, err = w.keepCalls(ctx, change); err != nil {
		return false, err
	}
	w.turns = append(w.turns, t)
	for _, c := range consumed {
		w.drop(c.ID)
	}
	for i := range change.Open {
		w.open[change.Open[i].ID] = &change.Open[i]
	}
	return parked, nil
}

// keepCalls commits a turn with its calls, and gives the run back in the same commit
// when nothing can go on before a countersignature.
func (w *worker) keepCalls(ctx context.Context, c Change) (parked bool, err error) {
	if next, halt := Route(w.facts()); next != DoPark || halt != HaltApproval || len(w.inbox) > len(c.Consumed) {
		return false, w.commit(ctx, c, false)
	}
	before := w.run
	if err := w.awaitApproval(); err != nil {
		return false, err
	}
	c.Park = true
	err = w.commit(ctx, c, true)
	if !errors.Is(err, ErrMoved) {
		return err == nil, err
	}
	before.Spent.Active = w.run.Spent.Active // somebody spoke meanwhile: keep the calls, then read
	w.run, c.Park = before, false
	return false, w.commit(ctx, c, false)
}

// propose makes one step of one call.
func (w *worker) propose(ctx context.Context, t Turn, call llm.Call, c *Change) Step {
	now := w.a.Now()
	s := Step{
		Run: w.run.ID, N: len(w.steps) + 1, Turn: t.N, CallID: w.callID(call.ID), Tool: call.Name, Raw: call.Arguments,
		Extra: call.Extra, State: StepProposed, ProposedAt: now, Risk: tools.Low,
	}
	w.run.Spent.Steps++
	if l := w.run.Limits.MaxSteps; l > 0 && w.run.Spent.Steps > l {
		w.run.Spent.Steps = l
		w.refuse(&s, &tools.Failure{Code: "max_steps", Message: fmt.Sprintf("the limit of %d steps is reached; this call was not made", l)})
	} else if _, ok := w.a.control[call.Name]; ok {
		w.control(&s)
	} else {
		w.gate(ctx, &s, c)
	}
	if s.Thought == "" {
		s.Thought = cut(firstLine(orDefault(t.Text, t.Reasoning)), 300)
	}
	c.Audit = append(c.Audit, w.entry("step.proposed", &s, map[string]any{
		"tool": s.Tool, "arguments": orDefault(string(s.Proposed), cut(s.Raw, 800)), "risk": s.Risk, "state": s.State, "thought": s.Thought, "code": s.Code,
	}))
	if s.State == StepAsking {
		c.Wishes = append(c.Wishes, questionWish(&w.run, s.N, now))
	}
	return s
}

// longestThought is how many characters of a thought are kept as the reason of a call;
// the arguments as the model wrote them have the whole.
const longestThought = 1000

// callID is the call's id, made ours when the reply had none or one twice.
func (w *worker) callID(given string) string {
	for i := range w.steps {
		if w.steps[i].CallID == given {
			return id.Call()
		}
	}
	if given == "" {
		return id.Call()
	}
	return given
}

func (w *worker) gate(ctx context.Context, s *Step, c *Change) {
	passed := w.a.Gate.Check(ctx, Proposal{
		Run: w.run.ID, Step: strconv.Itoa(s.N), Tool: s.Tool, Raw: s.Raw, Asker: w.asker, Channel: w.run.Channel, Read: w.privateSources(),
	})
	s.Thought, s.Proposed, s.Risk = cut(passed.Thought, longestThought), passed.Args, orRisk(passed.Ruling.Risk, passed.Spec.Risk)
	s.Effects, s.Private, s.Contract = passed.Spec.Effects, passed.Spec.Private, passed.Contract
	if passed.Args != nil {
		s.Fingerprint = tools.Fingerprint(s.Tool, passed.Args)
	}
	if passed.Refusal == nil && passed.Ruling.Budget != nil && errors.Is(w.over[s.N], ErrBudget) {
		w.unpaid(s, &passed)
	}
	if passed.Refusal != nil {
		w.refuse(s, passed.Refusal)
		return
	}
	if f := w.before(s, passed.Spec); f != nil {
		w.refuse(s, f)
		return
	}
	if passed.Ruling.Outcome == policy.Run {
		s.State = StepAllowed
		if b := passed.Ruling.Budget; b != nil {
			c.Payments = append(c.Payments, Payment{Step: s.N, Budget: *b})
		}
		return
	}
	if g := w.grantFor(ctx, s, passed); g != nil {
		s.State, s.Grant, s.GrantBy = StepAllowed, g.ID, g.Giver
		return
	}
	w.await(ctx, s, passed, c)
}

// unpaid is the ruling on a call whose lowered risk the database refused to pay for.
func (w *worker) unpaid(s *Step, p *Passed) {
	p.Ruling = p.Ruling.AfterAll()
	s.Risk = p.Ruling.Risk
	if p.Ruling.Outcome == policy.Deny {
		p.Refusal = &tools.Failure{Code: "denied", Message: p.Ruling.Why}
	}
}

// await opens the approval of a step. What it shows is taken before the commit.
func (w *worker) await(ctx context.Context, s *Step, p Passed, c *Change) {
	if most := w.a.OpenPerRun; most > 0 && w.awaiting() >= most {
		w.refuse(s, &tools.Failure{Code: "too_many_open", Message: fmt.Sprintf("%d calls of this request already wait for people; wait for their results first", most)})
		return
	}
	if errors.Is(w.over[s.N], ErrOpenLimit) {
		w.refuse(s, &tools.Failure{Code: "too_many_open", Message: fmt.Sprintf("%d calls of this person already wait for people; some of them must be decided first", w.a.OpenPerAsker)})
		return
	}
	preview, failure := w.a.Gate.Preview(ctx, p.Tool, w.call(s, p.Args, nil))
	if failure != nil {
		w.refuse(s, failure)
		return
	}
	a, err := w.openApproval(s, p, preview)
	if err != nil {
		w.refuse(s, asFailure(err, "error"))
		return
	}
	s.State, s.Approval = StepAwaiting, a.ID
	w.addApproval(c, a)
}

func (w *worker) openApproval(s *Step, p Passed, preview *tools.Preview) (approvals.Approval, error) {
	now := w.a.Now()
	return approvals.Open(approvals.Opening{
		ID: id.New("a", now), Run: w.run.ID, Step: s.N, Spec: p.Spec, Risk: s.Risk, Channel: w.run.Channel, ThreadTS: w.run.TS,
		Requester: w.run.Requester(), Args: p.Args, Contract: p.Contract, Preview: preview, Needs: p.Ruling.Needs, Now: now,
	})
}

func (w *worker) addApproval(c *Change, a approvals.Approval) {
	now := w.a.Now()
	c.Open = append(c.Open, a)
	c.Wishes = append(c.Wishes, CardWishes(&a, w.a.Cards, now)...)
	if w.a.Notify {
		c.Wishes = append(c.Wishes, PeopleWish(&a, now))
	}
	opened := Opened(&a, w.a.Gate.Policy().Stamp, w.a.Mask)
	opened.Via = "worker"
	c.Audit = append(c.Audit, opened)
}

// Opened is the record of an approval that was just opened, under the policy with the
// stamp. It lacks who opened it.
func Opened(a *approvals.Approval, stamp string, mask func(string) string) audit.Entry {
	r := a.Current()
	return audit.Entry{
		At: a.OpenedAt, Kind: "approval.opened", Run: a.Run, Step: a.Step, Approval: a.ID, Revision: r.N, Digest: r.Digest,
		Data: audit.Data(map[string]any{
			"tool": a.Tool, "arguments": string(r.Args), "needs": r.Requirement, "preview": r.Preview, "why": a.Why, "requester": a.Requester.User, "policy": stamp,
		}, mask),
	}
}

func (w *worker) awaiting() int {
	n := 0
	for i := range w.steps {
		if w.steps[i].State == StepAwaiting {
			n++
		}
	}
	return n
}

// call is what a tool is called with.
func (w *worker) call(s *Step, args []byte, preview *tools.Preview) tools.Call {
	return tools.Call{Run: w.run.ID, Step: strconv.Itoa(s.N), Asker: w.run.Asker.User, Args: args, Preview: preview}
}

func (w *worker) privateSources() []string { return PrivateSources(w.steps) }

// PrivateSources names what private tools have read.
func PrivateSources(steps []Step) []string {
	var out []string
	for i := range steps {
		if s := &steps[i]; s.Private && (s.Attempts > 0 || len(s.Sources) > 0) { // an error may tell as much as a result
			out = append(out, s.Sources...)
			if len(s.Sources) == 0 {
				out = append(out, s.Tool)
			}
		}
	}
	return out
}

// refuse settles a step that may not run, with what the model reads about it.
func (w *worker) refuse(s *Step, f *tools.Failure) { w.a.Gate.Refuse(s, f, w.a.Now()) }

func orRisk(r, otherwise tools.Risk) tools.Risk {
	if r != "" {
		return r
	}
	if otherwise != "" {
		return otherwise
	}
	return tools.Low
}

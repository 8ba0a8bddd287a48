package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/tools"
)

// execute runs what can run: first what a dead worker left, then reads together,
// then calls with effects one by one.
func (w *worker) execute(ctx context.Context) error {
	switch w.run.State {
	case WaitingApproval, WaitingInput:
		w.run.InputBy = time.Time{}
		if err := w.fire(OnRedeem); err != nil {
			return err
		}
	case Planning, Eval, Reflect: // a call of an earlier turn was approved late
		if err := w.toPlanning(); err != nil {
			return err
		}
		if err := w.fire(OnCalls); err != nil {
			return err
		}
	}
	if err := w.recheck(ctx); err != nil {
		return err
	}
	if err := w.reads(ctx); err != nil {
		return err
	}
	for i := range w.steps {
		if w.moved || w.a.Stopping != nil && w.a.Stopping() {
			return nil // read what is new before the next effect; another worker may have other rules
		}
		if err := w.effect(ctx, &w.steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// mostParallel bounds how many reads of one turn run side by side.
const mostParallel = 4

// reads runs the allowed calls without effects and commits their results at once.
func (w *worker) reads(ctx context.Context) error {
	var together, alone []int
	for i := range w.steps {
		s := &w.steps[i]
		if s.State != StepAllowed || s.Effects || s.Approval != "" || s.Grant != "" {
			continue
		}
		if t, ok := w.a.Gate.Tools.Get(s.Tool); ok && t.Spec().Parallel {
			together = append(together, i)
		} else {
			alone = append(alone, i)
		}
	}
	which := slices.Concat(together, alone)
	if len(which) == 0 {
		return nil
	}
	next := make([]Step, len(which))
	var g errgroup.Group
	g.SetLimit(mostParallel)
	for k, i := range together {
		g.Go(func() error { next[k] = w.read(ctx, w.steps[i]); return nil })
	}
	_ = g.Wait() // reads report through their steps
	for k, i := range alone {
		next[len(together)+k] = w.read(ctx, w.steps[i])
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("reads of run %s: %w", w.run.ID, context.Cause(ctx)) // somebody else reads again
	}
	w.summarise(ctx, next)
	var c Change
	for k, i := range which {
		w.finished(&w.steps[i], next[k])
		c.Steps = append(c.Steps, Moved(&w.steps[i], next[k]))
		c.Audit = append(c.Audit, w.entry("step.ended", &next[k], map[string]any{"state": next[k].State, "outcome": next[k].Outcome}))
		w.steps[i] = next[k]
	}
	if err := w.settle(&c); err != nil {
		return err
	}
	return w.commit(ctx, c, false)
}

func (w *worker) read(ctx context.Context, s Step) Step {
	if t, ok := w.a.Gate.Tools.Get(s.Tool); ok {
		s.become(t.Spec())
	}
	if s.Effects { // nobody was asked about those, and no commit would say that it executes
		w.refuse(&s, toolChanged())
		return s
	}
	s.StartedAt, s.Executed, s.Attempts = w.a.Now(), s.Proposed, s.Attempts+1
	result, err := w.invoke(ctx, &s, nil)
	if err != nil {
		w.failStep(&s, asFailure(err, "error"))
	} else {
		w.succeedWith(&s, result)
	}
	return s
}

// invoke calls the tool under its timeout. A panic of the tool is an error of the call.
func (w *worker) invoke(ctx context.Context, s *Step, preview *tools.Preview) (tools.Result, error) {
	t, ok := w.a.Gate.Tools.Get(s.Tool)
	if !ok {
		return tools.Result{}, &tools.Failure{Code: "unknown_tool", Message: "the tool " + s.Tool + " is no longer there"}
	}
	if s.State == StepExecuting && tools.Contract(t.Spec()) != s.Contract { // it changed during the commit
		return tools.Result{}, toolChanged()
	}
	timeout := t.Spec().Timeout
	if timeout == 0 {
		timeout = w.a.Gate.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ctx, span := w.calling(ctx, s)
	result, err := tools.Execute(ctx, t, w.call(s, s.Executed, preview))
	calledTool(span, err)
	var known *tools.Failure
	switch {
	case err == nil || s.Effects || errors.As(err, &known):
		return result, err
	case errors.Is(err, context.DeadlineExceeded):
		return result, &tools.Failure{Code: "timeout", Message: fmt.Sprintf("no answer within %s", timeout)}
	}
	return result, asFailure(err, "error") // what changes nothing has no outcome that could be unknown
}

// effect runs one call with effects, or takes one over that a dead worker left.
func (w *worker) effect(ctx context.Context, s *Step) error {
	switch {
	case s.State == StepExecuting && s.Epoch != w.lease.Epoch:
		return w.takeOver(ctx, s)
	case s.State == StepAllowed && s.Approval != "":
		return w.redeem(ctx, s)
	case s.State == StepAllowed && s.Grant != "":
		return w.underGrant(ctx, s)
	case s.State == StepUncertain && w.open[s.Approval] != nil && w.open[s.Approval].State == approvals.Approved:
		return w.redeem(ctx, s)
	case s.State == StepAllowed && s.Effects:
		next := *s
		next.Executed = s.Proposed
		return w.start(ctx, s, next, Change{}, nil)
	}
	return nil
}

// start commits that the step executes, then calls the tool, then commits what
// came of it. Nothing is called unless the commit found the lease and the run unchanged.
func (w *worker) start(ctx context.Context, s *Step, next Step, c Change, preview *tools.Preview) error {
	from := s.State
	next.State, next.Epoch, next.StartedAt, next.Attempts = StepExecuting, w.lease.Epoch, w.a.Now(), s.Attempts+1
	if t, ok := w.a.Gate.Tools.Get(s.Tool); ok {
		if tools.Contract(t.Spec()) != next.Contract {
			return ErrMoved // it changed since it was looked at: once more
		}
		next.become(t.Spec())
	}
	c.Steps = append(c.Steps, Moved(s, next))
	c.Audit = append(c.Audit, w.entry("step.executing", &next, map[string]any{"tool": next.Tool, "arguments": string(next.Executed), "attempt": next.Attempts}))
	before := time.Now() // monotonic: the lease is checked against it right before the call
	if err := w.commit(ctx, c, true); err != nil {
		return err
	}
	*s = next
	if time.Since(before) > w.a.Lease/2 { // a slow commit: take the lease anew, once, before giving the call up
		before = time.Now()
		if err := w.commit(ctx, Change{}, false); err != nil {
			return err
		}
	}
	if time.Since(before) > w.a.Lease/2 {
		return w.outcome(ctx, s, tools.Result{}, sure(from, &tools.Failure{Code: "late", Message: "the lease was nearly over; the call was not made"}))
	}
	result, err := w.invoke(ctx, s, preview)
	return w.outcome(ctx, s, result, sure(from, err))
}

// sure makes a known failure of a call that was taken over an unknown outcome: it
// tells of the second attempt, and nobody knows what the first one did.
func sure(from StepState, err error) error {
	var known *tools.Failure
	if from != StepExecuting || !errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("the process that called it first died; the second attempt failed: %s", known.Message)
}

// outcome commits what came of a call with effects: it succeeded, it is known to
// have failed, or nobody knows. It is recorded even when the process is stopping.
func (w *worker) outcome(ctx context.Context, s *Step, result tools.Result, err error) error {
	next := *s
	var known *tools.Failure
	switch {
	case err == nil:
		w.succeedWith(&next, result)
	case errors.As(err, &known):
		w.failStep(&next, known)
	default:
		next.State, next.EndedAt, next.Code = StepUncertain, w.a.Now(), "uncertain"
		next.Summary = cut(firstLine(w.a.Mask(err.Error())), 200)
	}
	w.finished(s, next)
	c := Change{
		Steps: []StepChange{Moved(s, next)},
		Audit: []auditEntry{w.entry("step.ended", &next, map[string]any{"state": next.State, "outcome": next.Outcome, "summary": next.Summary})},
	}
	if next.State == StepUncertain {
		c.Wishes = append(c.Wishes, questionWish(&w.run, next.N, w.a.Now()))
	}
	w.wishCard(&c, &next)
	*s = next
	if err := w.settle(&c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeTimeout)
	defer cancel()
	return w.commit(ctx, c, false)
}

// outcomeTimeout bounds the commit of an outcome while the process stops.
const outcomeTimeout = 3 * time.Second

// wishCard lets the card say what came of the call.
func (w *worker) wishCard(c *Change, s *Step) {
	if a := w.open[s.Approval]; a != nil {
		c.Wishes = append(c.Wishes, CardWishes(a, w.a.Cards, w.a.Now())...)
	}
}

// takeOver goes on with a step that another worker was executing when it died.
// A tool that honours its key is called once more, at the same place under the same key
// and bytes, if the rules of now allow the call; of any other nobody knows what happened,
// unless it changes nothing, and only its result is lost.
func (w *worker) takeOver(ctx context.Context, s *Step) error {
	if !s.Effects {
		return w.outcome(ctx, s, tools.Result{}, &tools.Failure{Code: "lost", Message: "the process that read it died before the result was stored"})
	}
	p, err := w.asNow(ctx, s, s.Executed)
	if err != nil {
		return err
	}
	inWindow := p.Spec.Window == 0 || w.a.Now().Sub(s.StartedAt) < p.Spec.Window
	same := p.Refusal == nil && p.Contract == s.Contract && string(p.Args) == string(s.Executed)
	countersigned := s.Grant != "" || w.free(s, p)
	if a := w.open[s.Approval]; a != nil {
		countersigned = p.Ruling.Outcome != policy.Ask || policy.Covers(a.Current().Requirement, p.Ruling.Needs)
	}
	if p.Spec.Idempotent && inWindow && s.Attempts < 2 && same && countersigned {
		return w.start(ctx, s, *s, Change{}, w.shown(s))
	}
	return w.outcome(ctx, s, tools.Result{}, errors.New("the process that called it died before the outcome was stored"))
}

func (w *worker) shown(s *Step) *tools.Preview {
	if a := w.open[s.Approval]; a != nil {
		return a.Current().Preview
	}
	return nil
}

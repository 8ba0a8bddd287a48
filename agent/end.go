package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/internal/audit"
)

// ending is how a run leaves.
type ending struct {
	on       string
	halt     Halt
	answer   string
	turn     *Turn
	consumed []Consumed
}

// end is the one place through which every run leaves: outcome, what was still
// open, record and deliveries in one commit, guarded against newer work.
func (w *worker) end(ctx context.Context, e ending) error {
	if w.run.State == Executing {
		if err := w.fire(OnResults); err != nil {
			return err
		}
	}
	if err := w.fire(e.on); err != nil {
		return err
	}
	now := w.a.Now()
	w.run.Halt, w.run.EndedAt, w.run.InputBy = e.halt, now, time.Time{}
	if e.answer != "" {
		w.run.Answer = e.answer
	}
	change := Change{Park: true, Consumed: append(e.consumed, w.rest(e.consumed)...), Wishes: []Wish{answerWish(&w.run, now)}}
	if e.turn != nil {
		w.run.Turns, change.Turn = e.turn.N, e.turn
		change.Audit = append(change.Audit, w.auditReply(*e.turn)...)
	}
	w.cancelOpen(&change, now)
	change.Audit = append(change.Audit, w.entry("run.ended", nil, map[string]any{
		"state": w.run.State, "halt": w.run.Halt, "answer": w.run.Answer, "spent": w.run.Spent,
	}))
	return w.commit(ctx, change, true)
}

// rest marks what is left in the inbox as seen by the end of the run.
func (w *worker) rest(consumed []Consumed) []Consumed {
	seen := map[string]bool{}
	for _, c := range consumed {
		seen[c.ID] = true
	}
	var out []Consumed
	for _, m := range w.inbox {
		if !seen[m.ID] {
			out = append(out, Consumed{ID: m.ID, Turn: w.run.Turns})
		}
	}
	return out
}

// cancelOpen cancels every step that never ran and every approval that is open. A
// call that a dead worker left is not made again: nobody knows whether it happened.
func (w *worker) cancelOpen(c *Change, now time.Time) {
	for i := range w.steps {
		s := w.steps[i]
		switch {
		case StepMachine.Can(s.State, StepCancelled):
			s.State, s.Code, s.Observation = StepCancelled, "cancelled", "CANCELLED: it was not run."
		case s.State == StepExecuting:
			s.State, s.Code, s.Summary = StepUncertain, "uncertain", "" // what it last said is no outcome
			c.Wishes = append(c.Wishes, questionWish(&w.run, s.N, now))
		default:
			continue
		}
		s.EndedAt = now
		c.Steps = append(c.Steps, Moved(&w.steps[i], s))
	}
	for _, a := range w.open {
		if !a.Open() {
			continue
		}
		c.Approvals = append(c.Approvals, ApprovalChange{ID: a.ID, From: a.State, To: approvals.Cancelled, Version: -1, At: now})
		c.Wishes = append(c.Wishes, CardWishes(a, w.a.Cards, now)...)
		if w.a.Notify || a.Reminded > 0 { // those who were asked need not look any more
			c.Wishes = append(c.Wishes, PeopleWish(a, now))
		}
		c.Audit = append(c.Audit, audit.Entry{At: now, Kind: "approval.cancelled", Run: w.run.ID, Step: a.Step, Approval: a.ID, Revision: a.Revision, Via: "worker", Data: "{}"})
	}
}

// fail ends a run that cannot go on, with what can be said about it.
func (w *worker) fail(ctx context.Context, halt Halt) error {
	answer := w.run.Answer
	if answer == "" {
		answer = w.canned()
	}
	if w.run.State == WaitingApproval {
		return w.end(ctx, ending{on: OnCancel, halt: halt, answer: answer})
	}
	return w.end(ctx, ending{on: OnFail, halt: halt, answer: answer})
}

// canned is the honest summary when no model can write one: an answer is never empty.
func (w *worker) canned() string {
	var b strings.Builder
	if w.failure != "" {
		fmt.Fprintf(&b, "error:%s", w.failure)
	} else {
		fmt.Fprintf(&b, "stopped:%s", w.reason(w.run.Closing))
	}
	for _, s := range w.steps {
		if s.State == StepSucceeded && s.Summary != "" {
			fmt.Fprintf(&b, "\n• %s: %s", s.Tool, s.Summary)
		}
	}
	return b.String()
}

// park gives the run back: it belongs to nobody while it waits for people.
func (w *worker) park(ctx context.Context, halt Halt) error {
	if halt == HaltApproval {
		if err := w.awaitApproval(); err != nil {
			return err
		}
		return w.commit(ctx, Change{Park: true}, true)
	}
	if err := w.toWaiting(WaitingInput, OnInput); err != nil {
		return err
	}
	w.run.Halt = halt
	if w.run.InputBy.IsZero() {
		w.run.InputBy = w.a.Now().Add(w.run.Limits.InputTTL)
	}
	w.run.ReadyAt = w.run.InputBy // it is due again when nobody answers
	return w.commit(ctx, Change{Yield: true}, true)
}

func (w *worker) awaitApproval() error {
	w.run.Halt, w.run.InputBy = HaltApproval, time.Time{}
	return w.toWaiting(WaitingApproval, OnApprove)
}

func (w *worker) toWaiting(state RunState, event string) error {
	if w.run.State == state {
		return nil
	}
	return w.fire(event)
}

func (w *worker) auditReply(t Turn) []audit.Entry {
	if t.N == 0 {
		return nil
	}
	return []audit.Entry{w.entry("model.replied", nil, map[string]any{"turn": t.N, "text": t.Text, "usage": t.Usage})}
}

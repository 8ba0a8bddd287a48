package agent

import (
	"context"

	"countersign/tools"
)

// readInbox acts upon what people said while the run waited: the answer to a
// question, a further allowance. Anything else stays for the next request.
func (w *worker) readInbox(ctx context.Context) (settled bool, err error) {
	if w.stopped() {
		return false, nil
	}
	for i := range w.inbox {
		m := &w.inbox[i]
		if !w.run.Speaks(m.From) {
			continue
		}
		if s := w.asking(); s != nil && (m.Kind == FollowUp || m.Kind == Reply) {
			return true, w.answerQuestion(ctx, s, m)
		}
		if w.run.Closing != HaltNone && w.run.Answer != "" && (m.Kind == Continue || m.Kind == FollowUp) {
			return true, w.allowMore(ctx, m)
		}
	}
	return false, nil
}

func (w *worker) asking() *Step {
	for i := range w.steps {
		if w.steps[i].State == StepAsking {
			return &w.steps[i]
		}
	}
	return nil
}

func (w *worker) answerQuestion(ctx context.Context, s *Step, m *Message) error {
	next := *s
	next.State, next.Observation, next.EndedAt = StepAnswered, m.Text, w.a.Now()
	next.Outcome = tools.Digest("outcome", m.Text)
	now := w.a.Now()
	err := w.commit(ctx, Change{
		Steps:    []StepChange{Moved(s, next)},
		Consumed: []Consumed{{ID: m.ID, Turn: len(w.turns)}},
		Wishes:   []Wish{questionWish(&w.run, s.N, now)},
	}, false)
	if err == nil {
		*s = next
		w.drop(m.ID)
	}
	return err
}

// allowMore is the asker's further allowance after a limit: as much again as the
// run was given at its start.
func (w *worker) allowMore(ctx context.Context, m *Message) error {
	w.extend()
	reason := w.run.Closing
	w.run.Closing, w.run.Answer, w.run.Halt = HaltNone, "", HaltNone
	c := &w.run.Counters
	c.Warned, c.Looped, c.Heals, c.Lapses, c.Denials = false, false, 0, 0, w.denials()
	if err := w.fire(OnSettled); err != nil {
		return err
	}
	change := Change{Wishes: []Wish{answerWish(&w.run, w.a.Now())}}
	e := w.entry("run.continued", nil, map[string]any{"after": reason})
	e.Team, e.User, e.Via = m.From.Team, m.From.User, "slack"
	change.Audit = append(change.Audit, e)
	if m.Kind == Continue {
		change.Consumed = []Consumed{{ID: m.ID, Turn: len(w.turns)}}
	}
	if err := w.commit(ctx, change, false); err != nil {
		return err
	}
	if m.Kind == Continue {
		w.drop(m.ID)
	}
	return nil
}

func (w *worker) extend() {
	l, first := &w.run.Limits, w.a.Limits
	l.MaxSteps = w.run.Spent.Steps + first.MaxSteps
	l.MaxTokens = w.run.Spent.Prompt + w.run.Spent.Completion + first.MaxTokens
	l.MaxActive = w.run.Spent.Active + first.MaxActive
	if first.MaxCost > 0 {
		l.MaxCost = w.run.Spent.Cost + first.MaxCost
	}
}

func (w *worker) drop(message string) {
	kept := w.inbox[:0]
	for _, m := range w.inbox {
		if m.ID != message {
			kept = append(kept, m)
		}
	}
	w.inbox = kept
}

package agent

import (
	"context"

	"countersign/tools"
)

// readInbox acts upon what people said while the run waited: the answer to a
// question, a further allowance. Anything else, and what was said before there was
// anything to answer, stays for the next request.
func (w *worker) readInbox(ctx context.Context) (settled bool, err error) {
	if w.stopped() {
		return false, nil
	}
	now := Work{Run: w.run, Steps: w.steps, Asked: w.asked}
	atLimit := w.run.Closing != HaltNone && w.run.Answer != ""
	for i := range w.inbox {
		m := &w.inbox[i]
		said, stands := w.stands(m)
		if !stands || !w.run.Speaks(m.From) {
			continue
		}
		meant := now.Meant(m.TS, m.At)
		if s := w.asking(); s != nil && meant && (m.Kind == FollowUp || m.Kind == Reply) {
			return true, w.answerQuestion(ctx, s, m, said)
		}
		switch {
		case atLimit && meant && (m.Kind == Continue || m.Kind == FollowUp):
			return true, w.allowMore(ctx, m)
		case !atLimit && m.Kind == Continue: // pressed twice: it is no consent to a limit still to come
			return true, w.used(ctx, Change{Consumed: w.presses()})
		}
	}
	return false, nil
}

// words says that a message is something that somebody wrote, and no press or stop.
func (m *Message) words() bool { return m.Kind == FollowUp || m.Kind == Reply || m.change() }

// change says that a message tells what became of an earlier one.
func (m *Message) change() bool { return m.Kind == Edited || m.Kind == TakenBack }

// changes says that a message tells what its author did to another one of theirs.
func (m *Message) changes(of *Message) bool {
	return m.change() && m.TS != "" && m.TS == of.TS && m.From.User == of.From.User
}

// stands gives what a message that was not read yet says by now: whoever reads for the
// first time reads what is there. False when its author took it back, and for what only
// tells what became of one that was not read either.
func (w *worker) stands(m *Message) (text string, stands bool) {
	for j := range w.inbox {
		if o := &w.inbox[j]; !o.change() && m.changes(o) {
			return "", false
		}
	}
	last := m
	for j := range w.inbox {
		if o := &w.inbox[j]; o.changes(m) && o.after(last) {
			last = o
		}
	}
	return last.Text, last == m || !m.change() && last.Kind == Edited
}

// after says whether a change came after another message, in the order of Slack: they may
// reach us in any. Nothing comes after a deletion.
func (m *Message) after(o *Message) bool {
	switch {
	case !o.change():
		return true
	case m.Kind != o.Kind:
		return m.Kind == TakenBack
	}
	return m.At.After(o.At)
}

// with gives the messages that a message is used up with: itself, and what became of it.
func (w *worker) with(m *Message) []Consumed {
	out := []Consumed{{ID: m.ID, Turn: len(w.turns)}}
	for i := range w.inbox {
		if o := &w.inbox[i]; o.ID != m.ID && o.changes(m) {
			out = append(out, Consumed{ID: o.ID, Turn: len(w.turns)})
		}
	}
	return out
}

// presses are the presses of the button that allows more. One limit takes all of them.
func (w *worker) presses() []Consumed {
	var out []Consumed
	for _, m := range w.inbox {
		if m.Kind == Continue {
			out = append(out, Consumed{ID: m.ID, Turn: len(w.turns)})
		}
	}
	return out
}

// used commits a change and forgets the messages that it consumed.
func (w *worker) used(ctx context.Context, c Change) error {
	err := w.commit(ctx, c, false)
	if err == nil {
		for _, m := range c.Consumed {
			w.drop(m.ID)
		}
	}
	return err
}

func (w *worker) asking() *Step {
	for i := range w.steps {
		if w.steps[i].State == StepAsking {
			return &w.steps[i]
		}
	}
	return nil
}

func (w *worker) answerQuestion(ctx context.Context, s *Step, m *Message, said string) error {
	next := *s
	next.State, next.Observation, next.EndedAt = StepAnswered, said, w.a.Now()
	next.Outcome = tools.Digest("outcome", said)
	now := w.a.Now()
	err := w.used(ctx, Change{
		Steps:    []StepChange{Moved(s, next)},
		Consumed: w.with(m),
		Wishes:   []Wish{questionWish(&w.run, s.N, now)},
	})
	if err == nil {
		*s = next
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
	change := Change{Wishes: []Wish{answerWish(&w.run, w.a.Now())}, Consumed: w.presses()}
	e := w.entry("run.continued", nil, map[string]any{"after": reason})
	e.Team, e.User, e.Via = m.From.Team, m.From.User, "slack"
	change.Audit = append(change.Audit, e)
	return w.used(ctx, change)
}

func (w *worker) extend() {
	l, first := &w.run.Limits, w.a.Limits
	l.MaxSteps = w.run.Spent.Steps + first.MaxSteps
	l.MaxTokens = w.run.Spent.Prompt + w.run.Spent.Completion + first.MaxTokens
	l.MaxActive = w.run.Spent.Active + first.MaxActive
	l.MaxCost = 0 // no limit by now, whatever the run began with
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

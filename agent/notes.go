package agent

import (
	"context"
	"fmt"
	"slices"

	"countersign/agent/prompts"
)

// notes are what is added to the next request: the thread's past, what people
// said since, the reflection on failures, warnings.
func (w *worker) notes(ctx context.Context) ([]Note, []Consumed, error) {
	var out []Note
	if len(w.turns) == 0 {
		out = w.history(ctx)
	}
	said, consumed, err := w.saidSince()
	if err != nil {
		return nil, nil, err
	}
	out = append(out, said...)
	for _, add := range []func() (*Note, error){w.reflection, w.check, w.closingNote} {
		n, err := add()
		if err != nil {
			return nil, nil, err
		}
		if n != nil {
			out = append(out, *n)
		}
	}
	return out, consumed, nil
}

func (w *worker) saidSince() (notes []Note, consumed []Consumed, err error) {
	for i := range w.inbox {
		m := &w.inbox[i]
		if !m.words() {
			continue
		}
		consumed = append(consumed, Consumed{ID: m.ID, Turn: len(w.turns) + 1})
		said, stands := w.stands(m)
		if !stands {
			continue
		}
		kind, name := NoteSteer, w.frame(m)
		if !w.run.Speaks(m.From) {
			kind = NoteQuote
		}
		text, err := w.a.Prompts.Render(name, prompts.Quote(m.From.User, m.Name, said))
		if err != nil {
			return nil, nil, err
		}
		notes = append(notes, Note{Kind: kind, From: m.From, Text: text})
	}
	return notes, consumed, nil
}

// frame names the words of ours around somebody's.
func (w *worker) frame(m *Message) string {
	switch {
	case m.Kind == Edited && m.TS == w.run.MessageTS:
		return "reworded"
	case m.Kind == Edited:
		return "corrected"
	case m.Kind == TakenBack:
		return "takenback"
	case !w.run.Speaks(m.From):
		return "quote"
	}
	return "steer"
}

type failureLine struct{ Tool, Args, Result string }

// mostFailuresTold bounds the failure history of a reflection.
const mostFailuresTold = 5

// reflection carries the failure history when a step of the last turn failed.
func (w *worker) reflection() (*Note, error) {
	if !w.lastTurnFailed() || w.run.Closing != HaltNone {
		return nil, nil
	}
	var failures []failureLine
	for i := len(w.steps) - 1; i >= 0 && len(failures) < mostFailuresTold; i-- {
		if s := &w.steps[i]; s.failed() {
			failures = append(failures, failureLine{s.Tool, cut(sendable(s), 300), cut(s.Observation, 300)})
		}
	}
	slices.Reverse(failures)
	text, err := w.a.Prompts.Render("reflect", map[string]any{
		"Failures": failures, "Attempt": w.run.Counters.Heals, "Most": w.run.Limits.SelfHeal,
	})
	return &Note{Kind: NoteReflect, Text: text}, err
}

func (w *worker) lastTurnFailed() bool {
	for _, s := range w.stepsOf(len(w.turns)) {
		if s.failed() {
			return true
		}
	}
	return false
}

// failed says that the step's result is something the model should mend: not a
// person's refusal, not an interception.
func (s *Step) failed() bool {
	switch s.State {
	case StepFailed:
		return s.Code != CodeStopped
	case StepRefused:
		return s.Code != "rejected" && s.Code != "expired" && s.Code != "loop" && s.Code != "max_steps" && s.Code != "denied_before"
	}
	return false
}

func (w *worker) check() (*Note, error) {
	if !w.run.Counters.Checking {
		return nil, nil
	}
	text, err := w.a.Prompts.Render("check", w.undone())
	return &Note{Kind: NoteCheck, Text: text}, err
}

func (w *worker) closingNote() (*Note, error) {
	if w.run.Closing == HaltNone {
		return nil, nil
	}
	text, err := w.a.Prompts.Render("closing", map[string]string{"Reason": w.reason(w.run.Closing)})
	return &Note{Kind: NoteClosing, Text: text}, err
}

// reason says in words why a limit ends the run.
func (w *worker) reason(h Halt) string {
	l := w.run.Limits
	switch h {
	case HaltMaxSteps:
		return fmt.Sprintf("the limit of %d steps is reached", l.MaxSteps)
	case HaltTokens:
		return fmt.Sprintf("the budget of %d tokens is used up", l.MaxTokens)
	case HaltTime:
		return fmt.Sprintf("the working time of %s is used up", l.MaxActive)
	case HaltCost:
		return "the cost budget is used up"
	case HaltLoop:
		return "the same call was made again and again with the same result"
	case HaltDenied:
		return "people refused what you asked for, more than once"
	case HaltUncertain:
		return "what people countersigned changed twice before it could run"
	}
	return fmt.Sprintf("%d attempts in a row failed", w.run.Counters.Heals)
}

package agent

import (
	"context"
	"errors"
	"time"

	"countersign/agent/llm"
)

// think asks the model once and commits its reply.
func (w *worker) think(ctx context.Context) (done bool, err error) {
	if err := w.toPlanning(); err != nil {
		return true, err
	}
	closing := w.run.Closing != HaltNone
	if !closing { // if it cannot be said now, the reply would have to be thrown away
		if w.asker, err = w.who(ctx); err != nil {
			return w.unknownAsker(ctx, err)
		}
	}
	if closing && w.broke() {
		return w.conclude(ctx, Turn{}, w.canned(), nil)
	}
	if upto, ok := w.rollable(); ok && w.nearlyFull(closing) {
		rolled, err := w.roll(ctx, upto, w.run.Spent)
		if rolled || err != nil {
			return err != nil, err
		}
		w.prune()
	}
	if made, err := w.afford(ctx); !made {
		return true, err
	}
	notes, consumed, err := w.notes(ctx)
	if err != nil {
		return true, err
	}
	reply, rolled, err := w.complete(ctx, notes, closing)
	switch {
	case rolled:
		return err != nil, err
	case err != nil:
		return w.trouble(ctx, err)
	}
	w.spend(reply.Usage)
	w.run.Counters.Trouble, w.run.Counters.Empty = 0, 0
	w.run.Counters.Checking, w.run.Counters.Cut = false, reply.Cut
	t := Turn{
		Run: w.run.ID, N: len(w.turns) + 1, Notes: notes, Text: reply.Text, Reasoning: reply.Reasoning,
		Extra: reply.Extra, Usage: reply.Usage, At: w.a.Now(),
	}
	if closing {
		return w.conclude(ctx, t, reply.Text, consumed)
	}
	if len(reply.Calls) > 0 {
		if w.asker, err = w.who(ctx); err != nil { // by now: the model may have thought for minutes
			return w.unknownAsker(ctx, err)
		}
		return w.called(ctx, t, reply, consumed)
	}
	return w.said(ctx, t, consumed)
}

// complete calls the model. Of a request that does not fit its window the oldest turns
// are condensed, after which everything is read again; else it is shortened once and sent
// again.
func (w *worker) complete(ctx context.Context, notes []Note, closing bool) (reply llm.Reply, rolled bool, err error) {
	before := w.run.Spent
	reply, err = w.a.Model.Complete(ctx, w.prompt(notes, closing))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Overflow {
		return reply, false, err
	}
	if e.Usage.Total() > 0 {
		w.spend(e.Usage)
	}
	if upto, ok := w.rollable(); ok {
		if rolled, err := w.roll(ctx, upto, before); rolled || err != nil {
			return llm.Reply{}, true, err
		}
	}
	if w.prune() {
		reply, err = w.a.Model.Complete(ctx, w.prompt(notes, closing))
		return reply, false, err
	}
	counted := *e
	counted.Usage = llm.Usage{}
	return llm.Reply{}, false, &counted
}

// toPlanning moves the run to planning from wherever its results left it.
func (w *worker) toPlanning() error {
	switch w.run.State {
	case Planning:
		return nil
	case Executing:
		return w.fire(OnResults, OnAgain)
	case Eval, Reflect:
		return w.fire(OnAgain)
	}
	w.run.InputBy = time.Time{}
	return w.fire(OnSettled)
}

func (w *worker) spend(u llm.Usage) {
	s := &w.run.Spent
	s.Calls++
	s.Prompt += u.Prompt
	s.Completion += u.Completion
	s.Cached += u.Cached
	s.Estimated = s.Estimated || u.Estimated
	s.Cost += w.a.Price.Of(u)
}

// broke says that not even the last call can be paid.
func (w *worker) broke() bool {
	l, s := w.run.Limits, w.run.Spent
	tokens := l.MaxTokens > 0 && s.Prompt+s.Completion >= l.MaxTokens
	return tokens || l.MaxCost > 0 && s.Cost >= l.MaxCost
}

// said commits a reply in text: the final answer, unless people said more or the
// plan is not done.
func (w *worker) said(ctx context.Context, t Turn, consumed []Consumed) (bool, error) {
	if err := w.fire(OnText); err != nil {
		return true, err
	}
	if w.mustCheck() {
		w.run.Counters.Checked, w.run.Counters.Checking = true, true
		return false, w.keep(ctx, t, consumed, false)
	}
	before := w.run
	err := w.end(ctx, ending{on: OnDone, halt: HaltDone, answer: t.Text, turn: &t, consumed: consumed})
	if errors.Is(err, ErrMoved) { // something was said meanwhile: keep the reply, then read
		before.Spent, w.run = w.run.Spent, before
		w.run.Spent = before.Spent
		return false, w.keep(ctx, t, consumed, false)
	}
	return true, err
}

// keep commits a turn without calls.
func (w *worker) keep(ctx context.Context, t Turn, consumed []Consumed, guarded bool) error {
	w.run.Turns = t.N
	if err := w.commit(ctx, Change{Turn: &t, Consumed: consumed}, guarded); err != nil {
		return err
	}
	w.turns = append(w.turns, t)
	for _, c := range consumed {
		w.drop(c.ID)
	}
	return nil
}

// conclude commits the last words after a limit: the run then waits for the
// asker, who may allow more or stop.
func (w *worker) conclude(ctx context.Context, t Turn, answer string, consumed []Consumed) (bool, error) {
	if answer == "" {
		answer = w.canned()
	}
	now := w.a.Now()
	w.run.Answer, w.run.Halt = answer, w.run.Closing
	w.run.InputBy = now.Add(w.run.Limits.InputTTL)
	if w.run.State == Planning {
		if err := w.fire(OnInput); err != nil {
			return true, err
		}
	}
	change := Change{
		Wishes: []Wish{answerWish(&w.run, now)}, Consumed: consumed,
		Audit: append(w.auditReply(t), w.entry("run.halted", nil, map[string]any{"reason": w.run.Halt, "spent": w.run.Spent})),
	}
	if t.N > 0 {
		w.run.Turns, change.Turn = t.N, &t
	}
	return false, w.commit(ctx, change, false)
}

// trouble handles a failed call of the model: later, differently, or not at all.
func (w *worker) trouble(ctx context.Context, err error) (done bool, fatal error) {
	if ctx.Err() != nil {
		return true, err // the lease is lost or the process stops: somebody goes on later
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		e = &llm.Error{Kind: llm.Overloaded, Message: "the model could not be reached", Err: err}
	}
	if e.Usage.Total() > 0 {
		w.spend(e.Usage)
	}
	w.log.WarnContext(ctx, "the model's call failed", "kind", e.Kind, "error", e.Err)
	if later, err := w.later(ctx, e); later {
		return true, err
	}
	if w.run.Closing != HaltNone {
		return w.conclude(ctx, Turn{}, w.canned(), nil)
	}
	w.failure = string(e.Kind) + ": " + e.Message
	return true, w.fail(ctx, HaltError)
}

// unknownAsker is what becomes of a run while nobody can say who asks: it waits, and then
// ends with a sentence, as when the model cannot be reached.
func (w *worker) unknownAsker(ctx context.Context, err error) (done bool, fatal error) {
	if ctx.Err() != nil {
		return true, err
	}
	w.log.WarnContext(ctx, "the asker cannot be looked up", "error", err)
	if later, err := w.later(ctx, &llm.Error{Kind: llm.Overloaded}); later {
		return true, err
	}
	w.failure = "unknown_asker: "
	return true, w.fail(ctx, HaltError)
}

// later puts the run off, unless that was done often enough or helps nothing.
func (w *worker) later(ctx context.Context, e *llm.Error) (done bool, err error) {
	c := &w.run.Counters
	c.Trouble++
	if e.Kind != llm.Overloaded && e.Kind != llm.Malformed || c.Trouble > mostTrouble {
		return false, nil
	}
	return true, w.yield(ctx, w.a.Now().Add(backoff(e, c.Trouble)))
}

// mostTrouble is how many failures in a row a run outlives: of calls of the model, and of
// looking up who asks.
const mostTrouble = 5

// backoff is how long a run waits before the model is called again: what the
// provider asked for, or doubling from one second.
func backoff(e *llm.Error, n int) time.Duration {
	if e.RetryAfter > 0 {
		return e.RetryAfter
	}
	return min(time.Second<<(n-1), 30*time.Second)
}

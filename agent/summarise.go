package agent

import (
	"context"
	"errors"

	"countersign/agent/llm"
)

// How much of an output the smaller model is shown, in characters, and how many
// tokens its summary may have.
const (
	summariseFrom   = 60_000
	summariseTokens = 500
)

// summarise lets the smaller model condense the long outputs among reads. What it
// costs is on the run's ledger, and held in its day beforehand; when it fails or the day
// has no room for it, the output is shown in part.
func (w *worker) summarise(ctx context.Context, steps []Step) {
	if w.a.Small == nil {
		return
	}
	before := w.run.Spent
	for i := range steps {
		s := &steps[i]
		if s.Output == "" || s.Tool == ReadOutput || ctx.Err() != nil || w.broke() {
			continue
		}
		if text := w.summary(ctx, s, before); text != "" {
			s.Observation = w.edited(s, w.condense(s, s.Output, text))
		}
	}
}

func (w *worker) summary(ctx context.Context, s *Step, before Spent) string {
	task, err := w.a.Prompts.Render("summarise", map[string]any{"Tool": s.Tool, "Request": cut(w.run.Request, 500), "Most": w.a.OutputChars})
	if err != nil {
		return ""
	}
	r := llm.Request{
		Messages:  []llm.Message{{Role: llm.System, Text: task}, {Role: llm.User, Text: cut(s.Output, summariseFrom)}},
		MaxTokens: min(summariseTokens, w.tokensLeftOr(summariseTokens)), Key: w.run.ID + "-summary",
	}
	return cut(w.askSmall(ctx, r, before), 2*w.a.OutputChars)
}

// askSmall lets the smaller model summarise; empty when the day has no room or it failed.
func (w *worker) askSmall(ctx context.Context, r llm.Request, before Spent) string {
	if !w.roomFor(ctx, &r, before) {
		return ""
	}
	reply, err := w.a.Small.Complete(ctx, r)
	if err != nil {
		var e *llm.Error
		if errors.As(err, &e) && e.Usage.Total() > 0 {
			w.spend(e.Usage)
		}
		w.log.WarnContext(ctx, "the summary failed", "error", err)
		return ""
	}
	w.spend(reply.Usage)
	return reply.Text
}

// roomFor holds what a call of the smaller model may use in the run's day. What summaries
// used since the last commit is not on the day's account yet, so it is held with it.
func (w *worker) roomFor(ctx context.Context, r *llm.Request, before Spent) bool {
	now := w.run.Spent
	used := Amount{Tokens: int64(now.Prompt + now.Completion - before.Prompt - before.Completion), Cost: now.Cost - before.Cost}
	u := llm.Usage{Prompt: r.Estimate(), Completion: r.MaxTokens}
	over, _, err := w.reserve(ctx, Amount{Tokens: int64(u.Total()), Cost: w.a.Price.Of(u)}, used)
	if err != nil {
		w.log.WarnContext(ctx, "no summary is made", "error", err)
	}
	return err == nil && over == ""
}

func (w *worker) tokensLeftOr(otherwise int) int {
	if left := w.tokensLeft(); left > 0 {
		return left
	}
	return otherwise
}

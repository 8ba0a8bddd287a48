package agent

import (
	"context"
	"unicode/utf8"

	"countersign/agent/llm"
)

// How much of an output the smaller model is shown, in characters, and how many
// tokens its summary may have.
const (
	summariseFrom   = 60_000
	summariseTokens = 500
)

// summarise lets the smaller model condense the long outputs among reads. What it
// costs is on the run's ledger; when it fails, the output is shown in part.
func (w *worker) summarise(ctx context.Context, steps []Step) {
	if w.a.Small == nil {
		return
	}
	for i := range steps {
		s := &steps[i]
		if s.Output == "" || s.Tool == ReadOutput || ctx.Err() != nil || w.broke() {
			continue
		}
		if text := w.summary(ctx, s); text != "" {
			s.Observation = w.edited(s, w.condense(s, s.Output, text))
		}
	}
}

func (w *worker) summary(ctx context.Context, s *Step) string {
	task, err := w.a.Prompts.Render("summarise", map[string]any{"Tool": s.Tool, "Request": cut(w.run.Request, 500), "Most": w.a.OutputChars})
	if err != nil {
		return ""
	}
	reply, err := w.a.Small.Complete(ctx, llm.Request{
		Messages:  []llm.Message{{Role: llm.System, Text: task}, {Role: llm.User, Text: cut(s.Output, summariseFrom)}},
		MaxTokens: min(summariseTokens, w.tokensLeftOr(summariseTokens)), Key: w.run.ID + "-summary",
	})
	if err != nil {
		w.log.WarnContext(ctx, "a long output could not be summarised", "step", s.N, "error", err)
		return ""
	}
	w.spend(reply.Usage)
	if utf8.RuneCountInString(reply.Text) > 2*w.a.OutputChars {
		return cut(reply.Text, 2*w.a.OutputChars)
	}
	return reply.Text
}

func (w *worker) tokensLeftOr(otherwise int) int {
	if left := w.tokensLeft(); left > 0 {
		return left
	}
	return otherwise
}

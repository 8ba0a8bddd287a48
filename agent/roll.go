package agent

import (
	"context"
	"fmt"

	"countersign/agent/llm"
	"countersign/agent/prompts"
	"countersign/tools"
)

// Rolled is what stands in the request for the oldest turns once they filled the
// model's window. The turns and their steps stay stored as they are.
type Rolled struct {
	Upto  int    `json:"upto,omitempty"`  // turns up to here are sent as the summary
	Text  string `json:"text,omitempty"`  // the summary, by the smaller model
	Tried int    `json:"tried,omitempty"` // turns there were when a summary was last asked for
}

// Of a request that fills its window the last turns are always sent as they are, and a
// summary is asked for after so many more turns again: it costs a call of the smaller
// model, and everything behind it leaves the provider's cache.
const (
	keptTurns   = 3
	fewestTurns = 3
)

// How long a summary of turns may be, in tokens of the reply and in characters.
const (
	rollTokens = 800
	rollChars  = 3000
)

// nearlyFull says that a request takes three quarters of the model's window.
func (w *worker) nearlyFull(closing bool) bool {
	if w.a.Window == 0 {
		return false
	}
	r := w.prompt(nil, closing)
	return r.Estimate() >= w.a.Window/4*3
}

// rollable says up to which turn a summary may stand for the turns: whole turns, all of
// whose calls have their result, and enough of them that are new.
func (w *worker) rollable() (upto int, ok bool) {
	c := w.run.Counters.Rolled
	if w.a.Small == nil || len(w.turns)-c.Tried < fewestTurns || w.broke() {
		return 0, false
	}
	upto = len(w.turns) - keptTurns
	for i := range w.steps {
		if s := &w.steps[i]; s.Turn <= upto && !s.State.Settled() {
			upto = s.Turn - 1
		}
	}
	return upto, upto-c.Upto >= fewestTurns
}

// roll condenses the turns up to one, with the summary before them, and commits what
// came of it at once, so that it is made once. Without a summary older results are sent
// shortened, as they are where there is no smaller model.
func (w *worker) roll(ctx context.Context, upto int, before Spent) (rolled bool, err error) {
	text := w.rollText(ctx, upto, before)
	if ctx.Err() != nil {
		return false, fmt.Errorf("summary of run %s: %w", w.run.ID, context.Cause(ctx))
	}
	c := &w.run.Counters.Rolled
	c.Tried = len(w.turns)
	if text == "" {
		return false, nil
	}
	c.Upto, c.Text = upto, text
	e := w.entry("run.condensed", nil, map[string]any{"turns": upto, "summary": tools.Digest("summary", text)})
	return true, w.commit(ctx, Change{Audit: []auditEntry{e}}, false)
}

// rollText asks the smaller model; empty when there is no room for that or it failed.
func (w *worker) rollText(ctx context.Context, upto int, before Spent) string {
	task, err := w.a.Prompts.Render("roll", map[string]any{"Request": cut(w.run.Request, 500), "Most": rollChars})
	if err != nil {
		return ""
	}
	r := llm.Request{
		Messages:  []llm.Message{{Role: llm.System, Text: task}, {Role: llm.User}},
		MaxTokens: min(rollTokens, w.tokensLeftOr(rollTokens)), Key: w.run.ID + "-summary",
	}
	for most := longestTold; ; most /= 2 {
		r.Messages[1].Text = w.told(upto, most)
		if w.a.Window == 0 && len(r.Messages[1].Text) <= summariseFrom || w.a.Window > 0 && r.Estimate() <= w.a.Window/2 || most <= shortResult {
			break
		}
	}
	if left := w.tokensLeft(); left > 0 && r.Estimate()+r.MaxTokens+w.lastCallNeeds() > left {
		return "" // what is left is for the answer
	}
	return cut(w.askSmall(ctx, r, before), rollChars)
}

// longestTold is how many characters of one text the smaller model is told at most.
const longestTold = 4000

// told is what the smaller model reads: the summary so far and what happened since, one
// JSON object a line, every text at most so long.
func (w *worker) told(upto, most int) string {
	c := w.run.Counters.Rolled
	text := ""
	add := func(kind, said string) {
		if said != "" {
			text += prompts.Line(map[string]string{kind: cut(said, most)}) + "\n"
		}
	}
	if c.Text != "" {
		text = prompts.Line(map[string]string{"summary_so_far": c.Text}) + "\n"
	}
	for i := c.Upto; i < upto; i++ {
		t := &w.turns[i]
		for _, n := range t.Notes {
			if n.Kind == NoteSteer || n.Kind == NoteQuote {
				add("note", n.Text)
			}
		}
		add("said", t.Text)
		for _, s := range w.stepsOf(t.N) {
			text += prompts.Line(map[string]string{
				"step": outputRef(s.N), "tool": s.Tool, "arguments": cut(sendable(&s), most), "result": cut(s.Observation, most),
			}) + "\n"
		}
	}
	return text
}

// steers are the asker's further words among notes: they are instructions and stay,
// word for word, whatever becomes of the turn that they came with.
func steers(notes []Note) []llm.Message {
	var out []Note
	for _, n := range notes {
		if n.Kind == NoteSteer {
			out = append(out, n)
		}
	}
	return noteMessages(out)
}

// rolledMessage stands for the turns that were condensed: the smaller model's words as
// data, and from our own rows what no summary may lose.
func (w *worker) rolledMessage(steps []Step) llm.Message {
	plan, lines := "", []string(nil)
	for i := range steps {
		s := &steps[i]
		if s.Tool == UpdatePlan && s.State == StepSucceeded {
			plan = string(s.Proposed)
		}
		if s.binds() {
			lines = append(lines, s.line())
		}
	}
	c := w.run.Counters.Rolled
	text, err := w.a.Prompts.Render("rolled", map[string]any{
		"Turns": c.Upto, "Steps": len(steps), "Text": prompts.Line(c.Text), "Plan": plan, "Lines": lines,
	})
	if err != nil {
		text = c.Text
	}
	return llm.Message{Role: llm.User, Text: text}
}

// binds says that what became of a step must reach every later request: what people or
// rules refused, what people answered, what was countersigned, and what was done.
func (s *Step) binds() bool {
	switch s.State {
	case StepAnswered, StepUncertain:
		return true
	case StepRefused:
		return !s.failed() || s.Code == "denied" || s.Code == "not_allowed"
	}
	return s.Effects && s.Attempts > 0 || s.Approval != "" || s.Grant != ""
}

// line tells of a step from its row. Refusals and answers are whole, results are not.
func (s *Step) line() string {
	result := s.Observation
	if s.State == StepSucceeded || s.State == StepFailed {
		result = cut(result, longestBinding)
	}
	kind := "result"
	if s.Tool == AskUser {
		kind = "answer"
	}
	return prompts.Line(map[string]string{"step": outputRef(s.N), "tool": s.Tool, "arguments": cut(s.ran(), longestBinding), kind: result})
}

// longestBinding is how many characters of a call, and of its result, a line has.
const longestBinding = 600

// ran are the arguments with which a step ran, or else those that were proposed.
func (s *Step) ran() string {
	if s.Executed != nil {
		return string(s.Executed)
	}
	return sendable(s)
}

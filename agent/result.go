package agent

import (
	"unicode/utf8"

	"countersign/internal/audit"
	"countersign/tools"
)

type auditEntry = audit.Entry

// succeed settles a step with a text that is its whole result.
func (w *worker) succeed(s *Step, text string) {
	w.succeedWith(s, tools.Result{Text: text})
}

func (w *worker) succeedWith(s *Step, r tools.Result) {
	text := r.Text
	if text == "" {
		text = "(no output)"
	}
	s.State, s.EndedAt, s.Code = StepSucceeded, w.a.Now(), ""
	s.Outcome = tools.Digest("outcome", text)
	s.Summary = cut(firstLine(orDefault(r.Summary, text)), 200)
	s.Effect, s.Sources = r.Effect, r.Sources
	s.Attached = attached(s, r)
	s.Observation = w.edited(s, w.condense(s, text, ""))
}

func (w *worker) failStep(s *Step, f *tools.Failure) {
	text, err := w.a.Prompts.Render("failed", map[string]string{"Code": f.Code, "Reason": f.Message})
	if err != nil {
		text = f.Error()
	}
	s.State, s.EndedAt, s.Code = StepFailed, w.a.Now(), f.Code
	s.Outcome = tools.Digest("outcome", text)
	s.Summary = cut(firstLine(f.Message), 200)
	s.Observation = w.edited(s, w.condense(s, text, ""))
}

// condense shows a long output in part: its head and its tail, its size, and how
// to read the rest, after a smaller model's summary where there is one. The whole is stored.
func (w *worker) condense(s *Step, text, summary string) string {
	most := w.a.OutputChars
	if most <= 0 || utf8.RuneCountInString(text) <= most || s.Tool == ReadOutput {
		return text
	}
	s.Output = text
	r := []rune(text)
	head, tail := most*2/3, most/3
	out, err := w.a.Prompts.Render("condensed", map[string]any{
		"Summary": summary, "Head": string(r[:head]), "Tail": string(r[len(r)-tail:]), "Left": len(r) - head - tail, "Total": len(r),
		"Ref": outputRef(s.N), "Offset": head,
	})
	if err != nil {
		return string(r[:most])
	}
	return out
}

// edited tells the model that a person changed the call, and what ran.
func (w *worker) edited(s *Step, result string) string {
	if s.Executed == nil || s.Proposed == nil || string(s.Executed) == string(s.Proposed) {
		return result
	}
	by, reason := "", ""
	if a := w.open[s.Approval]; a != nil {
		r := a.Current()
		by, reason = r.By.User, r.Reason
	}
	text, err := w.a.Prompts.Render("edited", map[string]string{
		"By": by, "Reason": reason, "Proposed": string(s.Proposed), "Executed": string(s.Executed), "Result": result,
	})
	if err != nil {
		return result
	}
	return text
}

// finished updates the counters that live on results: a different outcome of the
// same call ends a loop.
func (w *worker) finished(before *Step, after Step) {
	for i := len(w.steps) - 1; i >= 0; i-- {
		e := &w.steps[i]
		if e.N == before.N || e.Fingerprint != after.Fingerprint || e.Attempts == 0 {
			continue
		}
		if e.Outcome != after.Outcome {
			w.run.Counters.Warned = false
		}
		return
	}
}

// settle moves the run on when the last turn's calls all have their result.
func (w *worker) settle(_ *Change) error {
	if len(w.steps) == 0 || w.run.State != Executing {
		return nil
	}
	failed, succeeded := false, false
	for _, s := range w.stepsOf(w.steps[len(w.steps)-1].Turn) {
		if !s.State.Settled() {
			return nil
		}
		failed = failed || s.failed()
		succeeded = succeeded || s.State == StepSucceeded
	}
	if succeeded {
		w.run.Counters.Heals = 0
	}
	if failed {
		w.run.Counters.Heals++
		return w.fire(OnErrors)
	}
	return w.fire(OnResults)
}

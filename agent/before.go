package agent

import (
	"fmt"
	"strings"

	"countersign/tools"
)

// before intercepts a call because of what happened earlier in the run: people
// refused it, a person changed it, or it gave the same result again and again.
func (w *worker) before(s *Step, spec tools.Spec) *tools.Failure {
	for i := range w.steps {
		e := &w.steps[i]
		if e.Fingerprint != s.Fingerprint || e.Fingerprint == "" {
			continue
		}
		if e.State == StepRefused && e.Code == "rejected" {
			return &tools.Failure{Code: "denied_before", Message: "people refused this very call in this request; it is not asked again"}
		}
		if e.Executed != nil && e.Proposed != nil && string(e.Executed) != string(e.Proposed) {
			return &tools.Failure{Code: "edited_before", Message: fmt.Sprintf("a person already changed this very call; what ran instead is %s", e.Executed)}
		}
	}
	return w.looping(s, spec)
}

// looping intercepts the third equal call whose two results were equal. Cycles of
// up to loop_window calls are seen: the window spans two of them.
func (w *worker) looping(s *Step, spec tools.Spec) *tools.Failure {
	if spec.Polling || w.run.Limits.Window == 0 {
		return nil
	}
	var outcomes []string
	for i := max(0, len(w.steps)-2*w.run.Limits.Window); i < len(w.steps); i++ {
		e := &w.steps[i]
		if e.Fingerprint == s.Fingerprint && e.Attempts > 0 && e.State.Settled() {
			outcomes = append(outcomes, e.Outcome)
		}
	}
	n := len(outcomes)
	if n < 2 || outcomes[n-1] != outcomes[n-2] {
		return nil
	}
	if w.run.Counters.Warned {
		w.run.Counters.Looped = true
	}
	w.run.Counters.Warned = true
	text, err := w.a.Prompts.Render("loop", map[string]any{"Tool": s.Tool, "Times": n})
	if err != nil {
		text = "the same call gave the same result before"
	}
	return &tools.Failure{Code: "loop", Message: text}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

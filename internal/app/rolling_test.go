package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/tools"
)

// A request as long as the model's window is made room in by the smaller model: what the
// provider gets from then on has the request, the summary and the last turns, and the
// bill of the run has the summary.
func TestAFullWindowIsRolledOverTheWire(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		look := &apptest.Counter{Name: "look", Risk: tools.Low, Do: func(_ context.Context, c tools.Call) (tools.Result, error) {
			return tools.Result{Text: strings.Repeat("a", 950) + string(c.Args)}, nil
		}}
		looked := 0
		turn := apptest.Turn{From: func(r apptest.Request) apptest.Turn {
			switch {
			case len(r.Tools) == 0:
				return apptest.Says("They all look alike.")
			case looked < 9:
				looked++
				return apptest.Calls("look", fmt.Sprintf(`{"thought":"t","what":"door %d"}`, looked))
			}
			return apptest.Says("All doors were looked at.")
		}}
		script := apptest.Play()
		for range 12 {
			script.Turns = append(script.Turns, turn)
		}
		o.Model, o.Extra = script, []tools.Tool{look}
		o.YAML = "model: {small: tiny, window: 5000}\n"
		s := start(t, o)
		s.answered(s.asks("look at all doors"), "All doors were looked at.")
		w := s.waits(agent.Success)
		last := script.Last().Messages
		if last[1].Content != "look at all doors" || !strings.HasPrefix(last[2].Content, "SUMMARY of your first ") || !strings.Contains(last[2].Content, `"They all look alike."`) {
			t.Errorf("the last request begins with %.200q, %.200q", last[1].Content, last[2].Content)
		}
		if look.Count() != 9 || !strings.Contains(last[len(last)-1].Content, "door 9") {
			t.Errorf("looked %d times, the last message is %.80q", look.Count(), last[len(last)-1].Content)
		}
		summaries := 0
		for _, r := range script.Requests() {
			if strings.Contains(r.Raw, `"model":"tiny"`) {
				summaries++
				if !strings.Contains(r.Messages[1].Content, "door 1") && summaries == 1 {
					t.Errorf("the summary is made of %.300q", r.Messages[1].Content)
				}
			}
		}
		if summaries == 0 || summaries > 2 || w.Run.Spent.Calls != 10+summaries || !audited(w, "run.condensed", "", `"turns"`) {
			t.Errorf("%d summaries, on the ledger is %+v", summaries, w.Run.Spent)
		}
	})
}

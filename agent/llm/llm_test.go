package llm_test

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent/llm"
)

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, "four": 1, "five5": 2, "余额": 2, "余额 is": 3, "\xff\xfe": 2} {
		if got := llm.EstimateTokens(text); got != want {
			t.Errorf("%q: %d, not %d", text, got, want)
		}
	}
}

func TestEstimatesCountEverythingThatIsSent(t *testing.T) {
	t.Parallel()
	r := llm.Request{Messages: []llm.Message{{Text: "four"}}}
	steps := []func(){
		func() { r.Messages = append(r.Messages, llm.Message{}) },
		func() { r.Messages[1].Calls = []llm.Call{{Name: "name", Arguments: "{}"}} },
		func() { r.Tools = []llm.ToolDef{{Name: "name"}} },
		func() { r.Tools[0].Description = "what it does" },
		func() { r.Tools[0].Parameters = json.RawMessage(`{"type":"object"}`) },
	}
	for i, step := range steps {
		before := r.Estimate()
		if step(); r.Estimate() <= before {
			t.Errorf("step %d costs nothing", i)
		}
	}
	reply := llm.Reply{Text: "four", Reasoning: "four", Calls: []llm.Call{{Name: "four", Arguments: "four"}}}
	if got := reply.Estimate(); got != 8 {
		t.Errorf("estimate %d", got)
	}
}

func TestUsageOfAttemptsAddsUp(t *testing.T) {
	t.Parallel()
	got := llm.Usage{Prompt: 1, Completion: 2, Cached: 1}.Plus(llm.Usage{Prompt: 10, Completion: 20, Cached: 5, Estimated: true})
	if d := cmp.Diff(llm.Usage{Prompt: 11, Completion: 22, Cached: 6, Estimated: true}, got); d != "" || got.Total() != 33 {
		t.Error(d, got.Total())
	}
}

func TestErrorKeepsItsCause(t *testing.T) {
	t.Parallel()
	var err error = &llm.Error{Kind: llm.Config, Message: "wrong key", Err: io.EOF}
	if !errors.Is(err, io.EOF) || err.Error() != "model: config: wrong key" {
		t.Error(err)
	}
}

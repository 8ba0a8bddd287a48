package agent

import (
	"encoding/json"

	"countersign/agent/llm"
	"countersign/tools"
)

// prompt builds the request of the next turn from the scratchpad. What was sent
// before is a prefix of it, byte for byte, so that provider caches hit.
func (w *worker) prompt(notes []Note, closing bool) llm.Request {
	r := llm.Request{Key: w.run.ID, MaxTokens: w.tokensLeft()}
	r.Messages = append(r.Messages, llm.Message{Role: llm.System, Text: w.run.System})
	first := notes
	if len(w.turns) > 0 {
		first = w.turns[0].Notes
	}
	r.Messages = append(r.Messages, w.opening(first)...)
	for i := range w.turns {
		if i > 0 {
			r.Messages = append(r.Messages, noteMessages(w.turns[i].Notes)...)
		}
		r.Messages = append(r.Messages, w.turnMessages(&w.turns[i])...)
	}
	if len(w.turns) > 0 {
		r.Messages = append(r.Messages, noteMessages(notes)...)
	}
	if !closing {
		r.Tools = w.toolDefs()
	}
	return r
}

// opening is the request itself, with the thread's history before it.
func (w *worker) opening(notes []Note) []llm.Message {
	var before, after []Note
	for _, n := range notes {
		if n.Kind == NoteHistory {
			before = append(before, n)
		} else {
			after = append(after, n)
		}
	}
	out := noteMessages(before)
	out = append(out, llm.Message{Role: llm.User, Text: w.run.Request})
	return append(out, noteMessages(after)...)
}

func noteMessages(notes []Note) []llm.Message {
	var out []llm.Message
	for _, n := range notes {
		out = append(out, llm.Message{Role: llm.User, Text: n.Text})
	}
	return out
}

func (w *worker) turnMessages(t *Turn) []llm.Message {
	said := llm.Message{Role: llm.Assistant, Text: t.Text, Reasoning: t.Reasoning, Extra: t.Extra}
	var results []llm.Message
	for _, s := range w.stepsOf(t.N) {
		said.Calls = append(said.Calls, llm.Call{ID: s.CallID, Name: s.Tool, Arguments: sendable(&s), Extra: s.Extra})
		results = append(results, llm.Message{Role: llm.Tool, CallID: s.CallID, Text: s.Observation})
	}
	return append([]llm.Message{said}, results...)
}

// sendable is the call's arguments as the model wrote them, unless a strict server
// would refuse to read them back.
func sendable(s *Step) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s.Raw), &object) == nil && object != nil {
		return s.Raw
	}
	if s.Proposed != nil {
		return string(s.Proposed)
	}
	return "{}"
}

func (w *worker) toolDefs() []llm.ToolDef {
	specs := append(w.a.Gate.Tools.Specs(), controlSpecs...)
	out := make([]llm.ToolDef, 0, len(specs))
	for _, s := range specs {
		out = append(out, llm.ToolDef{Name: s.Name, Description: s.Description, Parameters: tools.ShownSchema(s)})
	}
	return out
}

package agent

import (
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"countersign/agent/llm"
	"countersign/tools"
)

// prompt builds the request of the next turn from the scratchpad. What was sent
// before is a prefix of it, byte for byte, so that provider caches hit.
func (w *worker) prompt(notes []Note, closing bool) llm.Request {
	r := llm.Request{Key: w.run.ID, MaxTokens: w.tokensLeft()}
	r.Messages = make([]llm.Message, 1, len(w.turns)+len(w.steps)+len(notes)+spareMessages)
	r.Messages[0] = llm.Message{Role: llm.System, Text: w.run.System}
	first := notes
	if len(w.turns) > 0 {
		first = w.turns[0].Notes
	}
	r.Messages = append(r.Messages, w.opening(first)...)
	rest := w.steps
	rolled := w.run.Counters.Rolled.Upto
	for i := range w.turns[:rolled] {
		if i > 0 {
			r.Messages = append(r.Messages, steers(w.turns[i].Notes)...)
		}
	}
	if rolled > 0 {
		n := stepsUpTo(rest, rolled)
		r.Messages = append(r.Messages, w.rolledMessage(rest[:n]))
		rest = rest[n:]
	}
	for i := rolled; i < len(w.turns); i++ {
		if i > 0 {
			r.Messages = append(r.Messages, noteMessages(w.turns[i].Notes)...)
		}
		n := stepsUpTo(rest, w.turns[i].N)
		r.Messages = w.turnMessages(r.Messages, &w.turns[i], rest[:n])
		rest = rest[n:]
	}
	if len(w.turns) > 0 {
		r.Messages = append(r.Messages, noteMessages(notes)...)
	}
	if !closing {
		r.Tools = w.toolDefs()
	}
	return r
}

// spareMessages is the room for what is neither a reply nor a result.
const spareMessages = 8

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

// stepsUpTo says how many of the steps, which are in order, belong to turns up to one.
func stepsUpTo(steps []Step, turn int) int {
	n := 0
	for n < len(steps) && steps[n].Turn <= turn {
		n++
	}
	return n
}

// turnMessages adds a reply with its calls, and the result of each.
func (w *worker) turnMessages(out []llm.Message, t *Turn, steps []Step) []llm.Message {
	reply := llm.Message{Role: llm.Assistant, Text: t.Text, Reasoning: t.Reasoning, Extra: t.Extra}
	if len(steps) > 0 {
		reply.Calls = make([]llm.Call, len(steps))
	}
	for i := range steps {
		s := &steps[i]
		reply.Calls[i] = llm.Call{ID: s.CallID, Name: s.Tool, Arguments: sendable(s), Extra: s.Extra}
	}
	out = append(out, reply)
	for i := range steps {
		out = append(out, llm.Message{Role: llm.Tool, CallID: steps[i].CallID, Text: w.result(&steps[i])})
	}
	return out
}

// result is what the model reads of a step: its observation, or one line of it when
// the request has to be shortened. The stored observation is never touched.
func (w *worker) result(s *Step) string {
	if s.Turn > w.run.Counters.Pruned || utf8.RuneCountInString(s.Observation) <= shortResult {
		return s.Observation
	}
	text, err := w.a.Prompts.Render("pruned", map[string]string{"Head": cut(s.Observation, shortResult), "Ref": outputRef(s.N)})
	if err != nil {
		return cut(s.Observation, shortResult)
	}
	return text
}

// shortResult is how many characters of an old result are still sent when the
// model's window is full.
const shortResult = 160

// prune shortens what is sent of older results, at once for all turns but the
// latest, so that the prompt's prefix changes seldom. False: there is nothing left to shorten.
func (w *worker) prune() bool {
	upTo := len(w.turns) - 1
	if upTo <= w.run.Counters.Pruned {
		return false
	}
	w.run.Counters.Pruned = upTo
	return true
}

// sendable is the call's arguments as the model wrote them, unless a strict server
// would refuse to read them back.
func sendable(s *Step) string {
	if strings.HasPrefix(strings.TrimLeft(s.Raw, " \t\r\n"), "{") && json.Valid([]byte(s.Raw)) {
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
		out = append(out, llm.ToolDef{Name: s.Name, Description: s.Description, Parameters: w.a.shown.of(s)})
	}
	return out
}

// shownSchemas remembers how schemas are shown to the model: there are as many as
// tools, and every request carries them all.
type shownSchemas struct{ byOwn sync.Map }

func (m *shownSchemas) of(s tools.Spec) json.RawMessage {
	own := string(s.Parameters)
	known, _ := m.byOwn.Load(own)
	if shown, ok := known.(json.RawMessage); ok {
		return shown
	}
	shown := tools.ShownSchema(s)
	m.byOwn.Store(own, shown)
	return shown
}

package openai

import (
	"bytes"
	"encoding/json"

	"countersign/agent/llm"
)

// Keys of the wire format that more than one file names.
const (
	keyContent   = "content"
	keyToolCalls = "tool_calls"
	// keyFunctionCall is the one call of a message, as it was before tool_calls.
	keyFunctionCall = "function_call"
	keyReasoning    = "reasoning_content"
	keyRefusal      = "refusal"
	keyProviderID   = "provider_id" // in Call.Extra: the provider's id of the call, which is never sent back
)

// corrected adds to the body what go-openai cannot say: content and arguments
// that are empty, the provider's extras, the prompt cache key, streaming.
func (x *exchange) corrected(body []byte) ([]byte, error) {
	var top map[string]any
	if err := decode(body, &top); err != nil {
		return nil, err
	}
	if messages, ok := top["messages"].([]any); ok {
		for i, m := range messages {
			if wire, ok := m.(map[string]any); ok && i < len(x.request.Messages) {
				x.correct(wire, &x.request.Messages[i])
			}
		}
	}
	if x.request.Key != "" && x.m.openai && !x.habits.noCacheKey {
		top["prompt_cache_key"] = x.request.Key
	}
	if x.m.c.Stream {
		top["stream"] = true
		if !x.habits.noStreamUsage {
			top["stream_options"] = map[string]any{"include_usage": true}
		}
	}
	return encode(top)
}

func (x *exchange) correct(wire map[string]any, m *llm.Message) {
	if len(m.Calls) == 0 {
		if _, ok := wire[keyContent]; !ok {
			wire[keyContent] = ""
		}
		return
	}
	if m.Text == "" {
		x.fillContent(wire, m)
	}
	if x.habits.noExtras {
		return
	}
	inject(wire, m.Extra)
	calls, ok := wire[keyToolCalls].([]any)
	for i := 0; ok && i < len(calls) && i < len(m.Calls); i++ {
		if call, ok := calls[i].(map[string]any); ok {
			inject(call, m.Calls[i].Extra)
		}
	}
}

// fillContent gives calls without text the content that the server accepts.
func (x *exchange) fillContent(wire map[string]any, m *llm.Message) {
	switch x.habits.content {
	case ContentOmit:
		delete(wire, keyContent)
	case ContentNull:
		wire[keyContent] = nil
	case ContentEmpty:
		wire[keyContent] = ""
	default:
		wire[keyContent] = thoughtOf(m.Calls)
	}
}

// thoughtOf is the first thought among the calls' arguments, else a space.
func thoughtOf(calls []llm.Call) string {
	for _, c := range calls {
		var args struct {
			Thought string `json:"thought"`
		}
		if json.Unmarshal([]byte(c.Arguments), &args) == nil && args.Thought != "" {
			return args.Thought
		}
	}
	return " "
}

// inject puts the extras beside what is there; they never replace it.
func inject(wire map[string]any, extra json.RawMessage) {
	var keys map[string]any
	if len(extra) == 0 || decode(extra, &keys) != nil {
		return
	}
	for k, v := range keys {
		if _, taken := wire[k]; !taken && k != keyProviderID {
			wire[k] = v
		}
	}
}

// decode reads JSON and keeps numbers as they are written.
func decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

// encode writes JSON with sorted keys, so that equal requests are equal bytes,
// and without escaping for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

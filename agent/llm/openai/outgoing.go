package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	api "github.com/sashabaranov/go-openai"

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

// corrected adds to the body what go-openai cannot say: the messages with empty
// contents and the provider's extras, the prompt cache key, streaming.
func (x *exchange) corrected(body []byte) ([]byte, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, err
	}
	messages := make([]any, len(x.request.Messages))
	for i := range messages {
		messages[i] = x.message(&x.request.Messages[i])
	}
	var err error
	if top["messages"], err = encode(messages); err != nil {
		return nil, err
	}
	if x.request.Key != "" && x.m.openai && !x.habits.noCacheKey {
		if top["prompt_cache_key"], err = encode(x.request.Key); err != nil {
			return nil, err
		}
	}
	if x.m.c.Stream {
		top["stream"] = json.RawMessage("true")
		if !x.habits.noStreamUsage {
			top["stream_options"] = json.RawMessage(`{"include_usage":true}`)
		}
	}
	return object(top), nil
}

// object writes an object whose keys need no escaping, in their order.
func object(members map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + k + `":`)
		b.Write(members[k])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// outgoingMessage is a message as it is sent; a content of nil is left out.
type outgoingMessage struct {
	Role       string         `json:"role"`
	Content    any            `json:"content,omitempty"`
	ToolCalls  []api.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
}

// message is one of ours as the server takes it.
func (x *exchange) message(m *llm.Message) any {
	out := outgoingMessage{Role: string(m.Role), Content: x.content(m)}
	if m.Role == llm.Tool {
		out.ToolCallID = m.CallID
	}
	for _, c := range m.Calls {
		out.ToolCalls = append(out.ToolCalls, api.ToolCall{
			ID: c.ID, Type: api.ToolTypeFunction,
			Function: api.FunctionCall{Name: sendableName(c.Name), Arguments: sendableArguments(c.Arguments)},
		})
	}
	if x.habits.noExtras || !hasSendable(m) {
		return out
	}
	return withExtras(out, m)
}

// null is the content that says that there is none.
const null = "null"

// content is what a message says; where it says nothing, what the server accepts.
func (x *exchange) content(m *llm.Message) any {
	switch {
	case m.Role == llm.Tool && strings.TrimSpace(m.Text) == "":
		return noOutput
	case m.Text != "" || len(m.Calls) == 0 || x.habits.content == ContentEmpty:
		return m.Text
	case x.habits.content == ContentOmit:
		return nil
	case x.habits.content == ContentNull:
		return json.RawMessage(null)
	}
	return thoughtOf(m.Calls)
}

// withExtras is a message with the provider's extras, its own and those of its calls.
func withExtras(out outgoingMessage, m *llm.Message) any {
	var members map[string]any
	raw, err := encode(out)
	if err != nil || decode(raw, &members) != nil { // plain values always encode
		return out
	}
	inject(members, m.Extra)
	calls, _ := members[keyToolCalls].([]any)
	for i := range min(len(calls), len(m.Calls)) {
		if call, ok := calls[i].(map[string]any); ok {
			inject(call, m.Calls[i].Extra)
		}
	}
	return members
}

// hasSendable says whether a message has extras beside the ids that are never sent.
func hasSendable(m *llm.Message) bool {
	return len(m.Extra) > 0 || slices.ContainsFunc(m.Calls, func(c llm.Call) bool {
		var extra map[string]json.RawMessage
		if len(c.Extra) == 0 || json.Unmarshal(c.Extra, &extra) != nil {
			return false
		}
		delete(extra, keyProviderID)
		return len(extra) > 0
	})
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

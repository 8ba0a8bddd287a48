package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"countersign/agent/llm"
)

// normalised is an answer in the one shape that go-openai reads.
type normalised struct {
	body   []byte
	extras messageExtras
	usage  llm.Usage
	counts bool // the answer carried usage
}

var errNoChoice = errors.New("the answer holds no choice")

// normalise brings a completion into OpenAI's own shape: only known keys, with
// their own types. Usage is returned even with an error, for the ledger.
func normalise(raw []byte) (normalised, error) {
	var n normalised
	var v any
	if err := decode(raw, &v); err != nil {
		return n, fmt.Errorf("the answer is not JSON: %w", err)
	}
	top, ok := v.(map[string]any)
	if !ok {
		if c, ok := complaintIn(v); ok {
			return n, c
		}
		return n, errNoChoice
	}
	n.usage, n.counts = usageOf(top["usage"])
	choice, err := firstChoice(top)
	if err != nil {
		return n, err
	}
	wire, _ := choice["message"].(map[string]any)
	message := n.message(wire)
	n.body, err = encode(map[string]any{
		"id": inWords(top["id"]), "object": "chat.completion", "model": inWords(top["model"]),
		"choices": []any{map[string]any{"index": 0, "finish_reason": inWords(choice["finish_reason"]), "message": message}},
	})
	return n, err
}

// firstChoice finds the choice, or the error that stands in its place.
func firstChoice(top map[string]any) (map[string]any, error) {
	choices, _ := top["choices"].([]any)
	if len(choices) == 0 {
		if c, ok := complaintIn(top); ok {
			return nil, c
		}
		return nil, errNoChoice
	}
	choice, ok := choices[0].(map[string]any)
	if !ok {
		return nil, errNoChoice
	}
	c := &complaint{}
	if c.read(choice["error"]) || c.read(top["error"]) {
		return nil, c
	}
	if choice["finish_reason"] == "error" {
		return nil, &complaint{message: "the model's provider stopped with an error"}
	}
	return choice, nil
}

// answersOnly are keys of answers that servers refuse in requests.
var answersOnly = []string{
	"role", keyContent, keyToolCalls, "function_call", "refusal", "annotations", "audio", "images", "stop_reason",
	"provider_specific_fields", "parsed", "name", "index", "logprobs", "tool_call_id",
}

func (n *normalised) message(wire map[string]any) map[string]any {
	text, thinking := contentOf(wire[keyContent])
	for _, key := range []string{keyReasoning, "reasoning"} {
		if thinking == "" {
			said, thought := contentOf(wire[key])
			thinking = said + thought
		}
	}
	if refused, ok := wire["refusal"].(string); ok && text == "" {
		text = refused
	}
	n.extras.message = extrasOf(wire, answersOnly)
	m := map[string]any{"role": "assistant", keyContent: text, keyReasoning: thinking}
	if calls := n.calls(wire); len(calls) > 0 {
		m[keyToolCalls] = calls
	}
	return m
}

// contentOf reads a content that is a text or a list of parts: the text parts
// and, apart from them, the thinking.
func contentOf(v any) (text, thinking string) {
	switch v := v.(type) {
	case string:
		return v, ""
	case []any:
		for _, p := range v {
			t, k := partOf(p)
			text, thinking = text+t, thinking+k
		}
	case map[string]any:
		return partOf(v)
	}
	return text, thinking
}

func partOf(p any) (text, thinking string) {
	m, ok := p.(map[string]any)
	if !ok {
		s, _ := p.(string)
		return s, ""
	}
	kind := inWords(m["type"])
	if kind == "thinking" || kind == "reasoning" {
		t, k := contentOf(orElse(m["thinking"], m["reasoning"], m["text"]))
		return "", t + k
	}
	return contentOf(orElse(m["text"], m[keyContent]))
}

// extrasOf keeps what we do not know, for the next request.
func extrasOf(wire map[string]any, known []string) json.RawMessage {
	extra := map[string]any{}
	for k, v := range wire {
		if v != nil && v != "" && !slices.Contains(known, k) {
			extra[k] = v
		}
	}
	if len(extra) == 0 {
		return nil
	}
	b, err := encode(extra)
	if err != nil { // it came out of JSON
		return nil
	}
	return b
}

// calls reads the tool calls from a list, a single object or the old form.
func (n *normalised) calls(wire map[string]any) []any {
	var list []any
	switch v := wire[keyToolCalls].(type) {
	case []any:
		list = v
	case map[string]any:
		if v["function"] != nil {
			list = []any{v}
		}
	}
	if old, ok := wire["function_call"].(map[string]any); ok && len(list) == 0 {
		list = []any{map[string]any{"function": old}}
	}
	var out []any
	for _, v := range list {
		if call, ok := v.(map[string]any); ok {
			out = append(out, n.call(call))
		}
	}
	return out
}

func (n *normalised) call(wire map[string]any) map[string]any {
	f, _ := wire["function"].(map[string]any)
	if f == nil { // flat: {"name":…, "arguments":…}
		f = wire
	}
	extra := map[string]any{}
	for k, v := range wire {
		if v != nil && !slices.Contains([]string{"id", "type", "index", "function", "name", "arguments"}, k) {
			extra[k] = v
		}
	}
	id := inWords(wire["id"])
	if id != "" {
		extra[keyProviderID] = id
	}
	n.extras.calls = append(n.extras.calls, extrasOf(extra, nil))
	return map[string]any{
		"id": id, "type": "function",
		"function": map[string]any{"name": strings.TrimSpace(inWords(f["name"])), "arguments": inWords(f["arguments"])},
	}
}

// usageOf reads the usage; false when the answer has none that says anything.
func usageOf(v any) (llm.Usage, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return llm.Usage{}, false
	}
	u := llm.Usage{
		Prompt:     asInt(orElse(m["prompt_tokens"], m["input_tokens"])),
		Completion: asInt(orElse(m["completion_tokens"], m["output_tokens"])),
		Cached:     asInt(m["prompt_cache_hit_tokens"]), // DeepSeek
	}
	if d, ok := m["prompt_tokens_details"].(map[string]any); ok {
		u.Cached = max(u.Cached, asInt(d["cached_tokens"]))
	}
	u.Cached = min(u.Cached, u.Prompt)
	return u, u.Prompt+u.Completion > 0
}

// asInt reads a count that may be an integer, a float or a text; never negative.
func asInt(v any) int {
	var f float64
	switch v := v.(type) {
	case json.Number:
		f, _ = v.Float64()
	case string:
		f, _ = json.Number(strings.TrimSpace(v)).Float64()
	}
	if math.IsNaN(f) || f < 0 || f > math.MaxInt32 {
		return 0
	}
	return int(f)
}

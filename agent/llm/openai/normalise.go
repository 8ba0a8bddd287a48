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
	n.usage, n.counts = usageOf(usageIn(top))
	choice, err := firstChoice(top)
	if err != nil {
		return n, err
	}
	wire := messageIn(choice)
	if len(callsIn(wire)) == 0 {
		wire = withCallsOf(top, wire)
	}
	message := n.message(wire)
	n.body, err = encode(map[string]any{
		"id": inWords(top["id"]), "object": "chat.completion", "model": inWords(top["model"]),
		"choices": []any{map[string]any{"index": 0, "finish_reason": finishOf(choice), "message": message}},
	})
	return n, err
}

// messageIn is the message of a choice, by any name it was seen to have.
func messageIn(choice map[string]any) map[string]any {
	if m, ok := orElse(choice["message"], choice["delta"]).(map[string]any); ok {
		return m
	}
	return map[string]any{keyContent: choice["text"]}
}

// withCallsOf adds the calls of a further choice: some servers put the words of
// one reply into a choice, and its calls into another.
func withCallsOf(top, wire map[string]any) map[string]any {
	choices, _ := top["choices"].([]any)
	for _, v := range choices {
		choice, _ := v.(map[string]any)
		if further, ok := choice["message"].(map[string]any); ok && len(callsIn(further)) > 0 {
			wire[keyToolCalls] = further[keyToolCalls]
			return wire
		}
	}
	return wire
}

// finishOf is why a choice ended; "" while it did not.
func finishOf(choice map[string]any) string {
	reason := strings.ToLower(inWords(choice["finish_reason"]))
	if reason == "null" {
		return ""
	}
	return reason
}

// Finish reasons beyond OpenAI's: what means the token cap or the window, what
// means that the provider gave up, and what means that a filter held back.
var (
	cutReasons    = []string{"length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded"}
	brokenReasons = []string{"error", "network_error", "insufficient_system_resource", "abort", "cancelled"}
	filterReasons = []string{"content_filter", "sensitive", "safety", "recitation", "prohibited_content", "blocklist"}
)

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
	if slices.Contains(brokenReasons, finishOf(choice)) {
		return nil, &complaint{message: "the model's provider stopped with an error"}
	}
	return choice, nil
}

// answersOnly are keys of answers that servers refuse in requests.
var answersOnly = []string{
	"role", keyContent, keyToolCalls, keyFunctionCall, keyRefusal, "annotations", "audio", "images", "stop_reason",
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
	if refused, ok := wire[keyRefusal].(string); ok && text == "" {
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
	case json.Number:
		return v.String(), ""
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

// extrasOf keeps what we do not know, for the next request. Some servers read keys
// without regard to case, so a key of ours in another spelling is not sent back.
func extrasOf(wire map[string]any, known []string) json.RawMessage {
	extra := map[string]any{}
	for k, v := range wire {
		if v != nil && v != "" && !named(known, k) {
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

func named(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) })
}

// calls brings the calls into one shape, and keeps aside what is beside it.
func (n *normalised) calls(wire map[string]any) []any {
	var out []any
	for _, call := range callsIn(wire) {
		if f := functionOf(call); !saysNothing(inWords(f["name"]), inWords(f["arguments"])) {
			out = append(out, n.call(call))
		}
	}
	return out
}

// saysNothing is a call without a name and without arguments, which some servers put
// beside a text, or in its place.
func saysNothing(name, args string) bool {
	return strings.TrimSpace(name) == "" && slices.Contains([]string{"", "{}", null}, strings.TrimSpace(args))
}

func (n *normalised) call(wire map[string]any) map[string]any {
	extra := map[string]any{}
	for k, v := range wire {
		if !named(ofCalls, k) {
			extra[k] = v
		}
	}
	id := inWords(wire["id"])
	if id != "" {
		extra[keyProviderID] = id
	}
	n.extras.calls = append(n.extras.calls, extrasOf(extra, nil))
	f := functionOf(wire)
	return map[string]any{
		"id": id, "type": "function",
		"function": map[string]any{"name": strings.TrimSpace(inWords(f["name"])), "arguments": inWords(f["arguments"])},
	}
}

// usageIn finds the usage where servers put it: beside the choices, within the
// first, or among a provider's own; nil when none says anything.
func usageIn(top map[string]any) any {
	places := []any{top["usage"]}
	if own, ok := top["x_groq"].(map[string]any); ok {
		places = append(places, own["usage"])
	}
	if choices, ok := top["choices"].([]any); ok && len(choices) > 0 {
		choice, _ := choices[0].(map[string]any)
		places = append(places, choice["usage"])
	}
	for _, u := range places {
		if _, counts := usageOf(u); counts {
			return u
		}
	}
	return nil
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
	if d, ok := orElse(m["prompt_tokens_details"], m["input_tokens_details"]).(map[string]any); ok {
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

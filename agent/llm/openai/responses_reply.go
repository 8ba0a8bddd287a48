package openai

import (
	"context"
	"fmt"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"countersign/agent/llm"
)

// responsesReply puts our reply together from the answer's items.
func (m *Client) responsesReply(ctx context.Context, x *exchange, response api.CreateResponseResponse) (llm.Reply, *llm.Error) {
	r := llm.Reply{Extra: x.extras.message}
	for _, v := range response.Output {
		item, ok := v.(map[string]any)
		if !ok {
			continue
		}
		switch item["type"] {
		case "message":
			text, thinking := contentOf(item[keyContent])
			r.Text += text + refusals(item[keyContent])
			r.Reasoning = joined(r.Reasoning, thinking)
		case "function_call":
			if !saysNothing(inWords(item["name"]), inWords(item["arguments"])) {
				r.Calls = append(r.Calls, m.responsesCall(x, item))
			}
		case "reasoning":
			r.Reasoning = joined(r.Reasoning, reasoningIn(item))
		}
	}
	text, thinking := splitThinking(r.Text)
	r.Text, r.Reasoning = text, joined(r.Reasoning, thinking)
	return m.checked(ctx, x, r, incompleteReason(response))
}

// reasoningIn is what a reasoning item says openly: its summary or, at servers of
// open models, the whole.
func reasoningIn(item map[string]any) string {
	if summary, _ := contentOf(item["summary"]); summary != "" {
		return summary
	}
	text, thinking := contentOf(item[keyContent])
	return text + thinking
}

// incompleteReason is why a response ended early, in words of the other API.
func incompleteReason(response api.CreateResponseResponse) string {
	if response.Status != api.ResponseStatusIncomplete {
		return ""
	}
	if d := response.IncompleteDetails; d != nil && d.Reason == "content_filter" {
		return "content_filter"
	}
	return "length"
}

func (m *Client) responsesCall(x *exchange, item map[string]any) llm.Call {
	c := llm.Call{ID: m.c.NewCallID(), Name: strings.TrimSpace(inWords(item["name"])), Arguments: inWords(item["arguments"])}
	if id := inWords(item["call_id"]); id != "" {
		c.Extra, _ = encode(map[string]string{keyProviderID: id}) // strings always encode
	}
	if x.habits.strict {
		c.Arguments = withoutNulls(c.Arguments, schemaOf(x.request.Tools, c.Name))
	}
	return c
}

// refusals are what a model says instead of an answer.
func refusals(content any) string {
	parts, _ := content.([]any)
	var out strings.Builder
	for _, p := range parts {
		if m, ok := p.(map[string]any); ok && m["type"] == keyRefusal {
			out.WriteString(inWords(m[keyRefusal]))
		}
	}
	return out.String()
}

// normaliseResponse brings an answer of the Responses API into OpenAI's own shape.
func normaliseResponse(raw []byte) (normalised, error) {
	var n normalised
	var v any
	if err := decode(raw, &v); err != nil {
		return n, fmt.Errorf("the answer is not a response: %w", err)
	}
	top, _ := v.(map[string]any)
	n.usage, n.counts = usageOf(top["usage"])
	c := &complaint{}
	if c.read(top["error"]) {
		return n, c
	}
	if top["status"] == "failed" || top["status"] == "cancelled" {
		return n, &complaint{message: "the model's provider stopped with an error"}
	}
	output, _ := top["output"].([]any)
	if output == nil {
		if c, ok := complaintIn(v); ok {
			return n, c
		}
		return n, errNoChoice
	}
	details, _ := top["incomplete_details"].(map[string]any)
	body, err := encode(map[string]any{
		"id": inWords(top["id"]), "object": "response", "model": inWords(top["model"]), "status": inWords(top["status"]),
		"incomplete_details": map[string]any{"reason": inWords(details["reason"])}, "output": n.items(output),
	})
	n.body = body
	return n, err
}

// items brings the calls into one shape, and keeps the sealed reasoning as it came.
func (n *normalised) items(output []any) []any {
	var out, kept []any
	for _, v := range output {
		item, ok := v.(map[string]any)
		if !ok {
			continue
		}
		switch item["type"] {
		case "function_call":
			item = map[string]any{
				"type": "function_call", "call_id": inWords(item["call_id"]), "name": inWords(item["name"]), "arguments": inWords(item["arguments"]),
			}
		case "reasoning":
			if item["encrypted_content"] != nil {
				kept = append(kept, item)
			}
		}
		out = append(out, item)
	}
	if len(kept) > 0 {
		n.extras.message, _ = encode(map[string]any{keySealed: kept}) // it came out of JSON
	}
	return out
}

// foldResponse finds the whole response at the end of its stream. Servers that end
// with an empty one have told its items before.
func foldResponse(body []byte) ([]byte, error) {
	var items []any
	for data := range events(body) {
		var event map[string]any
		if decode([]byte(data), &event) != nil {
			continue // half an event, or a sign of life
		}
		kind := strings.TrimPrefix(inWords(event["type"]), "response.")
		switch kind {
		case "output_item.done":
			items = append(items, event["item"])
		case "completed", "incomplete", "failed":
			whole, _ := event["response"].(map[string]any)
			if told, _ := whole["output"].([]any); len(told) == 0 && whole != nil && len(items) > 0 {
				whole["output"] = items
			}
			return encode(whole)
		default:
			if c, ok := complaintIn(event); ok && (kind == "error" || kind == "") {
				return nil, c
			}
		}
	}
	return nil, errCut
}

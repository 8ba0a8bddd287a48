package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"countersign/agent/llm"
)

// respond is one call of the Responses API.
func (m *Client) respond(ctx context.Context, r llm.Request, h habits) (llm.Reply, *llm.Error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.c.Timeout, errTimeout)
	defer cancel()
	x := &exchange{m: m, request: &r, habits: h, responses: true}
	config := api.DefaultConfig(m.c.Key)
	config.BaseURL, config.HTTPClient = m.c.BaseURL, x
	response, err := api.NewClientWithConfig(config).CreateResponse(ctx, m.responsesRequest(r, h))
	if err != nil {
		return llm.Reply{}, m.failure(ctx, x, err)
	}
	return m.responsesReply(x, response)
}

// responsesRequest is our request as that API takes it. Nothing is stored at the
// provider; a model's sealed reasoning is asked for, because it is wanted back.
func (m *Client) responsesRequest(r llm.Request, h habits) api.CreateResponseRequest {
	store := false
	out := api.CreateResponseRequest{
		Model: m.c.Model, Store: &store, Input: responsesInput(r.Messages),
		Include: []api.ResponseInclude{api.ResponseIncludeReasoningEncryptedContent},
	}
	if m.openai && !h.noCacheKey {
		out.PromptCacheKey = r.Key
	}
	if !h.noCap {
		out.MaxOutputTokens = r.MaxTokens
	}
	for _, t := range r.Tools {
		f := outgoingTool(t, h.strict).Function
		out.Tools = append(out.Tools, api.NewResponseFunctionTool(*f))
	}
	return out
}

// responsesInput turns the conversation into items. A call goes back under the
// provider's own id, and its result under the same.
func responsesInput(messages []llm.Message) []any {
	var out []any
	theirs := map[string]string{}
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case llm.Tool:
			text := m.Text
			if strings.TrimSpace(text) == "" {
				text = noOutput
			}
			out = append(out, api.ResponseFunctionCallOutput{Type: "function_call_output", CallID: theirs[m.CallID], Output: text})
		case llm.Assistant:
			out = append(out, sealed(m.Extra)...)
			if m.Text != "" {
				out = append(out, api.ResponseInputMessage{Role: "assistant", Content: m.Text})
			}
			for _, c := range m.Calls {
				theirs[c.ID] = providerID(c)
				out = append(out, map[string]string{
					"type": "function_call", "call_id": theirs[c.ID], "name": c.Name, "arguments": sendableArguments(c.Arguments),
				})
			}
		default:
			out = append(out, api.ResponseInputMessage{Role: string(m.Role), Content: m.Text})
		}
	}
	return out
}

// providerID is the id under which the provider knows a call; ours where it gave none.
func providerID(c llm.Call) string {
	var extra map[string]any
	if json.Unmarshal(c.Extra, &extra) == nil {
		if id, ok := extra[keyProviderID].(string); ok && id != "" {
			return id
		}
	}
	return c.ID
}

const keySealed = "sealed_reasoning" // in Reply.Extra: reasoning items, sent back unchanged

func sealed(extra json.RawMessage) []any {
	var kept map[string][]any
	if json.Unmarshal(extra, &kept) != nil {
		return nil
	}
	return kept[keySealed]
}

// responsesReply puts our reply together from the answer's items.
func (m *Client) responsesReply(x *exchange, response api.CreateResponseResponse) (llm.Reply, *llm.Error) {
	var r llm.Reply
	var kept []any
	for _, v := range response.Output {
		item, ok := v.(map[string]any)
		if !ok {
			continue
		}
		switch item["type"] {
		case "message":
			text, _ := contentOf(item[keyContent])
			r.Text += text + refusals(item[keyContent])
		case "function_call":
			r.Calls = append(r.Calls, m.responsesCall(x, item))
		case "reasoning":
			thought, _ := contentOf(item["summary"])
			r.Reasoning = joined(r.Reasoning, thought)
			if item["encrypted_content"] != nil {
				kept = append(kept, item)
			}
		}
	}
	if len(kept) > 0 {
		r.Extra, _ = encode(map[string]any{keySealed: kept}) // it came out of JSON
	}
	r.Usage = x.ledger(&r)
	r.Cut = response.Status == api.ResponseStatusIncomplete
	if len(x.request.Tools) == 0 && r.Text != "" {
		r.Calls = nil // it was told to answer in text
	}
	if r.Text == "" && (len(r.Calls) == 0 || len(x.request.Tools) == 0) {
		return llm.Reply{}, &llm.Error{Kind: llm.Malformed, Message: nothing(&r), Usage: r.Usage}
	}
	return r, nil
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
		if m, ok := p.(map[string]any); ok && m["type"] == "refusal" {
			out.WriteString(inWords(m["refusal"]))
		}
	}
	return out.String()
}

// normaliseResponse brings an answer of the Responses API into OpenAI's own shape.
func normaliseResponse(raw []byte) (normalised, error) {
	var n normalised
	var top map[string]any
	if err := decode(raw, &top); err != nil {
		return n, fmt.Errorf("the answer is not a response: %w", err)
	}
	n.usage, n.counts = usageOf(top["usage"])
	if usage, ok := top["usage"].(map[string]any); ok {
		if d, ok := usage["input_tokens_details"].(map[string]any); ok {
			n.usage.Cached = min(asInt(d["cached_tokens"]), n.usage.Prompt)
		}
	}
	c := &complaint{}
	if c.read(top["error"]) {
		return n, c
	}
	if top["status"] == "failed" {
		return n, &complaint{message: "the model's provider stopped with an error"}
	}
	output, _ := top["output"].([]any)
	if output == nil {
		return n, errNoChoice
	}
	body, err := encode(map[string]any{
		"id": inWords(top["id"]), "object": "response", "model": inWords(top["model"]), "status": inWords(top["status"]), "output": output,
	})
	n.body = body
	return n, err
}

package openai

import (
	"context"
	"encoding/json"
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
	return m.responsesReply(ctx, x, response)
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
// provider's own id, and its result under the same; an id that the provider gave
// twice serves the first of its calls only.
func responsesInput(messages []llm.Message) []any {
	var out []any
	theirs, taken := map[string]string{}, map[string]bool{}
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
				if taken[theirs[c.ID]] {
					theirs[c.ID] = c.ID
				}
				taken[theirs[c.ID]] = true
				out = append(out, map[string]string{
					"type": "function_call", "call_id": theirs[c.ID], "name": sendableName(c.Name), "arguments": sendableArguments(c.Arguments),
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
	if decode(extra, &kept) != nil {
		return nil
	}
	return kept[keySealed]
}

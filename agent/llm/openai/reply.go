package openai

import (
	"context"
	"slices"
	"strings"
	"unicode"

	api "github.com/sashabaranov/go-openai"

	"countersign/agent/llm"
)

// reply puts our reply together, or says why it is none.
func (m *Client) reply(ctx context.Context, x *exchange, response api.ChatCompletionResponse) (llm.Reply, *llm.Error) {
	if len(response.Choices) == 0 { // normalised answers have one
		return llm.Reply{}, &llm.Error{Kind: llm.Malformed, Message: "the model's reply holds nothing", Usage: x.usage}
	}
	choice := response.Choices[0]
	text, thinking := splitThinking(choice.Message.Content)
	r := llm.Reply{
		Text: text, Reasoning: joined(choice.Message.ReasoningContent, thinking),
		Calls: m.calls(x, choice.Message.ToolCalls), Extra: x.extras.message,
	}
	return m.checked(ctx, x, r, string(choice.FinishReason))
}

// checked says whether a reply is one: its cost, whether it is whole, and that it
// says something.
func (m *Client) checked(ctx context.Context, x *exchange, r llm.Reply, finish string) (llm.Reply, *llm.Error) {
	filtered := slices.Contains(filterReasons, finish)
	if !visible(r.Text) {
		r.Text = ""
	}
	r.Usage = x.ledger(&r)
	r.Cut = filtered || slices.Contains(cutReasons, finish) || x.request.MaxTokens > 0 && x.counts && x.usage.Completion >= x.request.MaxTokens
	m.watch(ctx, x, &r)
	if len(x.request.Tools) == 0 && r.Text != "" {
		r.Calls = nil // it was told to answer in text
	}
	switch {
	case r.Text == "" && len(r.Calls) == 0 && filtered:
		return llm.Reply{}, &llm.Error{Kind: llm.BadRequest, Message: "the provider's content filter held the reply back", Usage: r.Usage}
	case r.Text == "" && (len(r.Calls) == 0 || len(x.request.Tools) == 0):
		return llm.Reply{}, &llm.Error{Kind: llm.Malformed, Message: nothing(&r), Usage: r.Usage}
	case r.Cut && len(r.Calls) > 0:
		markCut(&r.Calls[len(r.Calls)-1])
	}
	return r, nil
}

// visible says whether a person would see anything of a text.
func visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != brailleBlank && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}

// brailleBlank is a symbol that shows nothing.
const brailleBlank = '\u2800'

// markCut keeps a call from being run without arguments when it was cut before
// the first: what is left of them must not look like none.
func markCut(last *llm.Call) {
	if strings.TrimSpace(last.Arguments) == "" {
		last.Arguments = "{"
	}
}

// nothing says how a reply was empty.
func nothing(r *llm.Reply) string {
	switch {
	case len(r.Calls) > 0:
		return "the model called tools where it had none"
	case r.Reasoning != "" && r.Cut:
		return "the model used up its tokens thinking and did not answer"
	case r.Reasoning != "":
		return "the model thought and did not answer"
	}
	return "the model's reply is empty"
}

// calls are the calls under ids of our own: some servers give none or equal
// ones, and Mistral refuses any but nine letters and digits.
func (m *Client) calls(x *exchange, wire []api.ToolCall) []llm.Call {
	var out []llm.Call
	for i, c := range wire {
		call := llm.Call{ID: m.c.NewCallID(), Name: c.Function.Name, Arguments: c.Function.Arguments}
		if i < len(x.extras.calls) {
			call.Extra = x.extras.calls[i]
		}
		if x.habits.strict {
			call.Arguments = withoutNulls(call.Arguments, schemaOf(x.request.Tools, call.Name))
		}
		out = append(out, call)
	}
	return out
}

// ledger is what the call cost, estimated where the server did not count.
func (x *exchange) ledger(r *llm.Reply) llm.Usage {
	u := x.usage
	if u.Prompt == 0 {
		u.Prompt, u.Estimated = x.request.Estimate(), true
	}
	if u.Completion == 0 {
		u.Completion, u.Estimated = r.Estimate(), true
	}
	return u
}

// watch tells when a server seems to have cut the request without a word, as
// Ollama does: then the model has not seen its instructions.
func (m *Client) watch(ctx context.Context, x *exchange, r *llm.Reply) {
	if !x.counts {
		return
	}
	estimate := x.request.Estimate()
	m.measure(estimate, x.usage.Prompt)
	if r.Shrunk = x.usage.Shrank(estimate); r.Shrunk {
		m.c.Logger.WarnContext(ctx, "the model's server counted far fewer prompt tokens than were sent; it may have cut the request: raise its context length, and set model.window to it",
			"host", m.host, "model", m.c.Model, "counted", x.usage.Prompt, "estimated", estimate)
	}
}

func joined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

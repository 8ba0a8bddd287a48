package openai

import (
	"encoding/json"
	"regexp"

	api "github.com/sashabaranov/go-openai"

	"countersign/agent/llm"
)

// outgoing is our request as go-openai sends it. What go-openai cannot say, the
// messages among it, is added by the exchange, so that they are written once. Sampling parameters are never sent: reasoning models
// refuse them, and the default is right for the others.
func (m *Client) outgoing(r llm.Request, h habits) api.ChatCompletionRequest {
	out := api.ChatCompletionRequest{Model: m.c.Model}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, outgoingTool(t, h.strict))
	}
	switch {
	case r.MaxTokens <= 0 || h.noCap:
	case h.completionCap:
		out.MaxCompletionTokens = r.MaxTokens
	default:
		out.MaxTokens = r.MaxTokens //nolint:staticcheck // most servers know this name alone
	}
	return out
}

// noOutput stands for an empty tool result: strict servers refuse an empty one.
const noOutput = "(no output)"

// sendableArguments are the arguments if a strict server can read them back,
// else the empty object.
func sendableArguments(raw string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &object) != nil || object == nil {
		return "{}"
	}
	return raw
}

// unfit are the characters that names of functions may not have.
var unfit = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// longestName is how long the name of a function may be.
const longestName = 64

// sendableName is a name that a model made up as strict servers take it back: they
// would refuse the whole conversation for a dot or a space.
func sendableName(name string) string {
	name = unfit.ReplaceAllString(name, "_")
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), longestName)]
}

// noParameters is the schema of a tool without parameters; go-openai would send null.
const noParameters = `{"type":"object","properties":{}}`

func outgoingTool(t llm.ToolDef, strict bool) api.Tool {
	f := &api.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: json.RawMessage(noParameters)}
	if len(t.Parameters) > 0 && string(t.Parameters) != "null" {
		f.Parameters = t.Parameters
	}
	if strict {
		if s, ok := strictSchema(t.Parameters); ok {
			f.Parameters, f.Strict = s, true
		}
	}
	return api.Tool{Type: api.ToolTypeFunction, Function: f}
}

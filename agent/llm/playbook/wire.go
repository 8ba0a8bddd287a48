package playbook

import (
	"encoding/json"
	"strings"
)

// ask is the part of a chat completion request that a scene looks at.
type ask struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Tools         []offered `json:"tools"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`
}

// offered is a tool that the request offers.
type offered struct {
	Function struct {
		Name       string `json:"name"`
		Parameters struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"parameters"`
	} `json:"function"`
}

// message is one message of the conversation, in either direction.
type message struct {
	Role      string     `json:"role"`
	Content   text       `json:"content"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
	CallID    string     `json:"tool_call_id,omitempty"`
}

// toolCall is one call in an assistant message.
type toolCall struct {
	Index    *int     `json:"index,omitempty"` // in streamed pieces only
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// text reads a content that is a string, null or a list of parts.
type text string

// UnmarshalJSON joins the text parts of a content.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil { // null leaves s empty
		*t = text(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	var out []string
	for _, p := range parts {
		out = append(out, p.Text)
	}
	*t = text(strings.Join(out, "\n"))
	return nil
}

// completion is a whole reply or, streamed, one piece of it.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int     `json:"index"`
	Message      *said   `json:"message,omitempty"`
	Delta        *said   `json:"delta,omitempty"`
	FinishReason *string `json:"finish_reason"`
}

// said is an assistant message as it is sent: content is null beside bare calls.
type said struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// line is what the scripted model says in one turn.
type line struct {
	text  string
	calls []toolCall
}

// count gives plausible token figures: four bytes a token.
func count(a ask, l line) *usage {
	var in int
	for _, m := range a.Messages {
		in += len(m.Content)/4 + 4
		for _, c := range m.ToolCalls {
			in += (len(c.Function.Name) + len(c.Function.Arguments)) / 4
		}
	}
	for _, t := range a.Tools {
		in += 20 + 10*len(t.Function.Parameters.Properties)
	}
	out := len(l.text)/4 + 1
	for _, c := range l.calls {
		out += (len(c.Function.Name)+len(c.Function.Arguments))/4 + 4
	}
	return &usage{Prompt: in, Completion: out, Total: in + out}
}

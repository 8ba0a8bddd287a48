package openai

import (
	"regexp"
	"strings"

	"countersign/agent/llm"
)

// orderly is how servers say that the order of the speakers is not theirs: the
// templates of some models know a person and an assistant in turn, and nobody
// between a tool and the assistant.
var orderly = regexp.MustCompile(`(?i)roles? must alternate|must alternate between|unexpected role|successive (?:user|assistant)|message_order`)

// noSystem is how servers say that a model knows no system message.
var noSystem = regexp.MustCompile(`(?i)system role (?:is )?not supported|does not support (?:the )?['"]?system|unsupported role:? ['"]?system`)

// ordered is the conversation as the server takes it.
func (h habits) ordered(messages []llm.Message) []llm.Message {
	if h.noSystem {
		messages = withoutSystem(messages)
	}
	if h.inTurn {
		messages = inTurn(messages)
	}
	return messages
}

// bridge is what the assistant says where a person follows a tool.
const bridge = "I have the results."

// inTurn lets a person and the assistant speak in turn.
func inTurn(messages []llm.Message) []llm.Message {
	var out []llm.Message
	for _, m := range messages {
		last := len(out) - 1
		switch {
		case last < 0 || m.Role != llm.User:
		case out[last].Role == llm.User:
			out[last].Text += "\n\n" + m.Text
			continue
		case out[last].Role == llm.Tool:
			out = append(out, llm.Message{Role: llm.Assistant, Text: bridge})
		}
		out = append(out, m)
	}
	return out
}

// withoutSystem puts the system's words in front of the first person's.
func withoutSystem(messages []llm.Message) []llm.Message {
	var system []string
	var out []llm.Message
	for _, m := range messages {
		if m.Role == llm.System {
			system = append(system, m.Text)
			continue
		}
		if m.Role == llm.User && len(system) > 0 {
			m.Text = strings.Join(append(system, m.Text), "\n\n")
			system = nil
		}
		out = append(out, m)
	}
	return out
}

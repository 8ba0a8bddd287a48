package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"countersign/agent/llm"
)

// probe is the one call that the model is asked to make.
const probe = "confirm_setup"

// probeWord is what the call must carry.
const probeWord = "ready"

func (e *examiner) model(ctx context.Context) {
	if e.Model == nil || e.Brief {
		return
	}
	if path := e.Config.Model.Instructions; path != "" {
		if _, err := os.ReadFile(path); err != nil {
			e.broken("model", "Correct model.instructions, or let this process read the file.", "The house rules cannot be read: %s.", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, min(e.Config.Model.Timeout, timeout))
	defer cancel()
	reply, err := e.Model.Complete(ctx, llm.Request{
		Messages: []llm.Message{
			{Role: llm.System, Text: "You check a set-up. You do nothing but what you are told."},
			{Role: llm.User, Text: "Call the tool " + probe + " with the word " + probeWord + "."},
		},
		Tools: []llm.ToolDef{{
			Name: probe, Description: "Confirms that tools can be called.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`),
		}},
		Key: "doctor",
	})
	if err != nil {
		e.noModel(err)
		return
	}
	name := e.Config.Model.Name
	var args struct {
		Word string `json:"word"`
	}
	switch {
	case len(reply.Calls) == 0:
		e.warn("model", "If it keeps doing so, name a model in model.name (OPENAI_MODEL) that can call tools.", "The model %s answers, but with words instead of the tool call that it was told to make.", name)
	case reply.Calls[0].Name != probe || json.Unmarshal([]byte(reply.Calls[0].Arguments), &args) != nil || !strings.Contains(strings.ToLower(args.Word), probeWord):
		e.warn("model", "Name a model in model.name (OPENAI_MODEL) that is better at calling tools.", "The model %s called a tool, but not as it was told.", name)
	default:
		e.ok("model", "The model %s answers and calls tools (%d tokens).", name, reply.Usage.Total())
	}
	e.window(ctx)
}

// mostWords bounds the request that tries the window. A word of it is four bytes
// with the space, so that our own estimate counts it as one token, too: by a higher one
// the client would refuse a request for which the server has room.
const mostWords = 12_000

// window tries with a long request whether the server reads as much as model.window
// says: some cut what is longer from the front, instructions first, and say nothing.
func (e *examiner) window(ctx context.Context) {
	m := e.Config.Model
	if m.Window == 0 {
		if m.BaseURL != "" {
			e.warn("model", "Set model.window to the context length with which the server runs the model.", "model.window is not set: a server that cuts long requests without an error, as Ollama does, would not be noticed before it happens.")
		}
		return
	}
	words := min(m.Window*3/4, mostWords)
	reply, err := e.Model.Complete(ctx, llm.Request{
		Messages:  []llm.Message{{Role: llm.System, Text: "Answer with the word " + probeWord + "."}, {Role: llm.User, Text: strings.Repeat("one ", words)}},
		MaxTokens: 200, Key: "doctor",
	})
	var failed *llm.Error
	switch read := reply.Usage.Prompt; {
	case errors.As(err, &failed) && failed.Kind == llm.Overflow:
		e.broken("model", "Raise the server's context length, or lower model.window.", "The model's server refuses a request of %d words, which model.window (%d tokens) has room for.", words, m.Window)
	case err != nil:
		e.warn("model", "Ask again; model.timeout is how long one reply may take.", "Whether the server reads model.window (%d tokens) could not be tried: %s", m.Window, err)
	case reply.Usage.Estimated:
		e.warn("model", "Look at its own settings.", "The model's server does not count tokens, so nobody sees whether it reads model.window (%d tokens).", m.Window)
	case read < words*3/4:
		e.broken("model", "Raise the server's context length (OLLAMA_CONTEXT_LENGTH at Ollama), or lower model.window.", "The model's server read %d tokens of a request of %d words: it cuts what is longer without an error, and model.window is %d.", read, words, m.Window)
	default:
		e.ok("model", "The model's server reads long requests (%d tokens; model.window is %d).", read, m.Window)
	}
}

func (e *examiner) noModel(err error) {
	var m *llm.Error
	if !errors.As(err, &m) {
		e.broken("model", "Check OPENAI_BASE_URL (model.base_url) and the network.", "The model does not answer: %s.", err)
		return
	}
	fix := map[llm.Kind]string{
		llm.Config:     "Correct OPENAI_API_KEY, OPENAI_MODEL (model.name) or OPENAI_BASE_URL (model.base_url).",
		llm.Quota:      "Top the account up, or use another key.",
		llm.Overloaded: "Check the network and the provider's state, and ask again; model.timeout is how long one reply may take.",
		llm.BadRequest: "Name a model in model.name (OPENAI_MODEL) that can call tools.",
		llm.Malformed:  "Check that OPENAI_BASE_URL (model.base_url) is the address of an OpenAI-compatible API, with its /v1.",
		llm.Overflow:   "Name a model with a larger window in model.name (OPENAI_MODEL).",
	}[m.Kind]
	if fix == "" {
		fix = "Check OPENAI_BASE_URL (model.base_url), OPENAI_MODEL (model.name) and OPENAI_API_KEY."
	}
	e.broken("model", fix, "The model %s cannot be used: %s", e.Config.Model.Name, m.Message)
}

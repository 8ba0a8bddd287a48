package openai

import (
	"slices"
	"strings"

	"countersign/agent/llm"
)

// habits are the parts of a request on which servers differ. A server that
// refuses one by name is not asked with it again.
type habits struct {
	completionCap bool    // max_completion_tokens in place of max_tokens
	swapped       bool    // the cap's name was changed once already
	noCap         bool    // no cap at all
	noStreamUsage bool    // no stream_options
	noExtras      bool    // nothing of the provider's extras is sent back
	noCacheKey    bool    // no prompt_cache_key
	strict        bool    // strict tool schemas
	content       Content // beside calls without text
	inTurn        bool    // a person and the assistant speak in turn
	noSystem      bool    // the system's words stand in front of the first person's
}

// mostHabits bounds how many habits one attempt may drop.
const mostHabits = 6

func (m *Client) learned() habits {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.habits
}

// learn keeps the habits of a call that was answered: what was left out stays out.
func (m *Client) learn(h habits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.habits.noCap = m.habits.noCap || h.noCap
}

// unlearn drops the habit that a refusal names; false when it names none.
func (m *Client) unlearn(h habits, r *llm.Request, refusal string) bool {
	next, ok := h.without(strings.ToLower(refusal), r, m.c)
	if !ok {
		return false
	}
	m.c.Logger.Info("the model's server refuses a part of the request; it is left out from now on", "host", m.host, "refusal", refusal)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.habits = next
	return true
}

func (h habits) without(refusal string, r *llm.Request, c Config) (habits, bool) {
	names := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(refusal, w) })
	}
	switch {
	case c.Stream && !h.noStreamUsage && names("stream_options", "include_usage"):
		h.noStreamUsage = true
	case !h.noCap && names("max_completion_tokens", "max_tokens"):
		if h.swapped || names("too large", "at most", "less than", "greater than") {
			h.noCap = true // the number is refused, not the name
			break
		}
		h.completionCap, h.swapped = !h.completionCap, true
	case !h.noCacheKey && names("prompt_cache_key"):
		h.noCacheKey = true
	case h.strict && names("strict", "schema"):
		h.strict = false
	case !h.noExtras && hasExtras(r) && names("reasoning", "extra_content", "extra inputs", "unknown field", "additional properties", "is unsupported"):
		h.noExtras = true
	case !h.inTurn && orderly.MatchString(refusal):
		h.inTurn = true
	case !h.noSystem && noSystem.MatchString(refusal):
		h.noSystem = true
	case hasBareCalls(r) && names("content") && names("null", "none", "empty", "whitespace", "string", "required"):
		next, ok := otherContent[h.content]
		h.content = next
		return h, ok
	default:
		return h, false
	}
	return h, true
}

// otherContent is what is tried after a content beside calls was refused: each
// server takes one of them.
var otherContent = map[Content]Content{ContentThought: ContentNull, ContentNull: ContentEmpty, ContentEmpty: ContentOmit}

// hasBareCalls says whether a request holds calls without text.
func hasBareCalls(r *llm.Request) bool {
	return slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return len(m.Calls) > 0 && m.Text == "" })
}

func hasExtras(r *llm.Request) bool {
	for i := range r.Messages {
		if len(r.Messages[i].Extra) > 0 {
			return true
		}
		for _, c := range r.Messages[i].Calls {
			if len(c.Extra) > 0 {
				return true
			}
		}
	}
	return false
}

// reasons says whether a model of OpenAI's refuses max_tokens, by its name.
func reasons(model string) bool {
	model = model[strings.LastIndex(model, "/")+1:]
	for _, p := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, p) {
			return true
		}
	}
	return false
}

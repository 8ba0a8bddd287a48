package openai

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"countersign/agent/llm"
)

// The rows are the shapes that servers of this API were seen to use; C7 is row 7
// of the list of them that this adapter must survive.

// Rows C1, C2, C4, C5, C8, C11, C19.
func TestAnswersWithCalls(t *testing.T) {
	t.Parallel()
	rome := []llm.Call{{ID: "a00000001", Name: "weather", Arguments: `{"city":"Rome"}`, Extra: json.RawMessage(`{"provider_id":"call_1"}`)}}
	bare := []llm.Call{{ID: "a00000001", Name: "weather", Arguments: `{"city":"Rome"}`}}
	with := func(id, args string) []llm.Call {
		c := llm.Call{ID: "a00000001", Name: "weather", Arguments: args}
		if id != "" {
			c.Extra = json.RawMessage(`{"provider_id":"` + id + `"}`)
		}
		return []llm.Call{c}
	}
	for _, c := range []struct {
		name, body string
		want       []llm.Call
	}{
		{"C1 empty id and no type", message(calling(`{"id":"","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}`)), bare},
		{"C2 id is a number", message(calling(`{"id":7,"type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}`)), with("7", `{"city":"Rome"}`)},
		{"C4 empty arguments", message(calling(`{"id":"x","type":"function","function":{"name":"weather","arguments":""}}`)), with("x", "")},
		{"C4 null arguments", message(calling(`{"id":"x","type":"function","function":{"name":"weather","arguments":null}}`)), with("x", "")},
		{"C4 no arguments", message(calling(`{"id":"x","type":"function","function":{"name":"weather"}}`)), with("x", "")},
		{"C5 arguments are the text null", message(calling(`{"id":"x","type":"function","function":{"name":"weather","arguments":"null"}}`)), with("x", "null")},
		{"C5 arguments are a list", message(calling(`{"id":"x","type":"function","function":{"name":"weather","arguments":"[]"}}`)), with("x", "[]")},
		{"C5 arguments are quoted twice", message(calling(`{"id":"x","type":"function","function":{"name":"weather","arguments":"\"{\\\"city\\\":\\\"Rome\\\"}\""}}`)), with("x", `"{\"city\":\"Rome\"}"`)},
		{"C5 arguments are an object", message(calling(`{"id":"x","type":"function","function":{"name":"weather","arguments":{"city":"Rome","n":1.50}}}`)), with("x", `{"city":"Rome","n":1.50}`)},
		{"C8 finish reason stop beside calls", completionOf(calling(goodCall), "stop"), rome},
		{"C8 finish reason null beside calls", strings.Replace(completionOf(calling(goodCall), ""), `"finish_reason":""`, `"finish_reason":null`, 1), rome},
		{"C11 calls are one object", message(`{"role":"assistant","content":null,"tool_calls":` + goodCall + `}`), rome},
		{"C11 the old function_call", message(`{"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}`), bare},
		{"C19 a tool that does not exist", message(calling(`{"id":"x","type":"function","function":{"name":"sample","arguments":"{}"}}`)),
			[]llm.Call{{ID: "a00000001", Name: "sample", Arguments: "{}", Extra: json.RawMessage(`{"provider_id":"x"}`)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, wire{body: c.body})
			got, err := f.complete(question())
			if err != nil {
				t.Fatal(err)
			}
			same(t, c.want, got.Calls)
			same(t, llm.Usage{Prompt: 20, Completion: 5}, got.Usage)
		})
	}
}

// Row C7.
func TestC7OurIDsSuitEveryServer(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{body: message(calling(goodCall + "," + goodCall))})
	c, _ := f.client(func(c *Config) { c.NewCallID = nil })
	got, err := complete(t, c, question())
	if err != nil {
		t.Fatal(err)
	}
	nine := regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	if len(got.Calls) != 2 || got.Calls[0].ID == got.Calls[1].ID || !nine.MatchString(got.Calls[0].ID) || !nine.MatchString(got.Calls[1].ID) {
		t.Errorf("calls %+v", got.Calls)
	}
	if _, err := complete(t, c, answered(got.Calls[0], llm.Message{})); err != nil {
		t.Fatal(err)
	}
	call := f.sentCall(1, 2)
	same(t, any(got.Calls[0].ID), call["id"])
	same(t, any(got.Calls[0].ID), f.sentMessage(1, 3)["tool_call_id"])
	if _, ok := call[keyProviderID]; ok {
		t.Error("the provider's id was sent back")
	}
}

// Row C10.
func TestC10CutArguments(t *testing.T) {
	t.Parallel()
	half := `{"id":"x","type":"function","function":{"name":"weather","arguments":"{\"city\":"}}`
	for _, c := range []struct {
		name, finish string
		most         int
		cut          bool
	}{
		{"said so", "length", 0, true},
		{"the cap was reached", "tool_calls", 5, true},
		{"below the cap", "tool_calls", 500, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := question()
			r.MaxTokens = c.most
			got, err := newFake(t, wire{body: completionOf(calling(half), c.finish)}).complete(r)
			if err != nil {
				t.Fatal(err)
			}
			same(t, c.cut, got.Cut)
			same(t, `{"city":`, got.Calls[0].Arguments) // never mended
		})
	}
}

// Rows C11, C13, C14, C17.
func TestAnswersWithText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body, text, reasoning string
	}{
		{"C11 tool_calls null", message(`{"role":"assistant","content":"b","tool_calls":null}`), "b", ""},
		{"C11 tool_calls an empty object", message(`{"role":"assistant","content":"b","tool_calls":{}}`), "b", ""},
		{"calls that say nothing", message(`{"role":"assistant","content":"b","tool_calls":[{},null,{"id":"x","type":"function","function":{"name":" ","arguments":"{}"}}]}`), "b", ""},
		{"C13 content in parts", message(`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]},{"type":"text","text":"b"}]}`), "b", "a"},
		{"C14 reasoning apart", message(`{"role":"assistant","content":"b","reasoning_content":"r"}`), "b", "r"},
		{"C14 reasoning under its other name", message(`{"role":"assistant","content":"b","reasoning":"r"}`), "b", "r"},
		{"C14 reasoning of a wrong type", message(`{"role":"assistant","content":"b","reasoning_content":[{"type":"text","text":"r"}]}`), "b", "r"},
		{"C17 closing tag only", message(`{"role":"assistant","content":"hmm</think>answer"}`), "answer", "hmm"},
		{"C17 a block at the head", message(`{"role":"assistant","content":"<think>\nhmm\n</think>\n\nanswer"}`), "answer", "hmm"},
		{"a refusal is an answer", message(`{"role":"assistant","content":null,"refusal":"I cannot."}`), "I cannot.", ""},
		{"unknown parts and types", `{"id":1,"created":"x","model":null,"choices":[{"index":"0","finish_reason":"stop","logprobs":7,"message":{"role":9,"content":"b","weird":{"x":[1]}}}],"usage":{"prompt_tokens":20,"completion_tokens":5}}`, "b", ""},
		{"a byte order mark", "\ufeff" + message(`{"role":"assistant","content":"b"}`), "b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := newFake(t, wire{body: c.body}).complete(question())
			if err != nil {
				t.Fatal(err)
			}
			same(t, c.text, got.Text)
			same(t, c.reasoning, got.Reasoning)
			same(t, 0, len(got.Calls))
			same(t, 25, got.Usage.Total())
		})
	}
}

// Row C14.
func TestC14ReasoningGoesBack(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{body: message(`{"role":"assistant","content":null,"reasoning_content":"r","annotations":[],"tool_calls":[` + goodCall + `]}`)})
	c, _ := f.client(nil)
	got, err := complete(t, c, question())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "r", got.Reasoning)
	if _, err := complete(t, c, answered(got.Calls[0], llm.Message{Extra: got.Extra})); err != nil {
		t.Fatal(err)
	}
	said := f.sentMessage(1, 2)
	same(t, any("r"), said[keyReasoning])
	if _, ok := said["annotations"]; ok {
		t.Error("a key of answers was sent back")
	}
}

// Row C20.
func TestC20ThoughtSignatureGoesBack(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{body: message(calling(`{"id":"x","type":"function","function":{"name":"weather","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}`))})
	c, _ := f.client(nil)
	got, err := complete(t, c, question())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := complete(t, c, answered(got.Calls[0], llm.Message{})); err != nil {
		t.Fatal(err)
	}
	same(t, any(map[string]any{"google": map[string]any{"thought_signature": "s"}}), f.sentCall(1, 2)["extra_content"])
}

func TestServersThatRefuseExtrasGetNone(t *testing.T) {
	t.Parallel()
	f := newFake(t,
		wire{status: 400, body: `{"error":{"message":"'messages.2': property 'reasoning_content' is unsupported"}}`},
		wire{body: message(`{"role":"assistant","content":"b"}`)})
	c, _ := f.client(nil)
	call := llm.Call{ID: "a00000009", Name: "weather", Arguments: "{}"}
	for range 2 {
		if _, err := complete(t, c, answered(call, llm.Message{Extra: json.RawMessage(`{"reasoning_content":"r"}`)})); err != nil {
			t.Fatal(err)
		}
	}
	var sent []bool
	for i := range f.requests() {
		_, ok := f.sentMessage(i, 2)[keyReasoning]
		sent = append(sent, ok)
	}
	same(t, []bool{true, false, false}, sent)
}

// Row C16.
func TestC16ThinkingWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, finish := range []string{"stop", "length"} {
		t.Run(finish, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, wire{body: completionOf(`{"role":"assistant","content":"","reasoning_content":"42"}`, finish)})
			_, err := f.complete(question())
			if err == nil || err.Kind != llm.Malformed || strings.Contains(err.Message, "42") {
				t.Fatalf("error %v", err)
			}
			same(t, llm.Usage{Prompt: 40, Completion: 10}, err.Usage) // both attempts
			same(t, 2, len(f.requests()))
		})
	}
}

// Row C38.
func TestC38Usage(t *testing.T) {
	t.Parallel()
	text := `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"four letters"}}]%s}`
	r := question()
	guess := llm.Usage{Prompt: r.Estimate(), Completion: 3, Estimated: true}
	for _, c := range []struct {
		name, usage string
		want        llm.Usage
	}{
		{"missing", "", guess},
		{"null", `,"usage":null`, guess},
		{"zero", `,"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, guess},
		{"floats", `,"usage":{"prompt_tokens":1.0,"completion_tokens":2.0}`, llm.Usage{Prompt: 1, Completion: 2}},
		{"texts", `,"usage":{"prompt_tokens":"10","completion_tokens":"2"}`, llm.Usage{Prompt: 10, Completion: 2}},
		{"negative", `,"usage":{"prompt_tokens":-9,"completion_tokens":-1,"total_tokens":-10}`, guess},
		{"half of it negative", `,"usage":{"prompt_tokens":-9,"completion_tokens":30}`, llm.Usage{Prompt: r.Estimate(), Completion: 30, Estimated: true}},
		{"beyond all measure", `,"usage":{"prompt_tokens":1e300,"completion_tokens":"NaN"}`, guess},
		{"a list", `,"usage":[{"prompt_tokens":9}]`, guess},
		{"more from the cache than there was", `,"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":80}}`, llm.Usage{Prompt: 10, Completion: 2, Cached: 10}},
		{"cached", `,"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}`, llm.Usage{Prompt: 10, Completion: 2, Cached: 8}},
		{"cached at DeepSeek", `,"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":8}`, llm.Usage{Prompt: 10, Completion: 2, Cached: 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := newFake(t, wire{body: strings.Replace(text, "%s", c.usage, 1)}).complete(question())
			if err != nil {
				t.Fatal(err)
			}
			same(t, c.want, got.Usage)
		})
	}
}

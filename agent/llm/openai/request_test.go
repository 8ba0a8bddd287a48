package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	api "github.com/sashabaranov/go-openai"

	"countersign/agent/llm"
)

var plainAnswer = wire{body: message(`{"role":"assistant","content":"b"}`)}

// Rows C1, C4, C5.
func TestC4C5SentArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stored, sent string }{
		{"", "{}"}, {"null", "{}"}, {"[]", "{}"}, {`"x"`, "{}"}, {`{"a":`, "{}"}, {`{"a": 1.50}`, `{"a": 1.50}`},
	} {
		f := newFake(t, plainAnswer)
		if _, err := f.complete(answered(llm.Call{ID: "a00000009", Name: "weather", Arguments: c.stored}, llm.Message{})); err != nil {
			t.Fatal(err)
		}
		call := f.sentCall(0, 2)
		same(t, any(map[string]any{"name": "weather", "arguments": c.sent}), call["function"])
		same(t, any("function"), call["type"]) // C1: never empty
	}
}

// Row C43.
func TestC43ContentBesideCalls(t *testing.T) {
	t.Parallel()
	bare := llm.Call{ID: "a00000009", Name: "weather", Arguments: "{}"}
	thoughtful := llm.Call{ID: "a00000009", Name: "weather", Arguments: `{"thought":"Look outside."}`}
	for _, c := range []struct {
		name    string
		content Content
		call    llm.Call
		text    string
		want    any
		omitted bool
	}{
		{"text stays", ContentThought, thoughtful, "I look.", "I look.", false},
		{"the thought", ContentThought, thoughtful, "", "Look outside.", false},
		{"a space", ContentThought, bare, "", " ", false},
		{"null", ContentNull, bare, "", nil, false},
		{"empty", ContentEmpty, bare, "", "", false},
		{"omitted", ContentOmit, bare, "", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, plainAnswer)
			m, _ := f.client(func(cfg *Config) { cfg.Content = c.content })
			if _, err := complete(t, m, answered(c.call, llm.Message{Text: c.text})); err != nil {
				t.Fatal(err)
			}
			got, there := f.sentMessage(0, 2)[keyContent]
			same(t, c.want, got)
			same(t, !c.omitted, there)
		})
	}
}

// Row C44.
func TestC44EmptyToolResult(t *testing.T) {
	t.Parallel()
	f := newFake(t, plainAnswer)
	r := answered(llm.Call{ID: "a00000009", Name: "weather", Arguments: "{}"}, llm.Message{})
	r.Messages[3].Text = ""
	if _, err := f.complete(r); err != nil {
		t.Fatal(err)
	}
	same(t, any(map[string]any{"role": "tool", "tool_call_id": "a00000009", "content": "(no output)"}), any(f.sentMessage(0, 3)))
}

// Row C40.
func TestC40TheCapOfTheModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ model, key string }{
		{"o3-mini", "max_completion_tokens"}, {"gpt-5-mini", "max_completion_tokens"}, {"openai/gpt-5", "max_completion_tokens"}, {"qwen3", "max_tokens"},
	} {
		f := newFake(t, plainAnswer)
		m, _ := f.client(func(cfg *Config) { cfg.Model = c.model })
		r := question()
		r.MaxTokens = 100
		if _, err := complete(t, m, r); err != nil {
			t.Fatal(err)
		}
		sent := f.requests()[0]
		same(t, any(100.0), sent[c.key])
		for _, k := range []string{"temperature", "top_p", "stop", "prompt_cache_key"} {
			if _, ok := sent[k]; ok {
				t.Errorf("%s was sent", k)
			}
		}
	}
}

// Row C40.
func TestC40ARefusedCapIsSwappedAndThenLeftOut(t *testing.T) {
	t.Parallel()
	refusal := wire{status: 400, body: `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`}
	f := newFake(t, refusal, plainAnswer)
	m, _ := f.client(nil)
	r := question()
	r.MaxTokens = 100
	for range 2 {
		if _, err := complete(t, m, r); err != nil {
			t.Fatal(err)
		}
	}
	same(t, []any{100.0, nil, nil}, keys(f, "max_tokens"))
	same(t, []any{nil, 100.0, 100.0}, keys(f, "max_completion_tokens"))

	f = newFake(t, wire{status: 400, body: `{"error":{"message":"max_tokens is too large: 100. This model supports at most 50 completion tokens"}}`}, plainAnswer)
	if _, err := f.complete(r); err != nil {
		t.Fatal(err)
	}
	same(t, []any{100.0, nil}, keys(f, "max_tokens"))
	same(t, []any{nil, nil}, keys(f, "max_completion_tokens"))
}

func TestACapThatCountsIntoTheWindowIsLeftOut(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{status: 400, body: `{"error":{"message":"This model's maximum context length is 32768 tokens. However, you requested 50500 tokens (500 in the messages, 50000 in the completion)."}}`}, plainAnswer)
	r := question()
	r.MaxTokens = 50000
	m, _ := f.client(nil)
	for range 2 {
		if _, err := complete(t, m, r); err != nil {
			t.Fatal(err)
		}
	}
	same(t, []any{50000.0, nil, nil}, keys(f, "max_tokens"))

	f = newFake(t, plainAnswer)
	m, _ = f.client(func(c *Config) { c.Window = 8000 })
	if _, err := complete(t, m, r); err != nil {
		t.Fatal(err)
	}
	same(t, any(float64(8000-r.Estimate())), f.requests()[0]["max_tokens"])
}

func keys(f *fake, key string) []any {
	var out []any
	for _, r := range f.requests() {
		out = append(out, r[key])
	}
	return out
}

// Row C41.
func TestC41StrictSchemas(t *testing.T) {
	t.Parallel()
	f := newFake(t,
		wire{body: message(calling(`{"id":"","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\",\"days\":null}"}}`))},
		wire{status: 400, body: `{"error":{"message":"strict is not supported"}}`},
		plainAnswer)
	m, _ := f.client(func(c *Config) { c.Strict = true })
	got, err := complete(t, m, question())
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"city":"Rome"}`, got.Calls[0].Arguments) // the null stood for "left out"
	if _, err := complete(t, m, question()); err != nil {
		t.Fatal(err)
	}
	strict := map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"city", "days"},
		"properties": map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": []any{"integer", "null"}}},
	}
	same(t, any(strict), sentFunction(f, 0)["parameters"])
	same(t, any(true), sentFunction(f, 0)["strict"])
	if _, ok := sentFunction(f, 2)["strict"]; ok {
		t.Error("the refused form was sent again")
	}
}

func sentFunction(f *fake, request int) map[string]any {
	tools, _ := f.requests()[request]["tools"].([]any)
	tool, _ := tools[0].(map[string]any)
	fn, _ := tool["function"].(map[string]any)
	return fn
}

// Row C41.
func TestStrictSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"nested", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","enum":["x"]}}}}},"required":["a"]}`,
			`{"additionalProperties":false,"properties":{"a":{"items":{"additionalProperties":false,"properties":{"b":{"enum":["x",null],"type":["string","null"]}},"required":["b"],"type":"object"},"type":"array"}},"required":["a"],"type":"object"}`},
		{"a free map has none", `{"type":"object","properties":{"a":{"type":"object","additionalProperties":true}},"required":["a"]}`, ""},
		{"oneOf has none", `{"type":"object","oneOf":[{}]}`, ""},
		{"an optional of any type has none", `{"type":"object","properties":{"a":{}}}`, ""},
		{"not a schema", `7`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := strictSchema(json.RawMessage(c.in))
			same(t, c.want, string(got))
			same(t, c.want != "", ok)
		})
	}
}

func TestAToolWithoutParameters(t *testing.T) {
	t.Parallel()
	f := newFake(t, plainAnswer)
	r := question()
	r.Tools[0].Parameters = nil
	if _, err := f.complete(r); err != nil {
		t.Fatal(err)
	}
	same(t, any(map[string]any{"type": "object", "properties": map[string]any{}}), sentFunction(f, 0)["parameters"])
}

func TestWithoutToolsCallsAreNoAnswer(t *testing.T) {
	t.Parallel()
	r := question()
	r.Tools = nil
	got, err := newFake(t, wire{body: message(`{"role":"assistant","content":"b","tool_calls":[` + goodCall + `]}`)}).complete(r)
	if err != nil || got.Text != "b" || len(got.Calls) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	f := newFake(t, wire{body: message(calling(goodCall))})
	if _, err := f.complete(r); err == nil || err.Kind != llm.Malformed {
		t.Errorf("error %v", err)
	}
	if _, ok := f.requests()[0]["tools"]; ok {
		t.Error("tools were sent")
	}
}

func TestEqualRequestsAreEqualBytes(t *testing.T) {
	t.Parallel()
	r := answered(llm.Call{ID: "a00000009", Name: "weather", Arguments: `{"b":1,"a":"<&>"}`, Extra: json.RawMessage(`{"z":1,"y":{"k":2,"j":1.0}}`)}, llm.Message{})
	m := New(Config{Model: "m"})
	x := &exchange{m: m, request: &r}
	first := ""
	for range 5 {
		body, err := json.Marshal(m.outgoing(r, habits{}))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = x.corrected(body); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(body)
		}
		same(t, first, string(body))
	}
	if !strings.Contains(first, `"j":1.0`) {
		t.Errorf("body %s", first)
	}
	var sent struct{ Messages []api.ChatCompletionMessage }
	if err := json.Unmarshal([]byte(first), &sent); err != nil || sent.Messages[2].ToolCalls[0].Function.Arguments != `{"b":1,"a":"<&>"}` {
		t.Errorf("%v: %s", err, first)
	}
}

// BenchmarkWrite is the writing of a request after many steps.
func BenchmarkWrite(b *testing.B) {
	r := question()
	for i := range 100 {
		c := llm.Call{ID: fmt.Sprintf("a%08d", i), Name: "weather", Arguments: `{"thought":"Look again.","city":"Rome"}`, Extra: json.RawMessage(`{"provider_id":"call_1"}`)}
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Calls: []llm.Call{c}}, llm.Message{Role: llm.Tool, CallID: c.ID, Text: strings.Repeat("sunny ", 100)})
	}
	m := New(Config{Model: "m"})
	b.ReportAllocs()
	for b.Loop() {
		body, err := json.Marshal(m.outgoing(r, habits{}))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := (&exchange{m: m, request: &r}).corrected(body); err != nil {
			b.Fatal(err)
		}
	}
}

func TestOpenAIsOwnServerGetsTheCacheKey(t *testing.T) {
	t.Parallel()
	r := question()
	r.Key = "run1"
	for base, want := range map[string]bool{"": true, "https://api.openai.com/v1/": true, "http://127.0.0.1:9/v1": false} {
		m := New(Config{BaseURL: base, Model: "m"})
		body, err := (&exchange{m: m, request: &r}).corrected([]byte(`{"messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		same(t, want, strings.Contains(string(body), `"prompt_cache_key":"run1"`))
	}
}

func TestAddressesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	f := newFake(t, plainAnswer)
	for _, base := range []string{f.url, f.url + "/", f.url + "/chat/completions", f.url + "/chat/completions/"} {
		m, _ := f.client(func(c *Config) { c.BaseURL = base; c.Headers = map[string]string{"X-Team": "ops"} })
		if _, err := complete(t, m, question()); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
	same(t, "Bearer sk-secret-key-1", f.head[0].Get("Authorization"))
	same(t, "ops", f.head[0].Get("X-Team"))
}

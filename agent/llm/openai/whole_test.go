package openai

import (
	"strings"
	"testing"

	"countersign/agent/llm"
)

// Row C10: what was cut before its arguments must not run as if it needed none.
func TestC10CutBeforeTheArguments(t *testing.T) {
	t.Parallel()
	none := `{"id":"x","type":"function","function":{"name":"weather","arguments":""}}`
	for finish, want := range map[string]string{"length": "{", "max_tokens": "{", "MAX_TOKENS": "{", "model_context_window_exceeded": "{", "content_filter": "{", "tool_calls": "", "stop": ""} {
		got, err := newFake(t, wire{body: completionOf(calling(none), finish)}).complete(question())
		if err != nil {
			t.Fatal(err)
		}
		if got.Calls[0].Arguments != want || got.Cut != (want != "") {
			t.Errorf("%s: %q, cut %t", finish, got.Calls[0].Arguments, got.Cut)
		}
	}
	m, _ := newFake(t, sse(piece(none), `{"choices":[{"delta":{},"finish_reason":"length"}]}`)).client(streaming)
	if got, err := complete(t, m, question()); err != nil || got.Calls[0].Arguments != "{" {
		t.Errorf("streamed: %+v, %v", got, err)
	}
}

// Whole answers in shapes that servers were seen to use.
func TestWholeAnswersOfEveryShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, text, calls string }{
		{"empty lines before it", "\n\n\r\n" + message(`{"role":"assistant","content":"b"}`), "b", ""},
		{"text and calls in two choices", `{"choices":[{"message":{"content":"b"},"finish_reason":"tool_calls"},{"message":{"tool_calls":[` + goodCall + `]}}],"usage":{"prompt_tokens":20,"completion_tokens":5}}`, "b", `weather {"city":"Rome"}`},
		{"a delta in place of a message", `{"object":"chat.completion.chunk","choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":5}}`, "b", ""},
		{"the old text", `{"choices":[{"text":"b","finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":5}}`, "b", ""},
		{"content is a number", message(`{"content":42}`), "42", ""},
		{"large numbers keep their digits", message(calling(`{"function":{"name":"weather","arguments":{"n":12345678901234567890}}}`)), "", `weather {"n":12345678901234567890}`},
		{"names given twice stay", message(calling(`{"function":{"name":"weather","arguments":"{\"a\":1,\"a\":2}"}}`)), "", `weather {"a":1,"a":2}`},
		{"half of a pair stays escaped", message(calling(`{"function":{"name":"weather","arguments":"{\"a\":\"\\ud800\"}"}}`)), "", `weather {"a":"\ud800"}`},
		{"half of a pair in the text", message(`{"content":"b\ud800"}`), "b\uFFFD", ""},
		{"a null among the calls", message(calling(`null,` + goodCall)), "", `weather {"city":"Rome"}`},
		{"a name with space around", message(calling(`{"function":{"name":" weather\n","arguments":"{}"}}`)), "", "weather {}"},
		{"a null error beside the choices", strings.Replace(message(`{"content":"b"}`), `{"id"`, `{"error":null,"base_resp":{"status_code":0,"status_msg":"success"},"id"`, 1), "b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := newFake(t, wire{body: c.body}).complete(question())
			if err != nil {
				t.Fatal(err)
			}
			calls := ""
			for _, call := range got.Calls {
				calls += call.Name + " " + call.Arguments
			}
			same(t, []string{c.text, c.calls}, []string{got.Text, calls})
			same(t, llm.Usage{Prompt: 20, Completion: 5}, got.Usage)
		})
	}
}

// Row C38: what the server left out of its count is estimated, the rest believed.
func TestC38HalfOfTheUsage(t *testing.T) {
	t.Parallel()
	r := question()
	for usage, want := range map[string]llm.Usage{
		`{"prompt_tokens":20}`:                           {Prompt: 20, Completion: 3, Estimated: true},
		`{"completion_tokens":5}`:                        {Prompt: r.Estimate(), Completion: 5, Estimated: true},
		`{"prompt_tokens":-3,"completion_tokens":5}`:     {Prompt: r.Estimate(), Completion: 5, Estimated: true},
		`{"prompt_tokens":1e300,"completion_tokens":5}`:  {Prompt: r.Estimate(), Completion: 5, Estimated: true},
		`{"input_tokens":20,"output_tokens":5}`:          {Prompt: 20, Completion: 5},
		`{"prompt_tokens":"20","completion_tokens":5.0}`: {Prompt: 20, Completion: 5},
	} {
		got, err := newFake(t, wire{body: `{"choices":[{"finish_reason":"stop","message":{"content":"four letters"}}],"usage":` + usage + `}`}).complete(r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, want, got.Usage)
	}
}

// A reply that a filter ended says that it is not whole; one that is all filter is none.
func TestFilteredReplies(t *testing.T) {
	t.Parallel()
	for _, finish := range []string{"content_filter", "SAFETY", "sensitive"} {
		got, err := newFake(t, wire{body: completionOf(`{"content":"half"}`, finish)}).complete(question())
		if err != nil || got.Text != "half" || !got.Cut {
			t.Errorf("%s: %+v, %v", finish, got, err)
		}
		if _, err := newFake(t, wire{body: completionOf(`{"content":""}`, finish)}).complete(question()); err == nil || err.Kind != llm.BadRequest {
			t.Errorf("%s: %v", finish, err)
		}
	}
}

// Row C25: the window is held with the count of the server, where it counts more
// than we estimate, and leaves room for an answer.
func TestC25TheWindowIsMeasuredByTheServersCount(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{body: `{"choices":[{"finish_reason":"stop","message":{"content":"b"}}],"usage":{"prompt_tokens":7000,"completion_tokens":5}}`})
	m, _ := f.client(func(c *Config) { c.Window = 8000 })
	r := question()
	r.Messages[1].Text = strings.Repeat("word ", 4000) // estimated as 5,000 tokens
	if got, err := complete(t, m, r); err != nil || got.Shrunk {
		t.Fatalf("%+v, %v", got, err)
	}
	r.Messages[1].Text = strings.Repeat("word ", 4400) // 5,500, which are 7,700 there
	if _, err := complete(t, m, r); err == nil || err.Kind != llm.Overflow || len(f.requests()) != 1 {
		t.Errorf("error %v after %d requests", err, len(f.requests()))
	}
}

package openai

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/agent/llm"
)

var eventStream = map[string]string{"Content-Type": "text/event-stream"}

// sse writes events, one a line.
func sse(events ...string) wire {
	return wire{header: eventStream, body: "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"}
}

func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

const (
	finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	counted  = `{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":5}}`
)

func streaming(c *Config) { c.Stream = true }

// Rows C13, C34.
func TestStreams(t *testing.T) {
	t.Parallel()
	rome := []llm.Call{{ID: "a00000001", Name: "weather", Arguments: `{"city":"Rome"}`, Extra: json.RawMessage(`{"provider_id":"x"}`)}}
	two := append(rome[:1:1], llm.Call{ID: "a00000002", Name: "weather", Arguments: `{"city":"Oslo"}`, Extra: json.RawMessage(`{"provider_id":"y"}`)})
	for _, c := range []struct {
		name   string
		answer wire
		text   string
		calls  []llm.Call
	}{
		{"text in pieces", sse(delta(`{"role":"assistant","content":"a "}`), delta(`{"content":"b"}`), finished, counted, "[DONE]"), "a b", nil},
		{"C13 parts in pieces", sse(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]}]}`), delta(`{"content":[{"type":"text","text":"b"}]}`), finished, counted), "b", nil},
		{"calls in pieces", sse(delta(`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"weather","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\"Rome\"}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"y","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`), finished, counted, "[DONE]"), "", two},
		{"calls without index", sse(delta(`{"tool_calls":[{"id":"x","function":{"name":"weather","arguments":"{\"city\":"}}]}`),
			delta(`{"tool_calls":[{"function":{"arguments":"\"Rome\"}"}}]}`), delta(`{"tool_calls":[{"id":"y","function":{"name":"weather","arguments":{"city":"Oslo"}}}]}`), finished, counted), "", two},
		{"calls that share an index", sse(delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"y","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`), finished, counted), "", two},
		{"the name again in every piece", sse(delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"weather","arguments":"{\"city\":"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"weather","arguments":"\"Rome\"}"}}]}`), finished, counted), "", rome},
		{"comments and other fields", wire{header: eventStream, body: ": hi\nevent: x\nid: 1\ndata: " + delta(`{"content":"b"}`) + "\n\n: ping\n\ndata: " + finished + "\r\n\r\ndata:" + counted + "\n\ndata: [DONE]\n\n"}, "b", nil},
		{"done without a finish reason", sse(delta(`{"content":"b"}`), counted, "[DONE]"), "b", nil},
		{"C34 a whole completion instead", wire{body: message(`{"role":"assistant","content":"b"}`)}, "b", nil},
		{"C34 a completion that calls itself a stream", wire{header: eventStream, body: message(`{"role":"assistant","content":"b"}`)}, "b", nil},
		{"C34 a stream that calls itself JSON", wire{body: sse(delta(`{"content":"b"}`), finished, counted).body}, "b", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, c.answer)
			m, _ := f.client(streaming)
			got, err := complete(t, m, question())
			if err != nil {
				t.Fatal(err)
			}
			same(t, c.text, got.Text)
			same(t, c.calls, got.Calls)
			same(t, llm.Usage{Prompt: 20, Completion: 5}, got.Usage)
		})
	}
}

// Rows C31, C32, C34.
func TestStreamsThatFail(t *testing.T) {
	t.Parallel()
	part := delta(`{"content":"half"}`)
	for _, c := range []struct {
		name   string
		answer wire
		want   trouble
	}{
		{"C31 finish reason error", sse(part, `{"choices":[{"delta":{},"finish_reason":"error"}],"error":{"message":"why it failed","code":502}}`), trouble{llm.Overloaded, 0, 3}},
		{"C31 without a message", sse(part, `{"choices":[{"delta":{},"finish_reason":"error"}]}`), trouble{llm.Overloaded, 0, 3}},
		{"C32 error as the last line", wire{header: eventStream, body: "data: " + part + "\n\ndata: {\"error\":{\"message\":\"why it failed\"}}"}, trouble{llm.Overloaded, 0, 3}},
		{"C32 error after a comment, with a space", wire{header: eventStream, body: ": x\n\ndata: { \"error\":{\"message\":\"why it failed\"}}\n\n"}, trouble{llm.Overloaded, 0, 3}},
		{"C32 an end without a finish reason", sse(part), trouble{llm.Overloaded, 0, 3}},
		{"C32 an end within an event", wire{header: eventStream, body: "data: " + part + "\n\ndata: {\"choi"}, trouble{llm.Overloaded, 0, 3}},
		{"C32 a cut connection", wire{header: eventStream, body: "data: " + part + "\n\n", short: true}, trouble{llm.Overloaded, 0, 3}},
		{"C32 done without a word", sse("[DONE]"), trouble{llm.Overloaded, 0, 3}},
		{"an end after the name of a call", sse(piece(`{"index":0,"id":"a","function":{"name":"weather"}}`)), trouble{llm.Overloaded, 0, 3}},
		{"done after the name of a call, without a reason", sse(piece(`{"index":0,"id":"a","function":{"name":"weather","arguments":""}}`), "[DONE]"), trouble{llm.Overloaded, 0, 3}},
		{"done within the arguments, without a reason", sse(piece(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"ci"}}`), "[DONE]"), trouble{llm.Overloaded, 0, 3}},
		{"C34 an error after comments", wire{header: eventStream, body: ": a\n\n" + `{"error":{"message":"why it failed","code":401}}`}, trouble{llm.Config, 0, 1}},
		{"C34 an error instead", wire{body: `{"error":{"message":"why it failed","code":401}}`}, trouble{llm.Config, 0, 1}},
		{"C34 an error that calls itself a stream", wire{header: eventStream, body: `{"error":{"message":"why it failed","code":401}}`}, trouble{llm.Config, 0, 1}},
		{"C34 a page instead", wire{header: eventStream, body: "<html>gateway</html>"}, trouble{llm.Config, 0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, c.answer)
			m, _ := f.client(streaming)
			got, err := complete(t, m, question())
			if err == nil {
				t.Fatalf("reply %+v", got)
			}
			same(t, c.want, trouble{err.Kind, err.RetryAfter, len(f.requests())})
			if told := strings.Contains(c.answer.body, `"why it failed"`); told && !strings.Contains(err.Message, "why it failed") {
				t.Errorf("the cause is lost: %s", err.Message)
			}
		})
	}
}

// Row C14.
func TestC14StreamedReasoningGoesBackUnderItsName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"reasoning_content", "reasoning"} {
		f := newFake(t, sse(delta(`{"`+name+`":"r1 "}`), delta(`{"`+name+`":"r2"}`), delta(`{"tool_calls":[`+goodCall+`]}`), finished))
		m, _ := f.client(streaming)
		got, err := complete(t, m, question())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "r1 r2", got.Reasoning)
		same(t, `{"`+name+`":"r1 r2"}`, string(got.Extra))
	}
}

// Row C37.
func TestC37UsageOfStreams(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{status: 400, body: `{"error":{"message":"Unknown parameter: stream_options"}}`}, sse(delta(`{"content":"b"}`), finished))
	m, _ := f.client(streaming)
	for range 2 {
		got, err := complete(t, m, question())
		if err != nil {
			t.Fatal(err)
		}
		if !got.Usage.Estimated || got.Usage.Total() == 0 {
			t.Errorf("usage %+v", got.Usage)
		}
	}
	same(t, []any{map[string]any{"include_usage": true}, nil, nil}, keys(f, "stream_options"))
	same(t, []any{true, true, true}, keys(f, "stream"))
}

func TestAStreamEndsWithItsLastEvent(t *testing.T) {
	t.Parallel()
	open := sse(delta(`{"content":"b"}`), finished, counted, "[DONE]")
	open.short, open.open = true, true
	f := newFake(t, open)
	m, _ := f.client(func(c *Config) { c.Stream, c.Timeout, c.Tries = true, time.Minute, 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // of the connection's own there is no end
	defer cancel()
	if got, err := m.Complete(ctx, question()); err != nil || got.Text != "b" || ctx.Err() != nil {
		t.Errorf("%+v, %v, %v", got, err, ctx.Err())
	}
}

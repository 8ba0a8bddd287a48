package openai

import (
	"strings"
	"testing"

	"countersign/agent/llm"
)

// streamOf is a stream as it is written, byte for byte.
func streamOf(body string) wire { return wire{header: eventStream, body: body} }

// Rows C13, C31, C32, C34, C37: the lines of a stream, as servers and proxies write them.
func TestStreamsAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	a, b := delta(`{"content":"a "}`), delta(`{"content":"b"}`)
	for _, c := range []struct{ name, body, text string }{
		{"lines end with CRLF", "data: " + a + "\r\n\r\ndata: " + b + "\r\n\r\ndata: " + finished + "\r\n\r\ndata: " + counted + "\r\n\r\ndata: [DONE]\r\n\r\n", "a b"},
		{"lines end with CR", "data: " + a + "\r\rdata: " + b + "\r\rdata: " + finished + "\r\rdata: " + counted + "\r\r", "a b"},
		{"a byte order mark", "\ufeffdata: " + a + "\n\ndata: " + b + "\n\ndata: " + finished + "\n\ndata: " + counted + "\n\n", "a b"},
		{"no space after data", "data:" + a + "\n\ndata:" + b + "\n\ndata:" + finished + "\n\ndata:" + counted + "\n\ndata:[DONE]\n\n", "a b"},
		{"no empty lines", "data: " + a + "\ndata: " + b + "\ndata: " + finished + "\ndata: " + counted + "\ndata: [DONE]\n", "a b"},
		{"no empty lines, a sign of life, no reason", "data: " + a + "\ndata: ping\ndata: " + b + "\ndata: " + counted + "\ndata: [DONE]\n", "a b"},
		{"an event of several lines", "data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"a b\"},\ndata: \"finish_reason\":\"stop\"}]}\n\ndata: " + counted + "\n\n", "a b"},
		{"two objects in one event", "data: " + a + b + "\n\ndata: " + finished + counted + "\n\n", "a b"},
		{"signs of life", ": keep-alive\n\ndata: ping\n\n: x\ndata: " + a + "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\ndata:\n\ndata: null\n\nretry: 3000\nid: 7\ndata: " + b + "\n\ndata: " + finished + "\n\ndata: " + counted + "\n\n", "a b"},
		{"no [DONE], no last empty line", "data: " + a + "\n\ndata: " + b + "\n\ndata: " + finished + "\n\ndata: " + counted, "a b"},
		{"usage in the middle", "data: " + a + "\n\ndata: " + counted + "\n\ndata: " + b + "\n\ndata: " + finished + "\n\ndata: {\"choices\":[],\"usage\":null}\n\n", "a b"},
		{"usage within the choice", "data: " + a + "\n\ndata: " + b + "\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\",\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":5}}]}\n\n", "a b"},
		{"usage among the provider's own", "data: " + a + "\n\ndata: " + b + "\n\ndata: {\"x_groq\":{\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":5}},\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", "a b"},
		{"the last event twice", "data: " + a + "\n\ndata: " + b + "\n\ndata: " + finished + "\n\ndata: " + finished + "\n\ndata: " + counted + "\n\ndata: " + counted + "\n\n", "a b"},
		{"the whole text once more at the end", "data: " + a + "\n\ndata: " + b + "\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a b\"},\"finish_reason\":\"stop\"}]}\n\ndata: " + counted + "\n\n", "a b"},
		{"the whole message once more at the end", "data: " + a + "\n\ndata: " + b + "\n\ndata: {\"choices\":[{\"message\":{\"content\":\"a b\"},\"finish_reason\":\"stop\"}]}\n\ndata: " + counted + "\n\n", "a b"},
		{"a whole message as the only event", "data: " + message(`{"role":"assistant","content":"a b"}`) + "\n\n", "a b"},
		{"comments before a whole completion", ": PROCESSING\n\n: PROCESSING\n\n" + message(`{"role":"assistant","content":"a b"}`), "a b"},
		{"the old text in place of a delta", "data: {\"choices\":[{\"text\":\"a b\",\"finish_reason\":null}]}\n\ndata: " + finished + "\n\ndata: " + counted + "\n\n", "a b"},
		{"a character cut between events", "data: " + delta("{\"content\":\"\xe4\xbd\"}") + "\n\ndata: " + delta("{\"content\":\"\x99\xe9\"}") + "\n\ndata: " + delta("{\"content\":\"\xa2\x9d!\"}") + "\n\ndata: " + finished + "\n\ndata: " + counted + "\n\n", "余额!"},
		{"half a character for ever", "data: " + delta("{\"content\":\"a\xe4\xbd b\"}") + "\n\ndata: " + finished + "\n\ndata: " + counted + "\n\n", "a\uFFFD b"},
		{"a refusal in pieces", "data: " + delta(`{"refusal":"a "}`) + "\n\ndata: " + delta(`{"refusal":"b"}`) + "\n\ndata: " + finished + "\n\ndata: " + counted + "\n\n", "a b"},
		{"an error that says that all is well", "data: {\"error\":{\"code\":0,\"message\":\"\"},\"choices\":[{\"delta\":{\"content\":\"a b\"},\"finish_reason\":\"stop\"}]}\n\ndata: " + counted + "\n\n", "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, streamOf(c.body))
			m, _ := f.client(streaming)
			got, err := complete(t, m, question())
			if err != nil {
				t.Fatal(err)
			}
			same(t, c.text, got.Text)
			same(t, llm.Usage{Prompt: 20, Completion: 5}, got.Usage)
		})
	}
}

// Rows C31, C32: what a stream says of its own end is believed; an end that nobody
// announced is none, and what it cost is on the ledger.
func TestStreamsThatBreakOff(t *testing.T) {
	t.Parallel()
	half := "data: " + delta(`{"content":"half"}`) + "\n\n"
	q := question()
	for _, c := range []struct {
		name, body string
		kind       llm.Kind
		charged    bool
	}{
		{"the word null is no reason", half + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"null\"}]}\n\n", llm.Overloaded, true},
		{"no resources", half + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"insufficient_system_resource\"}]}\n\n", llm.Overloaded, false},
		{"aborted", half + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"abort\"}]}\n\n", llm.Overloaded, false},
		{"an error event, flat", half + "event: error\ndata: {\"type\":\"overloaded_error\",\"message\":\"m\"}\n\n", llm.Overloaded, false},
		{"an error event in a list", half + "data: [{\"error\":{\"code\":401,\"message\":\"m\"}}]\n\n", llm.Config, false},
		{"an error of an account", half + "data: {\"error\":{\"code\":402,\"message\":\"m\"}}\n\n", llm.Quota, false},
		{"cut within a character", half + "data: {\"choices\":[{\"delta\":{\"content\":\"\xe4", llm.Overloaded, true},
		{"comments alone", ": a\n\n: b\n\n", llm.Overloaded, true},
		{"a page after comments", ": a\n\n<html>gateway</html>", llm.Config, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, streamOf(c.body))
			m, _ := f.client(func(cfg *Config) { cfg.Stream, cfg.Tries = true, 1 })
			got, err := complete(t, m, q)
			if err == nil {
				t.Fatalf("reply %+v", got)
			}
			if err.Kind != c.kind || strings.Contains(err.Message, "<html") {
				t.Errorf("%s: %s", err.Kind, err.Message)
			}
			if want := (llm.Usage{Prompt: q.Estimate(), Estimated: true}); c.charged && err.Usage != want {
				t.Errorf("usage %+v, not %+v", err.Usage, want)
			}
		})
	}
}

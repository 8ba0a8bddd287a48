package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/agent/llm"
)

const respondedCall = `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[
 {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"look first"}],"encrypted_content":"SEALED"},
 {"type":"function_call","id":"fc_1","call_id":"call_abc","name":"look","arguments":"{\"what\":\"a\"}"}],
 "usage":{"input_tokens":40,"input_tokens_details":{"cached_tokens":30},"output_tokens":8.0,"total_tokens":48}}`

const respondedText = `{"id":"resp_2","object":"response","status":"completed","model":"m","output":[
 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"All good.","annotations":[]}]}],"usage":{"input_tokens":60,"output_tokens":3}}`

func responsesClient(f *fake) *Client {
	return New(Config{BaseURL: f.url + "/v1", Model: "m", Key: "k", API: Responses, Tries: 1})
}

// Rows C14, C38, C44.
func TestResponsesKeepCallsReasoningAndUsage(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{body: respondedCall}, wire{body: respondedText})
	m := responsesClient(f)
	look := []llm.ToolDef{{Name: "look", Parameters: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}}}`)}}
	ask := []llm.Message{{Role: llm.System, Text: "rules"}, {Role: llm.User, Text: "look"}}
	first, err := m.Complete(t.Context(), llm.Request{Messages: ask, Tools: look, MaxTokens: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Calls) != 1 || first.Calls[0].Name != "look" || len(first.Calls[0].ID) != 9 || first.Reasoning != "look first" {
		t.Fatalf("reply %+v", first)
	}
	if want := (llm.Usage{Prompt: 40, Completion: 8, Cached: 30}); first.Usage != want {
		t.Errorf("usage %+v, want %+v", first.Usage, want)
	}
	again := append(ask, llm.Message{Role: llm.Assistant, Calls: first.Calls, Extra: first.Extra},
		llm.Message{Role: llm.Tool, CallID: first.Calls[0].ID, Text: ""})
	second, err := m.Complete(t.Context(), llm.Request{Messages: again, Tools: look})
	if err != nil || second.Text != "All good." {
		t.Fatalf("%+v, %v", second, err)
	}
	sent, _ := json.Marshal(f.seen[1]["input"])
	for _, want := range []string{`"SEALED"`, `"call_id":"call_abc"`, `"type":"function_call_output"`, `"(no output)"`, `"role":"system"`} {
		if !strings.Contains(string(sent), want) {
			t.Errorf("%s is not in the second request %s", want, sent)
		}
	}
	if f.seen[0]["store"] != false || f.seen[0]["max_output_tokens"] == nil {
		t.Errorf("first request %v", f.seen[0])
	}
}

// Rows C16, C26, C35.
func TestResponsesTroubles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		wire wire
		kind llm.Kind
	}{
		{"failed", wire{body: `{"id":"r","status":"failed","error":{"code":"server_error","message":"m"},"output":[]}`}, llm.Overloaded},
		{"nothing", wire{body: `{"id":"r","status":"completed","output":[]}`}, llm.Malformed},
		{"only thought", wire{body: `{"id":"r","status":"incomplete","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"x"}]}]}`}, llm.Malformed},
		{"no output", wire{body: `{"id":"r"}`}, llm.Malformed},
		{"page", wire{body: `<html>gateway</html>`}, llm.Config},
		{"wrong key", wire{status: 401, body: `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`}, llm.Config},
		{"busy", wire{status: 429, header: map[string]string{"Retry-After": "7"}, body: `{"error":{"message":"slow down"}}`}, llm.Overloaded},
		{"list", wire{body: `[1]`}, llm.Malformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := responsesClient(newFake(t, tt.wire)).Complete(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "x"}}})
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || strings.Contains(e.Message, "<html") {
				t.Errorf("got %v, want %s", err, tt.kind)
			}
		})
	}
}

func TestResponsesRefusalIsAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{body: `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"I can't help with that."}]}]}`})
	r, err := responsesClient(f).Complete(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "x"}}})
	if err != nil || r.Text != "I can't help with that." || !r.Usage.Estimated {
		t.Errorf("%+v, %v", r, err)
	}
}

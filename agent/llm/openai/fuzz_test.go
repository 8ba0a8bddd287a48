package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	api "github.com/sashabaranov/go-openai"

	"countersign/agent/llm"
)

// FuzzAnswer reads any bytes as an answer: a reply that says something, or an
// error of ours; nothing else and no panic.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		message(calling(goodCall)), message(`{"content":[{"type":"text","text":"b"}]}`), "data: " + delta(`{"tool_calls":[`+goodCall+`]}`) + "\n\ndata: " + finished + "\n\n",
		`[{"error":{"code":429,"message":"m","details":[{"retryDelay":"12s"}]}}]`, "<html>", `{"choices":[{"message":{"content":"a</think>b","tool_calls":{"function":7}}}]}`,
		`{"choices":[7],"usage":{"prompt_tokens":-1.5e300,"completion_tokens":"x"}}`, "data: [DONE]", "null", "", "\ufeff{}",
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, streamed bool) {
		m, r := New(Config{Model: "m"}), question()
		x := &exchange{m: m, request: &r}
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
		if streamed {
			resp.Header.Set("Content-Type", "text/event-stream")
		}
		normal, err := x.accept(resp, body)
		if err != nil {
			checkTrouble(t, err)
			return
		}
		var response api.ChatCompletionResponse
		if err := json.Unmarshal(normal, &response); err != nil {
			t.Fatalf("go-openai cannot read %s: %v", normal, err)
		}
		reply, failed := m.reply(context.Background(), x, response)
		if failed != nil {
			checkTrouble(t, failed)
			return
		}
		checkReply(t, &reply)
		checkSendable(t, m, &reply)
	})
}

func checkTrouble(t *testing.T, err error) {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind == "" || e.Message == "" {
		t.Fatalf("error %v", err)
	}
	if strings.Contains(strings.ToLower(e.Message), "<html") || utf8.RuneCountInString(e.Message) > longestMessage+200 {
		t.Fatalf("message %q", e.Message)
	}
}

func checkReply(t *testing.T, r *llm.Reply) {
	t.Helper()
	if r.Text == "" && len(r.Calls) == 0 {
		t.Fatal("an empty reply without an error")
	}
	if r.Usage.Prompt < 0 || r.Usage.Completion < 0 || r.Usage.Total() == 0 || r.Usage.Cached > r.Usage.Prompt {
		t.Fatalf("usage %+v", r.Usage)
	}
	for _, c := range r.Calls {
		if len(c.ID) != 9 || len(c.Extra) > 0 && !json.Valid(c.Extra) {
			t.Fatalf("call %+v", c)
		}
	}
	if len(r.Extra) > 0 && !json.Valid(r.Extra) {
		t.Fatalf("extra %s", r.Extra)
	}
}

// checkSendable sends the reply back as the next request does.
func checkSendable(t *testing.T, m *Client, r *llm.Reply) {
	t.Helper()
	next := llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Text: r.Text, Calls: r.Calls, Reasoning: r.Reasoning, Extra: r.Extra}}}
	body, err := json.Marshal(m.outgoing(next, habits{}))
	if err != nil {
		t.Fatal(err)
	}
	body, err = (&exchange{m: m, request: &next}).corrected(body)
	if err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Messages []struct {
			Role  string `json:"role"`
			Calls []struct {
				ID       string `json:"id"`
				Type     string `json:"type"`
				Function struct {
					Arguments *string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &sent); err != nil || len(sent.Messages) != 1 || sent.Messages[0].Role != "assistant" {
		t.Fatalf("%v: %s", err, body)
	}
	for i, c := range sent.Messages[0].Calls {
		if c.ID != r.Calls[i].ID || c.Type != "function" || c.Function.Arguments == nil || !strings.HasPrefix(strings.TrimSpace(*c.Function.Arguments), "{") {
			t.Fatalf("call %d in %s", i, body)
		}
	}
}

// FuzzRefusal reads any bytes as the body of a bad status.
func FuzzRefusal(f *testing.F) {
	for _, s := range []string{`{"error":"x"}`, `{"error":{"message":{"a":1},"code":7,"details":[{"retryDelay":"-1s"}]}}`, `[{}]`, "<html>", `{"detail":[[]]}`} {
		f.Add(429, []byte(s))
		f.Add(500, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 300 || status > 599 {
			return
		}
		e := New(Config{Model: "m", Key: "sk-secret-key-1"}).refusal(&http.Response{StatusCode: status, Header: http.Header{}}, body)
		checkTrouble(t, e)
		if e.RetryAfter < 0 || strings.Contains(e.Message, "sk-secret-key-1") {
			t.Fatalf("%+v", e)
		}
	})
}

package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent/llm"
)

// wire is one scripted answer of the server.
type wire struct {
	status int
	header map[string]string
	body   string
	short  bool // end the connection within the body
	hang   bool // never answer
	open   bool // leave the connection open after the body
}

// fake is a server that gives its answers in order, the last one again and
// again, and keeps what it was sent.
type fake struct {
	t       *testing.T
	url     string
	answers []wire

	mu   sync.Mutex
	seen []map[string]any
	head []http.Header
	raw  []string
}

func newFake(t *testing.T, answers ...wire) *fake {
	t.Helper()
	f := &fake{t: t, answers: answers}
	done := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := f.take(r)
		if a.hang {
			select {
			case <-r.Context().Done():
			case <-done:
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		for k, v := range a.header {
			w.Header().Set(k, v)
		}
		if a.short {
			w.Header().Set("Content-Length", fmt.Sprint(len(a.body)+100))
		}
		if a.status != 0 {
			w.WriteHeader(a.status)
		}
		_, _ = io.WriteString(w, a.body)
		if a.open {
			_ = http.NewResponseController(w).Flush()
			<-done
		}
	}))
	t.Cleanup(func() { close(done); srv.Close() })
	f.url = srv.URL + "/v1"
	return f
}

func (f *fake) take(r *http.Request) wire {
	body, _ := io.ReadAll(r.Body)
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		f.t.Errorf("the request is not JSON: %v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.head, f.raw = append(f.seen, v), append(f.head, r.Header), append(f.raw, string(body))
	return f.answers[min(len(f.seen), len(f.answers))-1]
}

func (f *fake) requests() []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// naps records how long a client slept instead of sleeping.
type naps struct{ all []time.Duration }

func (n *naps) sleep(ctx context.Context, d time.Duration) error {
	n.all = append(n.all, d)
	return ctx.Err()
}

// client makes a client of the server with ids a00000001, a00000002 and so on.
func (f *fake) client(change func(*Config)) (*Client, *naps) {
	n, ids := &naps{}, 0
	c := Config{BaseURL: f.url, Key: "sk-secret-key-1", Model: "some-model", Sleep: n.sleep, NewCallID: func() string {
		ids++
		return fmt.Sprintf("a%08d", ids)
	}}
	if change != nil {
		change(&c)
	}
	return New(c), n
}

func (f *fake) complete(r llm.Request) (llm.Reply, *llm.Error) {
	c, _ := f.client(nil)
	return complete(f.t, c, r)
}

func complete(t *testing.T, c *Client, r llm.Request) (llm.Reply, *llm.Error) {
	t.Helper()
	reply, err := c.Complete(t.Context(), r)
	if err == nil {
		return reply, nil
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is none of ours", err)
	}
	return reply, e
}

var weather = llm.ToolDef{Name: "weather", Description: "The weather.", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`)}

func question() llm.Request {
	return llm.Request{
		Messages: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "How is the weather?"}},
		Tools:    []llm.ToolDef{weather},
	}
}

// answered is a second request, after one call with the given extras.
func answered(call llm.Call, said llm.Message) llm.Request {
	r := question()
	said.Role, said.Calls = llm.Assistant, []llm.Call{call}
	r.Messages = append(r.Messages, said, llm.Message{Role: llm.Tool, CallID: call.ID, Text: "sunny"})
	return r
}

// sentMessage is a message of a request that the server saw.
func (f *fake) sentMessage(request, n int) map[string]any {
	f.t.Helper()
	all, _ := f.requests()[request]["messages"].([]any)
	if n >= len(all) {
		f.t.Fatalf("message %d of %d", n, len(all))
	}
	m, _ := all[n].(map[string]any)
	return m
}

func (f *fake) sentCall(request, message int) map[string]any {
	f.t.Helper()
	calls, _ := f.sentMessage(request, message)["tool_calls"].([]any)
	if len(calls) == 0 {
		f.t.Fatal("no calls were sent")
	}
	c, _ := calls[0].(map[string]any)
	return c
}

func message(m string) string { return completionOf(m, "stop") }

func completionOf(m, finish string) string {
	return `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"` + finish + `","message":` + m + `}],"usage":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25}}`
}

func calling(call string) string {
	return `{"role":"assistant","content":null,"tool_calls":[` + call + `]}`
}

const goodCall = `{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}`

func same(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

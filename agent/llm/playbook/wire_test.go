package playbook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent/llm"
	"countersign/agent/llm/openai"
	"countersign/agent/llm/playbook"
)

// These tests drive the server through the adapter that the program uses.

func start(t *testing.T, o playbook.Options, change func(*openai.Config)) *openai.Client {
	t.Helper()
	s, err := playbook.New(playbook.Scenes(), o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	c := openai.Config{BaseURL: srv.URL + "/v1", Model: playbook.Model, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	if change != nil {
		change(&c)
	}
	return openai.New(c)
}

var deleteTool = llm.ToolDef{Name: "delete_document", Parameters: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"thought":{"type":"string"}}}`)}

func deletion() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.System, Text: "x"}, {Role: llm.User, Text: "删除文档 doc_42"}}, Tools: []llm.ToolDef{deleteTool}}
}

const deletionArgs = `{"id":"doc_42","thought":"按要求删除文档 doc_42。"}`

func TestStreamedAndWholeRepliesAreTheSame(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]bool{"whole": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := start(t, playbook.Options{}, func(c *openai.Config) { c.Stream = stream })
			r := deletion()
			reply, err := m.Complete(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if len(reply.Calls) != 1 || reply.Calls[0].Arguments != deletionArgs || reply.Usage.Estimated || reply.Usage.Total() == 0 {
				t.Fatalf("reply %+v", reply)
			}
			r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Calls: reply.Calls}, llm.Message{Role: llm.Tool, CallID: reply.Calls[0].ID, Text: "deleted document doc_42 (X), restorable. It is kept as x."})
			reply, err = m.Complete(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff("文档 doc_42 已删除（doc_42 (X), restorable）。", reply.Text); d != "" {
				t.Error(d)
			}
		})
	}
}

// faultsFirst gives the fault to the first request only.
func faultsFirst(f playbook.Fault) playbook.Options {
	return playbook.Options{Fault: func(n int, _ *http.Request) playbook.Fault {
		if n == 1 {
			return f
		}
		return playbook.Fault{}
	}}
}

func TestFaultsThatAnotherTryMends(t *testing.T) {
	t.Parallel()
	for _, f := range []playbook.Fault{
		{Kind: playbook.TooMany, Number: 7}, {Kind: playbook.ServerError}, {Kind: playbook.ServerError, Number: 503},
		{Kind: playbook.HTML, Number: 502}, {Kind: playbook.CutStream}, {Kind: playbook.EmptyReply}, {Kind: playbook.Hang},
	} {
		for name, stream := range map[string]bool{"whole": false, "streamed": true} {
			t.Run(string(f.Kind)+"/"+name, func(t *testing.T) {
				t.Parallel()
				m := start(t, faultsFirst(f), func(c *openai.Config) {
					c.Stream = stream
					if f.Kind == playbook.Hang {
						c.Timeout = time.Second
					}
				})
				reply, err := m.Complete(t.Context(), deletion())
				if err != nil || len(reply.Calls) != 1 || reply.Calls[0].Arguments != deletionArgs {
					t.Errorf("%+v, %v", reply, err)
				}
			})
		}
	}
}

func TestFaultsThatReachTheAgent(t *testing.T) {
	t.Parallel()
	always := func(f playbook.Fault) playbook.Options {
		return playbook.Options{Fault: func(int, *http.Request) playbook.Fault { return f }}
	}
	_, err := start(t, always(playbook.Fault{Kind: playbook.HTML}), nil).Complete(t.Context(), deletion())
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Config {
		t.Errorf("error %v", err)
	}
	reply, err := start(t, always(playbook.Fault{Kind: playbook.MalformedArgs}), nil).Complete(t.Context(), deletion())
	if err != nil || json.Valid([]byte(reply.Calls[0].Arguments)) {
		t.Errorf("%+v, %v", reply, err)
	}
	reply, err = start(t, always(playbook.Fault{Kind: playbook.UnknownTool}), nil).Complete(t.Context(), deletion())
	if err != nil || reply.Calls[0].Name != "delete_document_please" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestAFaultByHeader(t *testing.T) {
	t.Parallel()
	m := start(t, playbook.Options{}, func(c *openai.Config) {
		c.Tries, c.Headers = 1, map[string]string{playbook.FaultHeader: "429;90"}
	})
	_, err := m.Complete(t.Context(), deletion())
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Overloaded || e.RetryAfter != 90*time.Second {
		t.Errorf("error %v", err)
	}
}

func TestModelsAndWrongRequests(t *testing.T) {
	t.Parallel()
	s, err := playbook.New(playbook.Scenes(), playbook.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/v1/models", "", http.StatusOK, `"id":"playbook"`},
		{"POST", "/v1/chat/completions", "{", http.StatusBadRequest, "invalid_request_error"},
		{"POST", "/v1/chat/completions", `{"messages":[]}`, http.StatusOK, "scripted model"},
		{"GET", "/v1/chat/completions", "", http.StatusMethodNotAllowed, ""},
		{"GET", "/", "", http.StatusNotFound, ""},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body)))
		body, _ := io.ReadAll(w.Body)
		if w.Code != c.status || !strings.Contains(string(body), c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, body)
		}
	}
}

func TestThinkTimeEndsWithTheClient(t *testing.T) {
	t.Parallel()
	m := start(t, playbook.Options{Think: time.Hour}, func(c *openai.Config) { c.Timeout, c.Tries = 50*time.Millisecond, 1 })
	if _, err := m.Complete(t.Context(), deletion()); err == nil {
		t.Error("a reply within no time")
	}
}

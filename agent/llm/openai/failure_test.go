package openai

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/agent/llm"
)

// trouble is what a test looks at in an error.
type trouble struct {
	Kind       llm.Kind
	RetryAfter time.Duration
	Requests   int
}

// Rows C22, C23, C25, C26, C28, C29, C31, C35.
func TestFailures(t *testing.T) {
	t.Parallel()
	page := "<html><body>gateway</body></html>"
	for _, c := range []struct {
		name   string
		answer wire
		want   trouble
		says   string
	}{
		{"C22 flat error", wire{status: 400, body: `{"object":"error","message":"m is wrong","code":400}`}, trouble{llm.BadRequest, 0, 1}, "m is wrong"},
		{"C22 detail", wire{status: 422, body: `{"detail":"m is wrong"}`}, trouble{llm.BadRequest, 0, 1}, "m is wrong"},
		{"C22 detail in a list", wire{status: 422, body: `{"detail":[{"loc":["body","x"],"msg":"m is wrong"}]}`}, trouble{llm.BadRequest, 0, 1}, "m is wrong"},
		{"C23 error is a text", wire{status: 400, body: `{"error":"m is wrong"}`}, trouble{llm.BadRequest, 0, 1}, "m is wrong"},
		{"C23 error has a type only", wire{status: 400, body: `{"error":{"type":"x_error"}}`}, trouble{llm.BadRequest, 0, 1}, "x_error"},
		{"C23 message is an object", wire{status: 400, body: `{"error":{"message":{"why":"m is wrong"}}}`}, trouble{llm.BadRequest, 0, 1}, "m is wrong"},
		{"C23 nothing said", wire{status: 400, body: ``}, trouble{llm.BadRequest, 0, 1}, "status 400"},
		{"C26 a wait that is too long", wire{status: 429, header: map[string]string{"Retry-After": "600"}, body: `{"error":{"message":"m","code":429}}`}, trouble{llm.Overloaded, 10 * time.Minute, 1}, "cannot answer now"},
		{"C28 a wait told in the body", wire{status: 429, body: `{"error":{"code":429,"message":"m","details":[{"@type":"x"},{"retryDelay":"300s"}]}}`}, trouble{llm.Overloaded, 5 * time.Minute, 1}, "m"},
		{"C28 in a list", wire{status: 429, body: `[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"300s"}]}}]`}, trouble{llm.Overloaded, 5 * time.Minute, 1}, "m"},
		{"C29 an error with status 200", wire{body: `{"error":{"message":"m","code":502}}`}, trouble{llm.Overloaded, 0, 3}, "status 502"},
		{"C29 a refusal with status 200", wire{body: `{"error":{"message":"no such model","code":404}}`}, trouble{llm.Config, 0, 1}, "no such model"},
		{"C29 no choice and no error", wire{body: `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}`}, trouble{llm.Malformed, 0, 2}, "could not be read"},
		{"C31 an error within the choice", wire{body: `{"choices":[{"finish_reason":"error","error":{"message":"m","code":503},"message":{"content":"half"}}]}`}, trouble{llm.Overloaded, 0, 3}, "m"},
		{"C31 finish reason error alone", wire{body: completionOf(`{"role":"assistant","content":"half"}`, "error")}, trouble{llm.Overloaded, 0, 3}, "stopped with an error"},
		{"C35 page with status 502", wire{status: 502, header: map[string]string{"Content-Type": "text/html"}, body: page}, trouble{llm.Overloaded, 0, 3}, "status 502"},
		{"C35 page with status 200", wire{header: map[string]string{"Content-Type": "text/html"}, body: page}, trouble{llm.Config, 0, 1}, "web page"},
		{"C35 page within an error", wire{status: 502, body: `{"error":{"message":"upstream said: <!DOCTYPE html><html><body>gateway"}}`}, trouble{llm.Overloaded, 0, 3}, "upstream said: (a web page)"},
		{"C35 page after words", wire{status: 503, body: "no backend <html><body>gateway</body></html>"}, trouble{llm.Overloaded, 0, 3}, "status 503"},
		{"C35 page that calls itself JSON", wire{body: page}, trouble{llm.Config, 0, 1}, "web page"},
		{"C35 empty body", wire{body: ""}, trouble{llm.Overloaded, 0, 3}, "empty answer"},
		{"C35 cut body", wire{body: `{"choices":[{"mess`, short: true}, trouble{llm.Overloaded, 0, 3}, "cut off"},
		{"not JSON", wire{body: "ok"}, trouble{llm.Malformed, 0, 2}, "could not be read"},
		{"wrong key", wire{status: 401, body: `{"error":{"message":"Incorrect API key provided: sk-secret-key-1.","code":"invalid_api_key"}}`}, trouble{llm.Config, 0, 1}, "Incorrect API key"},
		{"unknown model", wire{status: 404, body: `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`}, trouble{llm.Config, 0, 1}, "check base_url"},
		{"wrong key, told as 400", wire{status: 400, body: `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`}, trouble{llm.Config, 0, 1}, "API key not valid"},
		{"unknown model, told as 400", wire{status: 400, body: `{"error":{"message":"model 'x' not found"}}`}, trouble{llm.Config, 0, 1}, "not found"},
		{"content filter", wire{body: completionOf(`{"role":"assistant","content":""}`, "content_filter")}, trouble{llm.BadRequest, 0, 1}, "content filter"},
		{"no money", wire{status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`}, trouble{llm.Quota, 0, 1}, "no quota left"},
		{"payment required", wire{status: 402, body: `{"error":{"message":"m"}}`}, trouble{llm.Quota, 0, 1}, "no quota left"},
		{"too long", wire{status: 400, body: `{"error":{"message":"m","code":"context_length_exceeded"}}`}, trouble{llm.Overflow, 0, 1}, "too long"},
		{"C25 too long, told as 500", wire{status: 500, body: `{"error":"input exceeds the available context size"}`}, trouble{llm.Overflow, 0, 1}, "too long"},
		{"server error", wire{status: 500, body: `{"error":{"message":"m"}}`}, trouble{llm.Overloaded, 0, 3}, "m"},
		{"redirect", wire{status: 307, header: map[string]string{"Location": "/v1/elsewhere"}}, trouble{llm.Config, 0, 1}, "base_url"},
		{"empty reply", wire{body: message(`{"role":"assistant","content":""}`)}, trouble{llm.Malformed, 0, 2}, "is empty"},
		{"a reply of spaces", wire{body: message(`{"role":"assistant","content":" \n\t\u00a0\u3000 "}`)}, trouble{llm.Malformed, 0, 2}, "is empty"},
		{"a reply that nobody can see", wire{body: message(`{"role":"assistant","content":"\u200b\u2060\ufeff\u0000\u202e\u00ad"}`)}, trouble{llm.Malformed, 0, 2}, "is empty"},
		{"a call that says nothing", wire{body: message(calling(`{"id":"x","type":"function","function":{"name":"","arguments":""}}`))}, trouble{llm.Malformed, 0, 2}, "is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, c.answer)
			reply, err := f.complete(question())
			if err == nil {
				t.Fatalf("reply %+v", reply)
			}
			same(t, c.want, trouble{err.Kind, err.RetryAfter, len(f.requests())})
			all := err.Error()
			for e := error(err); e != nil; e = errors.Unwrap(e) {
				all += "\n" + e.Error()
			}
			if !strings.Contains(err.Message, c.says) {
				t.Errorf("message %q does not say %q", err.Message, c.says)
			}
			if strings.Contains(all, "<html") || strings.Contains(all, "sk-secret") {
				t.Errorf("a page or a key is shown: %s", all)
			}
		})
	}
}

// Rows C26, C28, C35.
func TestRetriesEndInAReply(t *testing.T) {
	t.Parallel()
	good := wire{body: message(`{"role":"assistant","content":"b"}`)}
	for _, c := range []struct {
		name string
		bad  wire
		nap  time.Duration // 0: by the jitter
	}{
		{"C26 Retry-After", wire{status: 429, header: map[string]string{"Retry-After": "7"}, body: `{"error":{"message":"m","code":429}}`}, 7 * time.Second},
		{"C26 Retry-After in milliseconds", wire{status: 429, header: map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, body: `{}`}, 1500 * time.Millisecond},
		{"C28 delay in the body", wire{status: 429, body: `{"error":{"code":429,"message":"m","details":[{"retryDelay":"12s"}]}}`}, 12 * time.Second},
		{"C35 502", wire{status: 502, body: "<html>gateway</html>"}, 0},
		{"C35 cut off", wire{body: `{"cho`, short: true}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, c.bad, good)
			m, n := f.client(nil)
			got, err := complete(t, m, question())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "b", got.Text)
			if len(n.all) != 1 || c.nap != 0 && n.all[0] != c.nap || c.nap == 0 && (n.all[0] < firstPause/4 || n.all[0] > firstPause) {
				t.Errorf("slept %v", n.all)
			}
		})
	}
}

// Row C26.
func TestNoWaitBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{status: 429, header: map[string]string{"Retry-After": "30"}, body: `{}`})
	c, n := f.client(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := c.Complete(ctx, question())
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Overloaded || e.RetryAfter != 30*time.Second || len(n.all) != 0 {
		t.Errorf("error %v, slept %v", err, n.all)
	}
}

func TestTimeoutOfAnAttempt(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{hang: true}, wire{body: message(`{"role":"assistant","content":"b"}`)})
	c, _ := f.client(func(c *Config) { c.Timeout = time.Second })
	if got, err := complete(t, c, question()); err != nil || got.Text != "b" {
		t.Fatalf("%+v, %v", got, err)
	}
	f = newFake(t, wire{hang: true})
	c, _ = f.client(func(c *Config) { c.Timeout, c.Tries = 20*time.Millisecond, 1 })
	_, err := complete(t, c, question())
	if err == nil || err.Kind != llm.Overloaded || !strings.Contains(err.Message, "within 20ms") {
		t.Errorf("error %v", err)
	}
}

func TestStoppedByTheCaller(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{hang: true})
	c, n := f.client(nil)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := c.Complete(ctx, question())
	if !errors.Is(err, context.Canceled) || len(n.all) != 0 {
		t.Errorf("error %v, slept %v", err, n.all)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	c := New(Config{BaseURL: "http://user:pass@127.0.0.1:1/v1?key=secret", Tries: 1})
	_, err := complete(t, c, question())
	if err == nil || err.Kind != llm.Overloaded || strings.Contains(err.Error()+err.Err.Error(), "secret") || strings.Contains(err.Error(), "pass") {
		t.Errorf("error %v, %v", err, err.Err)
	}
	c = New(Config{BaseURL: "htp://127.0.0.1:1", Tries: 1})
	if _, err := complete(t, c, question()); err == nil || err.Kind != llm.Config {
		t.Errorf("error %v", err)
	}
}

// Row B67: what failed attempts used is told with the error, and when they have used
// up what there was, no other is made.
func TestB67WhatFailedAttemptsUsedIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		body     string
		most     int
		requests int
	}{
		{"no choice", `{"choices":[],"usage":{"prompt_tokens":400,"completion_tokens":200}}`, 0, 2},
		{"an error within", `{"error":{"message":"m","code":400},"usage":{"prompt_tokens":400,"completion_tokens":200}}`, 0, 1},
		{"nothing left for another", `{"choices":[{"finish_reason":"stop","message":{"content":""}}],"usage":{"prompt_tokens":400,"completion_tokens":200}}`, 600, 1},
		{"something left", `{"choices":[{"finish_reason":"stop","message":{"content":""}}],"usage":{"prompt_tokens":400,"completion_tokens":200}}`, 601, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, wire{body: c.body})
			r := question()
			r.MaxTokens = c.most
			_, err := f.complete(r)
			if err == nil {
				t.Fatal("no error")
			}
			same(t, c.requests, len(f.requests()))
			same(t, llm.Usage{Prompt: 400 * c.requests, Completion: 200 * c.requests}, err.Usage)
		})
	}
}

// The key goes to the configured server alone, and no message shows it, whatever it
// looks like.
func TestTheKeyStaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	other := newFake(t, wire{body: message(`{"role":"assistant","content":"b"}`)})
	away := map[string]string{"Location": other.url + "/chat/completions"}
	f := newFake(t, wire{status: 302, header: away}, wire{status: 307, header: away}, wire{status: 401, body: `{"error":{"message":"no such key: opaque9382"}}`})
	m, _ := f.client(func(c *Config) { c.Key = "opaque9382" })
	for range 3 {
		_, err := complete(t, m, question())
		if err == nil || err.Kind != llm.Config || strings.Contains(err.Message, "opaque9382") {
			t.Errorf("error %v", err)
		}
	}
	same(t, 0, len(other.requests()))
}

// Row B67.
func TestB67FailedAttemptsLowerTheCap(t *testing.T) {
	t.Parallel()
	f := newFake(t,
		wire{body: `{"choices":[{"finish_reason":"stop","message":{"content":""}}],"usage":{"prompt_tokens":400,"completion_tokens":200}}`},
		wire{body: message(`{"role":"assistant","content":"b"}`)})
	r := question()
	r.MaxTokens = 1000
	got, err := f.complete(r)
	if err != nil {
		t.Fatal(err)
	}
	same(t, any(400.0), f.requests()[1]["max_tokens"])
	same(t, 625, got.Usage.Total())
}

// Row C25.
func TestC25ASilentlyCutRequestIsTold(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := newFake(t, wire{body: `{"choices":[{"finish_reason":"stop","message":{"content":"b"}}],"usage":{"prompt_tokens":2051,"completion_tokens":5}}`})
	c, _ := f.client(func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	r := question()
	r.Messages[1].Text = strings.Repeat("word ", 12_000)
	got, err := complete(t, c, r)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Shrunk || !strings.Contains(log.String(), "counted=2051") {
		t.Errorf("log %q", log.String())
	}
	c, _ = f.client(func(c *Config) { c.Window = 8000 })
	_, err = complete(t, c, r)
	if err == nil || err.Kind != llm.Overflow || len(f.requests()) != 1 {
		t.Errorf("error %v after %d requests", err, len(f.requests()))
	}
}

// Row C26.
func TestRetryAfterAsADate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"Thu, 01 Jan 2026 12:00:30 GMT": 30 * time.Second,
		"Thu, 01 Jan 2026 11:00:00 GMT": 0,
		"-5":                            0,
		"soon":                          0,
		"1e300":                         0,
		"0.5":                           500 * time.Millisecond,
	} {
		same(t, want, retryAfter(http.Header{"Retry-After": {v}}, now))
	}
}

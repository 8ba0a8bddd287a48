package openai

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent/llm"
)

// Rows C22, C23, C26, C28, C29, C35: one reading for both APIs of what servers
// refuse with, and whether another try is worth it.
func TestRefusalsOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer wire
		want   trouble
		says   string
	}{
		{"forbidden", wire{status: 403, body: `{"error":{"message":"not from your country"}}`}, trouble{llm.Config, 0, 1}, "not from your country"},
		{"a page with status 403", wire{status: 403, body: "<html>Just a moment</html>"}, trouble{llm.Config, 0, 1}, "status 403"},
		{"proxy authentication", wire{status: 407, body: ``}, trouble{llm.Config, 0, 1}, "status 407"},
		{"not implemented", wire{status: 501, body: `{"error":"m"}`}, trouble{llm.Config, 0, 1}, "status 501"},
		{"too large for the proxy", wire{status: 413, body: "<html>413 Request Entity Too Large</html>"}, trouble{llm.Overflow, 0, 1}, "too long"},
		{"too large for the rate, for ever", wire{status: 429, body: `{"error":{"message":"Request too large for m on tokens per min (TPM): Limit 30000, Requested 50000.","code":"rate_limit_exceeded"}}`}, trouble{llm.Overflow, 0, 1}, "too long"},
		{"overloaded", wire{status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, trouble{llm.Overloaded, 0, 3}, "Overloaded"},
		{"Cloudflare's own status", wire{status: 524, body: "error code: 524"}, trouble{llm.Overloaded, 0, 3}, "error code: 524"},
		{"a proxy's sentence", wire{status: 503, body: "upstream connect error or disconnect/reset before headers"}, trouble{llm.Overloaded, 0, 3}, "upstream connect error"},
		{"a plain 404", wire{status: 404, body: "404 page not found\n"}, trouble{llm.Config, 0, 1}, "404 page not found; check base_url"},
		{"problem+json", wire{status: 404, body: `{"type":"about:blank","title":"Not Found","status":404,"detail":"Function x: Not found"}`}, trouble{llm.Config, 0, 1}, "Function x"},
		{"a list of errors", wire{status: 400, body: `{"success":false,"errors":[{"code":7009,"message":"m is wrong"}],"result":null}`}, trouble{llm.BadRequest, 0, 1}, "m is wrong"},
		{"error_msg", wire{status: 400, body: `{"error_code":17,"error_msg":"m is wrong"}`}, trouble{llm.BadRequest, 0, 1}, "m is wrong"},
		{"base_resp with status 200", wire{body: `{"choices":null,"base_resp":{"status_code":2013,"status_msg":"invalid params"}}`}, trouble{llm.Overloaded, 0, 3}, "invalid params"},
		{"base_resp of a wrong key", wire{body: `{"choices":null,"base_resp":{"status_code":1004,"status_msg":"login fail: check the key"}}`}, trouble{llm.Config, 0, 1}, "login fail"},
		{"base_resp of an empty account", wire{body: `{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`}, trouble{llm.Quota, 0, 1}, "no quota left"},
		{"an empty account, told as 400", wire{status: 400, body: `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to use this API."}}`}, trouble{llm.Quota, 0, 1}, "credit balance"},
		{"an empty account, told as 429", wire{status: 429, body: `{"error":{"code":"1113","message":"余额不足，请充值"}}`}, trouble{llm.Quota, 0, 1}, "余额不足"},
		{"quota without a time", wire{status: 429, body: `{"error":{"message":"You exceeded your current quota, please check your plan."}}`}, trouble{llm.Quota, 0, 1}, "no quota left"},
		{"quota that recovers", wire{status: 429, body: `{"error":{"message":"You exceeded your current quota.","details":[{"retryDelay":"300s"}]}}`}, trouble{llm.Overloaded, 5 * time.Minute, 1}, "cannot answer now"},
		{"a wait told in words", wire{status: 429, body: `{"error":{"message":"Rate limit reached. Please try again in 7m12.5s. Thank you."}}`}, trouble{llm.Overloaded, 7*time.Minute + 12500*time.Millisecond, 1}, "cannot answer now"},
		{"a wait beyond all measure", wire{status: 429, header: map[string]string{"Retry-After": "999999"}, body: `{}`}, trouble{llm.Overloaded, longestRetry, 1}, "cannot answer now"},
		{"the provider behind a gateway", wire{status: 400, body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"maximum context length is 8192\"}","provider_name":"x"}}}`}, trouble{llm.Overflow, 0, 1}, "8192"},
		{"a model that knows no tools", wire{status: 400, body: `{"error":{"message":"registry/library/m does not support tools"}}`}, trouble{llm.Config, 0, 1}, "does not support tools"},
		{"a filter before the model", wire{status: 400, body: `{"error":{"code":"content_filter","message":"The prompt was filtered."}}`}, trouble{llm.BadRequest, 0, 1}, "filtered"},
		{"a key echoed", wire{status: 401, body: `{"message":"Invalid token hf_abcdefghijkl"}`}, trouble{llm.Config, 0, 1}, "Invalid token [key]"},
		{"no content", wire{status: 204}, trouble{llm.Overloaded, 0, 3}, "empty answer"},
		{"white space alone", wire{body: "\n\n  \n"}, trouble{llm.Overloaded, 0, 3}, "empty answer"},
		{"an array", wire{body: `[]`}, trouble{llm.Malformed, 0, 2}, "could not be read"},
		{"another service", wire{body: `{"status":"ok"}`}, trouble{llm.Malformed, 0, 2}, "could not be read"},
	} {
		for _, kind := range []API{Chat, Responses} {
			t.Run(c.name+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				f := newFake(t, c.answer)
				m, _ := f.client(func(cfg *Config) { cfg.API = kind })
				reply, err := complete(t, m, question())
				if err == nil {
					t.Fatalf("reply %+v", reply)
				}
				same(t, c.want, trouble{err.Kind, err.RetryAfter, len(f.requests())})
				if !strings.Contains(err.Message, c.says) || strings.Contains(err.Message, "<html") || strings.Contains(err.Message, "hf_a") {
					t.Errorf("message %q does not say %q", err.Message, c.says)
				}
			})
		}
	}
}

// Row C26: the date is by the server's clock, which may not be ours.
func TestRetryAfterByTheServersClock(t *testing.T) {
	t.Parallel()
	h := http.Header{"Date": {"Thu, 01 Jan 2026 12:00:00 GMT"}, "Retry-After": {"Thu, 01 Jan 2026 12:00:30 GMT"}}
	same(t, 30*time.Second, retryAfter(h, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
	for words, want := range map[string]time.Duration{
		"Please retry in 850ms.": 850 * time.Millisecond, "try again after 20 seconds": 20 * time.Second,
		"try again in 1h2m3s": time.Hour + 2*time.Minute + 3*time.Second, "try again later": 0, "try again in 99999999999999999999s": 0,
	} {
		same(t, want, delayTold(words))
	}
}

// serving is a client of a server that answers by hand.
func serving(t *testing.T, answer http.HandlerFunc, change func(*Config)) *Client {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	m, _ := (&fake{t: t, url: srv.URL + "/v1"}).client(change)
	return m
}

// A server that sends a sign of life for ever ends by our clock, not by its own.
func TestASlowDripEnds(t *testing.T) {
	t.Parallel()
	m := serving(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(": ping\n\n")); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	}, func(c *Config) { c.Stream, c.Timeout, c.Tries = true, 60*time.Millisecond, 1 })
	_, err := complete(t, m, question())
	if err == nil || err.Kind != llm.Overloaded {
		t.Errorf("error %v", err)
	}
}

// A body without end is read up to a bound.
func TestABodyWithoutEnd(t *testing.T) {
	t.Parallel()
	const most = 8 * maxAnswer // of a client that knows no bound
	lines, sent := strings.Repeat("\n", 1<<16), atomic.Int64{}
	m := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		for sent.Load() < most {
			if _, err := io.WriteString(w, lines); err != nil {
				return
			}
			sent.Add(int64(len(lines)))
		}
	}, func(c *Config) { c.Timeout, c.Tries = time.Minute, 1 })
	if _, err := complete(t, m, question()); err == nil || err.Kind != llm.Malformed || sent.Load() >= most {
		t.Errorf("error %v after %d bytes", err, sent.Load())
	}
}

// Compression is undone, whether the headers tell of it or not, and a body that
// grows beyond all measure is not read to its end.
func TestCompressedAndLargeAnswers(t *testing.T) {
	t.Parallel()
	zipped := func(body string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(body)) // a buffer takes all
		_ = z.Close()
		return b.Bytes()
	}
	good := message(`{"role":"assistant","content":"b"}`)
	for _, c := range []struct {
		name   string
		body   []byte
		header string
		kind   llm.Kind
	}{
		{"told", zipped(good), "gzip", ""},
		{"not told", zipped(good), "", ""},
		{"told once, done twice", zipped(string(zipped(good))), "gzip", ""},
		{"a bomb", zipped(strings.Repeat(" ", maxAnswer+2)), "gzip", llm.Malformed},
		{"a bomb, not told", zipped(strings.Repeat(" ", maxAnswer+2)), "", llm.Malformed},
		{"too large", []byte(strings.Repeat(" ", maxAnswer+2)), "", llm.Malformed},
		{"half of it", zipped(good)[:40], "", llm.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.header != "" {
					w.Header().Set("Content-Encoding", c.header)
				}
				_, _ = w.Write(c.body) // the client may have read enough
			}, func(cfg *Config) { cfg.Tries = 1 })
			got, err := complete(t, m, question())
			switch {
			case c.kind == "" && (err != nil || got.Text != "b"):
				t.Errorf("%+v, %v", got, err)
			case c.kind != "" && (err == nil || err.Kind != c.kind):
				t.Errorf("error %v", err)
			}
		})
	}
}

// A key that no header can carry is a matter of the set-up, and is not shown.
func TestAKeyThatCannotBeSent(t *testing.T) {
	t.Parallel()
	f := newFake(t, plainAnswer)
	m, _ := f.client(func(c *Config) { c.Key = " sk-secret-key-1\n" })
	if _, err := complete(t, m, question()); err != nil {
		t.Fatal(err)
	}
	same(t, "Bearer sk-secret-key-1", f.head[0].Get("Authorization"))
	m, _ = f.client(func(c *Config) { c.Key = "sk-secret\nkey" })
	_, err := complete(t, m, question())
	if err == nil || err.Kind != llm.Config || strings.Contains(err.Error()+err.Err.Error(), "sk-secret") {
		t.Errorf("error %v", err)
	}
}

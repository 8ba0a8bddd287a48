package httpapi_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
	"countersign/tools/httpapi"
)

const schema = `{"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"number"}},"required":["order_id"]}`

// refund declares the tool that most tests call.
func refund(base string) httpapi.Tool {
	return httpapi.Tool{
		Name: "refund", Description: "Refund an order.", Method: "POST", URL: base + "/orders/{order_id}/refund",
		Headers: map[string]string{"Authorization": "Bearer topsecret-token"}, Parameters: json.RawMessage(schema),
		Idempotent: true, PrivateNetwork: true,
	}
}

func newTool(t *testing.T, cfg httpapi.Tool) tools.Tool {
	t.Helper()
	tool, err := httpapi.New(cfg, httpapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func args(text string) tools.Call {
	return tools.Call{Run: "run1", Step: "4", Args: json.RawMessage(text)}
}

func failure(t *testing.T, err error, code string) *tools.Failure {
	t.Helper()
	f, ok := errors.AsType[*tools.Failure](err)
	if !ok || f.Code != code {
		t.Fatalf("error = %v, want a Failure %s", err, code)
	}
	return f
}

func TestCallSendsTheDeclaredRequest(t *testing.T) {
	t.Parallel()
	var got []string
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method, r.RequestURI, r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"z":1,"id":"<r-1>","token":"topsecret-token"}`))
	})
	result, err := newTool(t, refund(base)).Call(t.Context(), args(`{"order_id":"7 b","amount":20.50}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"POST", "/orders/7%20b/refund", "run1-4", "Bearer topsecret-token", "application/json", `{"amount":20.50}`}, got); diff != "" {
		t.Error(diff)
	}
	want := tools.Result{
		Text:    "HTTP 200 OK\n{\n  \"id\": \"<r-1>\",\n  \"token\": \"•••\",\n  \"z\": 1\n}",
		Summary: "POST /orders/7%20b/refund: HTTP 200 OK",
		Effect:  "refund: POST /orders/7%20b/refund: HTTP 200 OK",
		Sources: []string{"POST " + base + "/orders/7%20b/refund"},
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
}

// TestStatus: which answers are results, which are failures, and which leave the outcome open.
func TestStatus(t *testing.T) {
	t.Parallel()
	const ok, fail, unknown = "result", "failure", "unknown"
	for _, c := range []struct {
		status               int
		effects, final, read string
	}{
		{200, ok, ok, ok}, {201, ok, ok, ok}, {303, ok, ok, fail}, {302, unknown, unknown, fail}, {307, fail, fail, fail}, {400, fail, fail, fail},
		{404, fail, fail, fail}, {409, fail, fail, fail}, {429, fail, fail, fail}, {500, unknown, fail, fail}, {503, unknown, fail, fail},
	} {
		base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte("because"))
		})
		final, read := refund(base), refund(base)
		final.FinalErrors = true
		read.Method = "GET"
		for cfg, want := range map[*httpapi.Tool]string{ptr(refund(base)): c.effects, &final: c.final, &read: c.read} {
			_, err := newTool(t, *cfg).Call(t.Context(), args(`{"order_id":"7"}`))
			got := ok
			if f, known := errors.AsType[*tools.Failure](err); known {
				got = fail
				if c.status >= 400 && (!strings.Contains(f.Message, "because") || !strings.Contains(f.Message, "Retry-After: 7")) {
					t.Errorf("%d: message %q", c.status, f.Message)
				}
			} else if err != nil {
				got = unknown
			}
			if got != want {
				t.Errorf("%s %d (final %v): %s, want %s", cfg.Method, c.status, cfg.FinalErrors, got, want)
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

// rawServer answers each connection with a function and counts connections.
func rawServer(t *testing.T, answer func(c net.Conn, n int32)) (base string, count *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	count = new(atomic.Int32)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := count.Add(1)
			go answer(c, n)
		}
	}()
	return "http://" + l.Addr().String(), count
}

// readRequest reads the head and the body of a small request.
func readRequest(c net.Conn) {
	buf := make([]byte, 4096)
	_, _ = c.Read(buf)
}

// TestNothingIsSentTwice: whatever way the service drops the connection, there is one
// attempt, though the request carries an Idempotency-Key, with which Go's transport
// would otherwise feel free to repeat it.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(c net.Conn){
		"closed after the request":  func(c net.Conn) { readRequest(c); c.Close() },
		"closed before the request": func(c net.Conn) { c.Close() },
		"reset": func(c net.Conn) {
			readRequest(c)
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		},
		"half an answer": func(c net.Conn) { readRequest(c); _, _ = c.Write([]byte("HTTP/1.1 200")); c.Close() },
		"no answer of HTTP": func(c net.Conn) {
			readRequest(c)
			_, _ = c.Write([]byte("hello\r\n\r\n"))
			c.Close()
		},
	} {
		base, count := rawServer(t, func(c net.Conn, _ int32) { drop(c) })
		tool := newTool(t, refund(base))
		_, err := tool.Call(t.Context(), args(`{"order_id":"7"}`))
		if _, known := errors.AsType[*tools.Failure](err); err == nil || known {
			t.Errorf("%s: error %v, want one that leaves the outcome open", name, err)
		}
		if n := count.Load(); n != 1 {
			t.Errorf("%s: %d connections, want 1", name, n)
		}
	}
}

// TestConnectionsAreNotUsedAgain: the second call must not find a connection that the
// service is about to close.
func TestConnectionsAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	var addresses []string
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) { addresses = append(addresses, r.RemoteAddr) })
	tool := newTool(t, refund(base))
	for range 2 {
		if _, err := tool.Call(t.Context(), args(`{"order_id":"7"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if len(addresses) != 2 || addresses[0] == addresses[1] {
		t.Errorf("connections: %v", addresses)
	}
}

func TestRefusedConnectionIsKnownNotToHaveHappened(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = newTool(t, refund("http://"+l.Addr().String())).Call(t.Context(), args(`{"order_id":"7"}`))
	failure(t, err, "unavailable")
}

func TestTimeoutLeavesTheOutcomeOpenOnlyWithEffects(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	base := serve(t, func(_ http.ResponseWriter, _ *http.Request) { <-release })
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := newTool(t, refund(base)).Call(ctx, args(`{"order_id":"7"}`))
	if _, known := errors.AsType[*tools.Failure](err); known || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want an open outcome", err)
	}
	read := refund(base)
	read.Method = "GET"
	_, err = newTool(t, read).Call(ctx, args(`{"order_id":"7"}`))
	failure(t, err, "timeout")
}

func TestPrivateAddressesMustBeDeclared(t *testing.T) {
	t.Parallel()
	called := false
	base := serve(t, func(http.ResponseWriter, *http.Request) { called = true })
	for _, url := range []string{base, strings.Replace(base, "127.0.0.1", "localhost", 1), strings.Replace(base, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		cfg := refund(url)
		cfg.PrivateNetwork = false
		cfg.Preview = &httpapi.Read{URL: url + "/orders/{order_id}"}
		tool := newTool(t, cfg)
		_, err := tool.Call(t.Context(), args(`{"order_id":"7"}`))
		failure(t, err, "forbidden")
		_, err = tool.(tools.Previewer).Preview(t.Context(), args(`{"order_id":"7"}`))
		failure(t, err, "forbidden")
	}
	for _, metadata := range []string{"169.254.169.254", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]"} {
		_, err := newTool(t, refund("http://"+metadata)).Call(t.Context(), args(`{"order_id":"7"}`))
		failure(t, err, "forbidden")
	}
	// Addresses written as one number, in hex or in octal are names for us; if the machine's
	// resolver reads them as addresses, those are refused when they are dialled.
	for _, number := range []string{"2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "2130706433", "0x7f.1"} {
		cfg := refund("http://" + number)
		cfg.PrivateNetwork = false
		_, err := newTool(t, cfg).Call(t.Context(), args(`{"order_id":"7"}`))
		if f, ok := errors.AsType[*tools.Failure](err); !ok || f.Code != "forbidden" && f.Code != "unavailable" {
			t.Errorf("%s: %v", number, err)
		}
	}
	if called {
		t.Error("the service was reached")
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxied := false
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { proxied = true })
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	cfg := refund("http://shop.invalid")
	_, err := newTool(t, cfg).Call(t.Context(), args(`{"order_id":"7"}`))
	failure(t, err, "unavailable")
	if proxied {
		t.Error("the proxy got the request")
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	status := "paid"
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" || r.URL.Path == "/orders/404" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if r.Header.Get("Authorization") == "" || r.Header.Get("Idempotency-Key") != "" || r.URL.RawQuery != "" {
			t.Errorf("read sent with %v %q", r.Header, r.URL.RawQuery)
		}
		_, _ = w.Write([]byte(`{"status":"` + status + `","total":20.10,"customer":{"names":["Ana"]},"secret":"topsecret-token"}`))
	})
	cfg := refund(base)
	cfg.Preview = &httpapi.Read{URL: base + "/orders/{order_id}", Fields: []string{"status", "total", "customer.names.0", "nothing", "secret"}}
	tool := newTool(t, cfg).(tools.Previewer)
	got, err := tool.Preview(t.Context(), args(`{"order_id":"7","amount":20.1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := tools.Preview{
		Summary: "POST " + base + "/orders/7/refund",
		Detail: "POST " + base + "/orders/7/refund\n\n{\n  \"amount\": 20.1\n}\n\nNow:\nstatus: \"paid\"\ntotal: 20.10\n" +
			"customer.names.0: \"Ana\"\nnothing: (not in the answer)\nsecret: \"•••\"",
		Material: map[string]string{
			"method": "POST", "url": base + "/orders/7/refund", "body": `{"amount":20.1}`,
			"now:status": `"paid"`, "now:total": "20.10", "now:customer.names.0": `"Ana"`, "now:nothing": "(not in the answer)", "now:secret": `"•••"`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	status = "refunded"
	again, err := tool.Preview(t.Context(), args(`{"order_id":"7","amount":20.1}`))
	if err != nil || again.Material["now:status"] != `"refunded"` {
		t.Errorf("after a change: %v, %v", again.Material, err)
	}
	_, err = tool.Preview(t.Context(), args(`{"order_id":"404"}`))
	failure(t, err, "http_404")
}

// TestHeadersStayWithTheirOrigin: a preview of another origin gets no secrets.
func TestHeadersStayWithTheirOrigin(t *testing.T) {
	t.Parallel()
	var seen http.Header
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { seen = r.Header; _, _ = w.Write([]byte("{}")) })
	cfg := refund("http://127.0.0.1:1")
	cfg.Preview = &httpapi.Read{URL: other + "/orders/{order_id}", Fields: []string{"status"}}
	if _, err := newTool(t, cfg).(tools.Previewer).Preview(t.Context(), args(`{"order_id":"7"}`)); err != nil {
		t.Fatal(err)
	}
	if seen == nil || seen.Get("Authorization") != "" {
		t.Errorf("headers at the other origin: %v", seen)
	}
}

func TestLongAndOddAnswers(t *testing.T) {
	t.Parallel()
	body := ""
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	cfg := refund(base)
	cfg.Method, cfg.MaxBytes = "GET", 10
	tool := newTool(t, cfg)
	for given, want := range map[string]string{
		"":              "HTTP 200 OK\n",
		"plain":         "HTTP 200 OK\nplain",
		"张三张三":          "HTTP 200 OK\n张三张\n(cut after 10 bytes)",
		"{\"a\":12345}": "HTTP 200 OK\n{\"a\":12345\n(cut after 10 bytes)",
		"\x89PNG\x00":   "HTTP 200 OK\n(5 bytes of image/png, not text)",
		"{\"a\":1e400}": "HTTP 200 OK\n{\"a\":1e400\n(cut after 10 bytes)",
		"[1,2]":         "HTTP 200 OK\n[\n  1,\n  2\n]",
	} {
		body = given
		got, err := tool.Call(t.Context(), args(`{"order_id":"7"}`))
		if err != nil || got.Text != want && !strings.Contains(given, "PNG") {
			t.Errorf("%q: %q, %v; want %q", given, got.Text, err, want)
		}
		if strings.Contains(given, "PNG") && !strings.Contains(got.Text, "not text") {
			t.Errorf("%q: %q", given, got.Text)
		}
	}
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*httpapi.Tool){
		"method":           func(c *httpapi.Tool) { c.Method = "CONNECT" },
		"risk":             func(c *httpapi.Tool) { c.Risk = "none" },
		"host argument":    func(c *httpapi.Tool) { c.URL = "https://{order_id}/" },
		"header argument":  func(c *httpapi.Tool) { c.Headers = map[string]string{"X-Order": "{order_id}"} },
		"header injection": func(c *httpapi.Tool) { c.Headers = map[string]string{"X-A": "a\r\nb: c"} },
		"header name":      func(c *httpapi.Tool) { c.Headers = map[string]string{"X A": "a"} },
		"host header":      func(c *httpapi.Tool) { c.Headers = map[string]string{"host": "a"} },
		"key header":       func(c *httpapi.Tool) { c.Headers = map[string]string{"Idempotency-Key": "a"} },
		"schema":           func(c *httpapi.Tool) { c.Parameters = json.RawMessage(`{"type":"array"}`) },
		"query name":       func(c *httpapi.Tool) { c.Method, c.URL = "GET", "https://a.example/{order_id}?Amount=1" },
		"preview method":   func(c *httpapi.Tool) { c.Preview = &httpapi.Read{Method: "POST", URL: "https://a.example/"} },
		"preview url":      func(c *httpapi.Tool) { c.Preview = &httpapi.Read{URL: "https://a.example/{amount}"} },
	} {
		cfg := refund("https://a.example")
		spoil(&cfg)
		_, err := httpapi.New(cfg, httpapi.Options{})
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: the error holds a secret: %v", name, err)
		}
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	post := newTool(t, refund("https://a.example")).Spec()
	if post.Risk != tools.High || !post.Effects || post.Egress || !post.Idempotent || !strings.Contains(string(post.Parameters), `"additionalProperties":false`) {
		t.Errorf("POST: %+v", post)
	}
	cfg := refund("https://a.example")
	cfg.Method, cfg.PrivateNetwork = "get", false
	if get := newTool(t, cfg).Spec(); get.Risk != tools.Low || get.Effects || !get.Egress || !get.Parallel {
		t.Errorf("GET: %+v", get)
	}
	cfg.Method, cfg.Risk, cfg.Egress = "POST", tools.Low, ptr(false)
	if search := newTool(t, cfg).Spec(); search.Effects || search.Egress {
		t.Errorf("reading POST: %+v", search)
	}
}

// TestSecretsInTheAddress: a credential that has to stand in the query is sent and not shown.
func TestSecretsInTheAddress(t *testing.T) {
	t.Parallel()
	var query string
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) { query = r.URL.RawQuery })
	cfg := refund(base)
	cfg.URL += "?api_key=s3cr3t-value&plain=visible"
	tool := newTool(t, cfg)
	shown, err := tool.(tools.Previewer).Preview(t.Context(), args(`{"order_id":"7"}`))
	if err != nil || strings.Contains(shown.Detail+shown.Summary+shown.Material["url"], "s3cr3t") || !strings.Contains(shown.Detail, "plain=visible") {
		t.Errorf("%+v, %v", shown, err)
	}
	got, err := tool.Call(t.Context(), args(`{"order_id":"7"}`))
	if err != nil || query != "api_key=s3cr3t-value&plain=visible" || strings.Contains(strings.Join(got.Sources, "")+got.Effect, "s3cr3t") {
		t.Errorf("%q, %+v, %v", query, got, err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	var proto string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proto = r.Proto }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // the refused handshake
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := newTool(t, refund(s.URL)).Call(t.Context(), args(`{"order_id":"7"}`))
	if f := failure(t, err, "unavailable"); !strings.Contains(f.Message, "certificate is not trusted") || proto != "" {
		t.Errorf("untrusted: %v, request arrived by %q", f, proto)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	tool, err := httpapi.New(refund(s.URL), httpapi.Options{Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Call(t.Context(), args(`{"order_id":"7"}`)); err != nil || proto != "HTTP/1.1" {
		t.Errorf("trusted: %v, by %q", err, proto)
	}
}

// TestBrokenBody: once the status has come, a lost rest does not make the outcome unknown.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	base, _ := rawServer(t, func(c net.Conn, _ int32) {
		readRequest(c)
		_, _ = c.Write([]byte("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf"))
		c.Close()
	})
	got, err := newTool(t, refund(base)).Call(t.Context(), args(`{"order_id":"7"}`))
	if err != nil || got.Text != "HTTP 201 Created\nhalf\n(the answer broke off here)" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

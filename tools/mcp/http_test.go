package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

// freePort gives a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// serveEverything starts the reference server over streamable HTTP and waits for it.
func serveEverything(t *testing.T, port int) (stop func()) {
	t.Helper()
	command := nodeServer(t, "server-everything", "streamableHttp")
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"PORT=" + strconv.Itoa(port)}
	ownGroup(cmd)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() { killGroup(cmd); _ = cmd.Wait() }
	t.Cleanup(stop)
	listening := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), strconv.Itoa(port)) {
				listening <- true
			}
		}
	}()
	select {
	case <-listening:
	case <-time.After(2 * time.Minute):
		t.Fatal("the server does not start")
	}
	return stop
}

// Down at the start, then there, then dead, then there again: over a server that
// keeps sessions.
func TestEverythingOverHTTP(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	s := begun(t, Config{Name: "all", URL: "http://127.0.0.1:" + strconv.Itoa(port) + "/mcp", Trusted: true, pace: pace{
		first: 20 * time.Millisecond, longest: 100 * time.Millisecond, connect: 20 * time.Second, patience: 10 * time.Second, recheck: time.Hour,
	}})
	eventually(t, "a refused connection", func() bool { return strings.Contains(s.Status().Error, "cannot be reached") })
	if len(s.Tools()) > 0 {
		t.Error("a server that is down has tools")
	}
	stop := serveEverything(t, port)
	echo := func(text string) {
		t.Helper()
		if r, err := call(t, s, "all_echo", `{"message":"`+text+`"}`); err != nil || r.Text != "Echo: "+text {
			t.Error(r, err)
		}
	}
	echo("one")
	r, err := call(t, s, "all_trigger-elicitation-request", `{}`)
	if err != nil || !strings.Contains(r.Text, "The MCP server all asks: «") {
		t.Error(r.Text, err)
	}
	stop()
	serveEverything(t, port)
	echo("two") // the session is forgotten; the call finds out before it is sent
}

// overHTTP serves a local server by the SDK's handler, behind a handler of the test.
func overHTTP(t *testing.T, l *local, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return l.Server }, nil)
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return server.URL
}

// calls says whether a request is a call of a tool. The body stays readable.
func calls(r *http.Request) bool {
	peeked := bufio.NewReaderSize(r.Body, 1<<16)
	r.Body = struct {
		*bufio.Reader
		closer
	}{peeked, closer{}}
	head, _ := peeked.Peek(int(max(0, min(r.ContentLength, 1<<15))))
	return strings.Contains(string(head), `"tools/call"`)
}

type closer struct{}

func (closer) Close() error { return nil }

func TestHeadersGoToTheServer(t *testing.T) {
	t.Parallel()
	l := newLocal(nil)
	l.add(&mcp.Tool{Name: "hello"}, says("the token is t0ken-of-test"))
	url := overHTTP(t, l, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer t0ken-of-test" {
				t.Errorf("%s without the header", r.Method)
			}
			next.ServeHTTP(w, r)
		})
	})
	s := connect(t, Config{URL: url, Headers: map[string]string{"Authorization": "Bearer t0ken-of-test"}})
	if r, err := call(t, s, "srv_hello", `{}`); err != nil || r.Text != "the token is •••" {
		t.Error(r, err)
	}
}

// What HTTP can answer to a call, and what that means for a call with effects.
func TestStatusOfACall(t *testing.T) {
	t.Parallel()
	drop := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		code   string // of a failure; empty: the outcome is unknown
	}{
		"not allowed": {status(http.StatusUnauthorized), "http_401"},
		"too many":    {status(http.StatusTooManyRequests), "http_429"},
		"broken":      {status(http.StatusInternalServerError), ""},
		"away":        {status(http.StatusServiceUnavailable), ""},
		"dropped":     {drop, ""},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, ""},
		"half an answer": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":`))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int64
			l := newLocal(nil)
			l.add(&mcp.Tool{Name: "act"}, says("done"))
			url := overHTTP(t, l, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/other" {
						t.Error("the redirect was followed")
					}
					if calls(r) {
						count.Add(1)
						c.answer(w, r)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			_, err := call(t, connect(t, Config{URL: url}), "srv_act", `{}`)
			var lost *LostError
			if c.code != "" {
				wantFailure(t, err, c.code)
			} else if !errors.As(err, &lost) || strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("got %v", err)
			}
			if count.Load() != 1 {
				t.Errorf("it was sent %d times", count.Load())
			}
		})
	}
}

// A server that cannot be dialled has not got the call.
func TestCallThatWasNotSent(t *testing.T) {
	t.Parallel()
	l := newLocal(nil)
	l.add(&mcp.Tool{Name: "act"}, says("done"))
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return l.Server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	slow := quick
	slow.patience = 200 * time.Millisecond
	s := connect(t, Config{URL: server.URL, pace: slow})
	tool := find(t, s, "srv_act")
	server.CloseClientConnections()
	server.Close()
	_, err := tool.Call(t.Context(), tools.Call{Args: json.RawMessage(`{}`)})
	wantFailure(t, err, "unavailable")
	if names := names(s.Tools()); len(names) != 1 {
		t.Error("tools leave with a server that is down:", names)
	}
}

func TestDeadlineOfACall(t *testing.T) {
	t.Parallel()
	l := newLocal(nil)
	cancelled := make(chan struct{})
	l.add(&mcp.Tool{Name: "act"}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	})
	s := connect(t, Config{URL: overHTTP(t, l, nil)})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := find(t, s, "srv_act").Call(ctx, tools.Call{})
	if _, ok := errors.AsType[*LostError](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	select {
	case <-cancelled:
	case <-time.After(time.Minute):
		t.Error("the server was not told")
	}
}

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

// roleVariable makes this test binary a server, which plays the role it names.
const roleVariable = "COUNTERSIGN_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// quick is a pace for tests.
var quick = pace{
	first: 5 * time.Millisecond, longest: 50 * time.Millisecond, connect: 20 * time.Second,
	patience: 10 * time.Second, idle: time.Hour, recheck: 10 * time.Millisecond, settle: time.Millisecond,
}

// nodeServer gives the command of one of the servers that others wrote.
func nodeServer(t *testing.T, name string, args ...string) []string {
	t.Helper()
	script, err := filepath.Abs("testdata/servers/node_modules/@modelcontextprotocol/" + name + "/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(script)
	node, absent := exec.LookPath("node")
	if err := errors.Join(missing, absent); err != nil {
		if os.Getenv("COUNTERSIGN_MCP") == "" {
			t.Skip("the servers are not installed: npm ci in tools/mcp/testdata/servers")
		}
		t.Fatal(err)
	}
	return append([]string{node, script}, args...)
}

// connect starts a server and waits for its tools.
func connect(t *testing.T, cfg Config) *Server {
	t.Helper()
	s := begun(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

func begun(t *testing.T, cfg Config) *Server {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "srv"
	}
	if cfg.pace == (pace{}) {
		cfg.pace = quick
	}
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// find waits for a tool that the server may list a moment later.
func find(t *testing.T, s *Server, name string) tools.Tool {
	t.Helper()
	var found tools.Tool
	eventually(t, "the tool "+name, func() bool {
		for _, tool := range s.Tools() {
			if tool.Spec().Name == name {
				found = tool
			}
		}
		return found != nil
	})
	return found
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func names(ts []tools.Tool) []string {
	var out []string
	for _, t := range ts {
		out = append(out, t.Spec().Name)
	}
	return out
}

func call(t *testing.T, s *Server, name, args string) (tools.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return find(t, s, name).Call(ctx, tools.Call{Run: "r1", Step: "s1", Args: json.RawMessage(args)})
}

// wantFailure asks for a known outcome with a code, and gives its text.
func wantFailure(t *testing.T, err error, code string) string {
	t.Helper()
	f, ok := errors.AsType[*tools.Failure](err)
	if !ok || f.Code != code {
		t.Fatalf("got %v, want a failure %s", err, code)
	}
	return f.Message
}

// local is a server in this process, over the SDK's in-memory transport.
type local struct {
	*mcp.Server
	mu    sync.Mutex
	links int
}

func newLocal(opt *mcp.ServerOptions) *local {
	return &local{Server: mcp.NewServer(&mcp.Implementation{Name: "local", Version: "1.0"}, opt)}
}

// link connects to it anew each time.
func (l *local) link() (link, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.links++
	here, there := mcp.NewInMemoryTransports()
	ctx, kill := context.WithCancel(context.Background())
	go func() { _ = l.Run(ctx, there) }()
	return link{transport: tracing{here}, kill: kill}, nil
}

// config is of a session with it.
func (l *local) config() Config { return Config{Name: "srv", link: l.link} }

// add lists a tool that does f.
func (l *local) add(tool *mcp.Tool, f mcp.ToolHandler) {
	if tool.InputSchema == nil {
		tool.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	l.AddTool(tool, f)
}

func says(text string) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
}

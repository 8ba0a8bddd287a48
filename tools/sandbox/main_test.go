package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"countersign/tools"
	"countersign/tools/sandbox"
	"countersign/tools/sandbox/sandboxtest"
)

// leaked stands in the environment of the engine and of the bot, and must stay there.
const leaked = "leaked-marker"

// engine is the real one that all tests of the package share; nil where it may be missing.
var engine *sandboxtest.Engine

// engineErr says why there is none.
var engineErr error

func TestMain(m *testing.M) {
	if host := os.Getenv("SANDBOX_TEST_CHILD"); host != "" {
		runUntilKilled(host)
		return
	}
	os.Exit(withEngine(m))
}

func withEngine(m *testing.M) int {
	engine, engineErr = sandboxtest.Start(context.Background(), "HTTP_PROXY=http://"+leaked, "https_proxy=http://"+leaked, "SECRET="+leaked)
	if engineErr != nil && (os.Getenv("COUNTERSIGN_SANDBOX") != "" || !errors.Is(engineErr, sandboxtest.ErrMissing)) {
		fmt.Fprintln(os.Stderr, engineErr)
		return 1
	}
	code := m.Run()
	if engine != nil {
		if err := engine.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// runUntilKilled is a bot that is killed in the middle of a command.
func runUntilKilled(host string) {
	t, _, err := sandbox.New(context.Background(), sandbox.Config{Host: host, Image: sandboxtest.Image, Label: "killed", Timeout: time.Minute})
	if err == nil {
		_, err = t.Call(context.Background(), call("1", "sleep 1000"))
	}
	fmt.Fprintln(os.Stderr, err)
}

// realEngine gives the engine to a test, or skips the test where nothing demands one.
func realEngine(t *testing.T) *sandboxtest.Engine {
	t.Helper()
	if engine == nil {
		t.Skip(engineErr)
	}
	return engine
}

// start makes a sandbox on the real engine.
func start(t *testing.T, change ...func(*sandbox.Config)) *sandbox.Sandbox {
	t.Helper()
	e := realEngine(t)
	cfg := sandbox.Config{Host: e.Host, Image: e.Image, Memory: 64 << 20, Tmp: 8 << 20, Timeout: time.Minute, Label: t.Name(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, f := range change {
		f(&cfg)
	}
	return open(t, cfg)
}

func open(t *testing.T, cfg sandbox.Config) *sandbox.Sandbox {
	t.Helper()
	tool, closer, err := sandbox.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	})
	s, ok := tool.(*sandbox.Sandbox)
	if !ok {
		t.Fatalf("New returned a %T", tool)
	}
	return s
}

func call(step, command string) tools.Call {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return tools.Call{Run: "run", Step: step, Asker: "U1", Args: args}
}

// run runs a command that must end by itself and returns what the model reads.
func run(t *testing.T, s *sandbox.Sandbox, command string) string {
	t.Helper()
	result, err := s.Call(t.Context(), call(t.Name(), command))
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return result.Text
}

// failure runs a command that must not succeed.
func failure(t *testing.T, s tools.Tool, command string) *tools.Failure {
	t.Helper()
	result, err := s.Call(t.Context(), call(t.Name(), command))
	known, ok := errors.AsType[*tools.Failure](err)
	if !ok {
		t.Fatalf("%s: result %q, error %v; want a known failure", command, result.Text, err)
	}
	return known
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q must not be in:\n%s", part, text)
		}
	}
}

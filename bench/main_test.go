package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/agent/llm"
	"countersign/internal/apptest"
	"countersign/internal/id"
	"countersign/internal/store/storetest"
)

// TestMain brings a Postgres server, whose writes do not wait for the disk. To
// measure one that does, name it in TEST_DATABASE_URL.
func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// script is the model of the scenarios: it finds its place by counting results, so
// that it keeps no state.
type script struct{}

// Complete plays the scene that the request names: "calls TOOL N", or "restart".
func (script) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	scene, done, rejected := "", 0, false
	for i := range r.Messages {
		switch m := &r.Messages[i]; m.Role {
		case llm.User:
			if scene == "" {
				scene = m.Text
			}
		case llm.Tool:
			done++
			rejected = rejected || strings.Contains(m.Text, "REJECTED")
		}
	}
	usage := llm.Usage{Prompt: 10, Completion: 5}
	var tool string
	var n int
	if _, err := fmt.Sscanf(scene, "calls %s %d", &tool, &n); err != nil {
		tool, n = "restart_service", 1
	}
	switch {
	case done < n:
		return llm.Reply{Calls: []llm.Call{{ID: id.Call(), Name: tool, Arguments: call(tool, done+1)}}, Usage: usage}, nil
	case rejected:
		return llm.Reply{Text: "rejected", Usage: usage}, nil
	}
	return llm.Reply{Text: fmt.Sprintf("done after %d", done), Usage: usage}, nil
}

func call(tool string, step int) string {
	in := map[string]any{"step": step}
	switch tool {
	case "append_note":
		in["id"] = "x"
	case "restart_service":
		in = map[string]any{"id": "x"}
	case "read_file":
		in = map[string]any{"path": "missing.txt"}
	case "calculate_stats":
		in = map[string]any{"numbers": []int{3, 1, 4, step}}
	}
	text, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// databases are what every test and measurement runs on.
func databases() map[string]func(tb testing.TB) string {
	return map[string]func(tb testing.TB) string{
		"sqlite":   func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "bench.db") },
		"postgres": apptest.Postgres,
	}
}

func open(tb testing.TB, c Config) *Engine {
	tb.Helper()
	if c.Model == nil && c.ModelURL == "" {
		c.Model = script{}
	}
	e, err := Open(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}

func must(tb testing.TB, want Outcome) func(Outcome, error) {
	return func(got Outcome, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		if got.Status != want.Status || want.Final != "" && got.Final != want.Final {
			tb.Fatalf("got %+v, want %+v", got, want)
		}
	}
}

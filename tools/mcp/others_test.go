package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
)

// The reference server that shows every feature, written by the protocol's authors.
func TestEverything(t *testing.T) {
	t.Parallel()
	var progress atomic.Int64
	s := connect(t, Config{
		Name: "all", Command: nodeServer(t, "server-everything", "stdio"), Trusted: true,
		Env:      map[string]string{"API_TOKEN": "s3cret-value-of-token"},
		Progress: func(p Progress) { progress.Add(1); t.Logf("%+v", p) },
	})
	fits(t, s, 10)
	t.Run("text", func(t *testing.T) {
		r, err := call(t, s, "all_echo", `{"message":"hello"}`)
		want := tools.Result{Text: "Echo: hello", Summary: "Echo: hello", Sources: []string{"mcp:all/echo"}}
		if diff := cmp.Diff(want, r); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
	t.Run("structured content is shown once", func(t *testing.T) {
		r, err := call(t, s, "all_get-structured-content", `{"location":"Chicago"}`)
		if err != nil || strings.Count(r.Text, `"temperature"`) != 1 {
			t.Error(r.Text, err)
		}
	})
	t.Run("images are named", func(t *testing.T) {
		r, err := call(t, s, "all_get-tiny-image", `{}`)
		if err != nil || !strings.Contains(r.Text, "[image, image/png, ") || len(r.Text) > 500 {
			t.Error(r.Text, err)
		}
	})
	t.Run("resources are named", func(t *testing.T) {
		r, err := call(t, s, "all_get-resource-links", `{"count":3}`)
		if err != nil || strings.Count(r.Text, "[link to resource ") != 3 {
			t.Error(r.Text, err)
		}
		r, err = call(t, s, "all_get-resource-reference", `{"resourceType":"Text","resourceId":1}`)
		if err != nil || !strings.Contains(r.Text, "[resource demo://") {
			t.Error(r.Text, err)
		}
	})
	t.Run("only the declared environment, and no secrets of it", func(t *testing.T) {
		r, err := call(t, s, "all_get-env", `{}`)
		var env map[string]string
		if jsonErr := json.Unmarshal([]byte(r.Text), &env); err != nil || jsonErr != nil {
			t.Fatal(r.Text, err, jsonErr)
		}
		if diff := cmp.Diff(map[string]string{"API_TOKEN": "•••"}, env); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a question is declined and handed on", func(t *testing.T) {
		r, err := call(t, s, "all_trigger-elicitation-request", `{}`)
		if err != nil || !strings.Contains(r.Text, "The MCP server all asks: «Please provide inputs") ||
			!strings.Contains(r.Text, "fields: birthdate, check, ") || !strings.Contains(r.Text, "declined") {
			t.Error(r.Text, err)
		}
	})
	t.Run("progress", func(t *testing.T) {
		if _, err := call(t, s, "all_trigger-long-running-operation", `{"duration":0.05,"steps":3}`); err != nil {
			t.Fatal(err)
		}
		eventually(t, "progress", func() bool { return progress.Load() >= 1 })
	})
	t.Run("cancelled in time", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := find(t, s, "all_trigger-long-running-operation").Call(ctx, tools.Call{Args: json.RawMessage(`{"duration":60,"steps":2}`)})
		wantFailure(t, err, "timeout") // it only reads, says a trusted server
		if _, err := call(t, s, "all_echo", `{"message":"still here"}`); err != nil {
			t.Error(err)
		}
	})
	t.Run("neither folders nor a model are offered", func(t *testing.T) {
		for _, name := range names(s.Tools()) {
			if strings.Contains(name, "sampling") || strings.Contains(name, "roots") {
				t.Error(name, "is offered")
			}
		}
	})
	t.Run("wrong arguments are a known failure", func(t *testing.T) {
		_, err := call(t, s, "all_get-sum", `{"a":"x"}`)
		if text := wantFailure(t, err, "tool_error"); !strings.Contains(text, "number") {
			t.Error(text)
		}
	})
}

// fits checks that all tools of a server pass our own gates.
func fits(t *testing.T, s *Server, atLeast int) {
	t.Helper()
	ts := s.Tools()
	if _, err := tools.NewRegistry(ts...); err != nil || len(ts) < atLeast {
		t.Errorf("%d tools: %v", len(ts), err)
	}
	if status := s.Status(); !status.Connected || len(status.Held) > 0 {
		t.Errorf("%+v", status)
	}
}

func TestFilesystem(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("eins\nzwei\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := connect(t, Config{
		Name: "fs", Command: nodeServer(t, "server-filesystem", root), Trusted: true,
		Allow: []string{"read_text_file", "write_file", "no_such_tool"}, Roles: []string{"support"}, Private: true, Timeout: time.Minute,
	})
	fits(t, s, 2)
	if diff := cmp.Diff([]string{"fs_read_text_file", "fs_write_file"}, names(s.Tools())); diff != "" {
		t.Error(diff)
	}
	if s.Status().Skipped["no_such_tool"] == "" {
		t.Error("an allowed tool that does not exist is not told")
	}
	read, write := find(t, s, "fs_read_text_file").Spec(), find(t, s, "fs_write_file").Spec()
	if read.Risk != tools.Low || read.Effects || !read.Parallel || !read.Private || read.Timeout != time.Minute || !slices.Equal(read.Roles, []string{"support"}) {
		t.Errorf("reading: %+v", read)
	}
	if write.Risk != tools.High || !write.Effects || write.Parallel {
		t.Errorf("writing: %+v", write)
	}
	path := func(name string) string { return fmt.Sprintf("%q", filepath.Join(root, name)) }
	r, err := call(t, s, "fs_read_text_file", `{"path":`+path("a.txt")+`}`)
	if err != nil || !strings.Contains(r.Text, "eins\nzwei") || r.Effect != "" {
		t.Error(r, err)
	}
	r, err = call(t, s, "fs_write_file", `{"path":`+path("b.txt")+`,"content":"drei"}`)
	if err != nil || r.Effect != "called write_file of fs" {
		t.Error(r, err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "b.txt")); err != nil || string(text) != "drei" {
		t.Error(string(text), err)
	}
	_, err = call(t, s, "fs_read_text_file", `{"path":"/etc/passwd"}`)
	wantFailure(t, err, "tool_error")
}

func TestMemory(t *testing.T) {
	t.Parallel()
	s := connect(t, Config{Name: "mem", Command: nodeServer(t, "server-memory"), Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}})
	fits(t, s, 9)
	if spec := find(t, s, "mem_read_graph").Spec(); spec.Risk != tools.High || !spec.Effects {
		t.Errorf("a server that is not trusted lowers the risk: %+v", spec)
	}
	_, err := call(t, s, "mem_create_entities", `{"entities":[{"name":"张三","entityType":"customer","observations":["余额 80"]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := call(t, s, "mem_search_nodes", `{"query":"余额"}`)
	if err != nil || !strings.Contains(r.Text, "张三") {
		t.Error(r.Text, err)
	}
}

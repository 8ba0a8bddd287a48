package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/bench"
)

// model plays the scenarios over HTTP: it finds its place by counting results.
func model(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text := string(body)
	_, marker, _ := strings.Cut(text, "[[")
	marker, _, _ = strings.Cut(marker, "]]")
	done, n := strings.Count(text, `"role":"tool"`), 1
	scene, rest, _ := strings.Cut(marker, " ")
	tool, args := "restart_service", `{"id":"x"}`
	if scene != "S2" {
		tool, args = "append_note", fmt.Sprintf(`{"id":"x","step":%d}`, done+1)
		if _, err := fmt.Sscanf(rest, "N=%d", &n); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	message := map[string]any{"role": "assistant", "content": fmt.Sprintf("%d results, refused: %t", done, strings.Contains(text, "REJECTED"))}
	if done < n {
		message = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"id": fmt.Sprintf("call%05d", done), "type": "function", "function": map[string]string{"name": tool, "arguments": args},
		}}}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client is gone: nothing to tell
		"object": "chat.completion", "choices": []any{map[string]any{"message": message, "finish_reason": "stop"}},
	})
}

// driver writes commands to a worker and reads its replies.
type driver struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
	end chan error
}

// work starts a worker on a database.
func work(t *testing.T, database string, hands bench.Hands) *driver {
	t.Helper()
	plays := httptest.NewServer(http.HandlerFunc(model))
	t.Cleanup(plays.Close)
	e, err := bench.Open(t.Context(), bench.Config{Database: database, ModelURL: plays.URL, Hands: hands})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	commands, in := io.Pipe()
	out, replies := io.Pipe()
	d := &driver{t: t, in: in, out: bufio.NewScanner(out), end: make(chan error, 1)}
	go func() { d.end <- (&server{engine: e}).serve(t.Context(), commands, replies) }()
	if line := d.line(); line != `{"ready":true}` {
		t.Fatalf("it begins with %s", line)
	}
	return d
}

func (d *driver) line() string {
	d.t.Helper()
	if !d.out.Scan() {
		d.t.Fatalf("no reply: %v", d.out.Err())
	}
	return d.out.Text()
}

func (d *driver) does(command string, want reply) {
	d.t.Helper()
	if _, err := io.WriteString(d.in, command+"\n"); err != nil {
		d.t.Fatal(err)
	}
	var got reply
	if err := json.Unmarshal([]byte(d.line()), &got); err != nil {
		d.t.Fatal(err)
	}
	if got.Err != "" && want.Err != "" {
		got.Err = want.Err // that there is a reason is enough
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("%s (-want +got):\n%s", command, diff)
	}
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	happened, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = happened.Close() }) // every line was one write
	database := "sqlite:" + filepath.Join(dir, "bench.db")
	a := work(t, database, bench.Hands{Effects: happened})
	a.does(`{"op":"start","seq":1,"id":"r1","scenario":"S1E","n":3}`, reply{Seq: 1, ID: "r1", Status: "done", Final: "3 results, refused: false"})
	a.does(`{"op":"start","seq":2,"id":"r2","scenario":"S2"}`, reply{Seq: 2, ID: "r2", Status: "paused"})
	a.does(`{"op":"start","seq":3,"id":"r3","scenario":"S2"}`, reply{Seq: 3, ID: "r3", Status: "paused"})
	b := work(t, database, bench.Hands{Effects: happened}) // a process that never saw the runs
	b.does(`{"op":"decide","seq":1,"id":"r2","decision":"approve"}`, reply{Seq: 1, ID: "r2", Status: "done", Final: "1 results, refused: false"})
	b.does(`{"op":"decide","seq":2,"id":"r3","decision":"reject"}`, reply{Seq: 2, ID: "r3", Status: "done", Final: "1 results, refused: true"})
	a.does(`{"op":"decide","seq":4,"id":"r2","decision":"reject"}`, reply{Seq: 4, ID: "r2", Status: "conflict"})
	a.does(`{"op":"state","seq":5,"id":"r3"}`, reply{Seq: 5, ID: "r3", Status: "done", Final: "1 results, refused: true"})
	a.does(`{"op":"recover","seq":6,"id":"nobody"}`, reply{Seq: 6, ID: "nobody", Status: "lost"})
	a.does(`{"op":"gc","seq":7}`, reply{Seq: 7, Status: "done"})
	a.does(`{"op":"start","seq":8,"id":"r1","scenario":"S2"}`, reply{Seq: 8, ID: "r1", Status: "error", Err: "it was started before"})
	a.does(`{"op":"decide","seq":9,"id":"r1","decision":"maybe"}`, reply{Seq: 9, ID: "r1", Status: "error", Err: "no such decision"})
	a.does(`{"op":"fly","seq":10}`, reply{Seq: 10, Status: "error", Err: "no such command"})
	a.does(`not a command`, reply{Status: "error", Err: "not JSON"})
	if _, err := io.WriteString(a.in, `{"op":"quit"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-a.end; err != nil {
		t.Errorf("quit: %v", err)
	}
	judgeEffects(t, happened.Name())
}

// judgeEffects holds the file of effects against what was asked for.
func judgeEffects(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		var at, pid, step int
		var id, tool string
		if _, err := fmt.Sscanf(line, "%d\t%d\t%s\t%s\t%d\n", &at, &pid, &id, &tool, &step); err != nil || at == 0 || pid != os.Getpid() {
			t.Errorf("line %q: %v", line, err)
		}
		got = append(got, fmt.Sprint(id, " ", tool, " ", step))
	}
	want := []string{"x append_note 1", "x append_note 2", "x append_note 3", "x restart_service 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// spans are what a collector passed on.
type spans struct {
	mu   sync.Mutex
	list []traced
}

// traced is one, as OTLP writes it in JSON.
type traced struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Attributes                          attributes

	service string // of the resource
}

type attributes []struct {
	Key   string
	Value struct {
		StringValue string
		IntValue    string
	}
}

func (a attributes) get(key string) string {
	for _, at := range a {
		if at.Key == key {
			return at.Value.StringValue + at.Value.IntValue
		}
	}
	return ""
}

// ServeHTTP takes them from the collector.
func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes attributes }
			ScopeSpans []struct{ Spans []traced }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range sent.ResourceSpans {
		for _, scope := range from.ScopeSpans {
			for _, one := range scope.Spans {
				one.service = from.Resource.Attributes.get("service.name")
				s.list = append(s.list, one)
			}
		}
	}
	fmt.Fprintln(w, "{}")
}

func (s *spans) named(name string) []traced {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []traced
	for _, one := range s.list {
		if one.Name == name {
			out = append(out, one)
		}
	}
	return out
}

// collect starts an OpenTelemetry Collector, as its own project publishes it, that passes
// what it gets on as JSON, and gives its address.
func collect(d *desk, to *spans) string {
	d.t.Helper()
	folder := os.Getenv("COUNTERSIGN_CHECKERS")
	if folder == "" {
		d.t.Skip("COUNTERSIGN_CHECKERS names no folder with a collector; make checkers builds and runs it")
	}
	beyond := httptest.NewServer(to)
	d.t.Cleanup(beyond.Close)
	addr, file := apptest.Free(d.t), filepath.Join(d.t.TempDir(), "collector.yaml")
	text := fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {otlp_http: {endpoint: %q, encoding: json, compression: none, sending_queue: {enabled: false}}}
service: {telemetry: {metrics: {level: none}}, pipelines: {traces: {receivers: [otlp], exporters: [otlp_http]}}}
`, addr, beyond.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	log := &strings.Builder{}
	c := exec.Command(filepath.Join(folder, "collector"), "--config", "file:"+file)
	c.Stderr = log
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = c.Process.Kill() // it ends with the test
		_ = c.Wait()
		if d.t.Failed() {
			d.t.Log(log)
		}
	})
	d.Until("a collector", func() bool {
		conn, err := net.Dial("tcp", addr)
		return err == nil && conn.Close() == nil
	})
	return "http://" + addr
}

// stop ends a replica as an operator does.
func (r *replica) stop() {
	r.d.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.d.t.Fatal(err)
	}
	<-r.ended
}

// A run that is approved after a restart arrives at a collector as one trace: the model's
// calls, the tool's and the wait of the people, named as the conventions for generative
// AI name them, without a word of what anybody said.
func TestTracesReachACollector(t *testing.T) {
	t.Parallel()
	d := sit(t, apptest.New(t, apptest.Options{}))
	seen := &spans{}
	one := &replica{d: d, binary: program(t), extra: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collect(d, seen)}, log: logOf(t)}
	start := func() {
		one.start()
		d.Until("a connection", func() bool { return d.Slack.Server.Connections() > 0 })
	}
	start()
	t.Cleanup(one.kill)
	ask := d.Slack.User("ana").Says("#ops", "@countersign 删除文档 doc_42")
	card := d.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
	one.stop()
	d.Until("no connection", func() bool { return d.Slack.Server.Connections() == 0 })
	start()
	d.Press(d.Slack.User("mgr"), card, "approval_approve")
	d.Slack.Expect(slacktest.InThread(ask), slacktest.Text("已变更"))
	one.stop()

	for name, want := range map[string]map[string]string{
		"invoke_agent countersign":     {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "countersign"},
		"chat playbook":                {"gen_ai.operation.name": "chat", "gen_ai.request.model": "playbook", "gen_ai.provider.name": "openai"},
		"execute_tool delete_document": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "delete_document"},
		"approval wait":                {"gen_ai.tool.name": "delete_document", "countersign.verdict": "approved"},
	} {
		found := seen.named(name)
		if len(found) == 0 {
			t.Errorf("no span %q", name)
			continue
		}
		for key, value := range want {
			if got := found[0].Attributes.get(key); got != value {
				t.Errorf("%s: %s is %q, not %q", name, key, got, value)
			}
		}
	}
	chats := seen.named("chat playbook")
	if len(chats) < 2 || chats[0].Attributes.get("gen_ai.usage.input_tokens") == "" || chats[0].Kind != 3 { // CLIENT
		t.Errorf("chats: %+v", chats)
	}
	trace := chats[0].TraceID
	for _, s := range seen.list {
		if s.TraceID != trace || s.service != "countersign" || strings.Contains(fmt.Sprint(s.Attributes), "doc_42") {
			t.Errorf("in another trace, of another service, or with an argument: %+v", s)
		}
	}
}

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/internal/app"
	"countersign/internal/config"
	"countersign/tools"
)

// documented loads a configuration of docs/deploy-tools.md against a service.
func documented(t *testing.T, name, address string, service http.HandlerFunc) *tools.Registry {
	t.Helper()
	page, err := os.ReadFile("../../docs/deploy-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\n# "+name+"\n")
	text, _, closed := strings.Cut(text, "\n```")
	if !found || !closed || !strings.Contains(text, address) {
		t.Fatalf("the page has no configuration %s for %s", name, address)
	}
	s := httptest.NewServer(service)
	t.Cleanup(s.Close)
	text = strings.ReplaceAll(text, address, s.URL)
	if strings.Contains(text, "\n  http:") && !strings.Contains(text, "private_network") { // the stand-in is on loopback
		text = strings.ReplaceAll(text, "      headers:", "      private_network: true\n      headers:")
	}
	env := map[string]string{"CODE_TOKEN": "code-token-1234", "KUBERNETES_TOKEN": "kube-token-1234", "DATABASE_URL": "sqlite:" + t.TempDir() + "/c.db"}
	cfg, err := config.Parse("page.yaml", []byte(text), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	parts, err := app.NewParts(t.Context(), cfg, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = parts.Close() })
	return parts.Tools
}

// play previews a call and makes it, as after an approval.
func play(t *testing.T, r *tools.Registry, name, args string) (tools.Preview, tools.Result) {
	t.Helper()
	tool, ok := r.Get(name)
	if !ok || tool.Spec().Risk != tools.High {
		t.Fatalf("%s is not there, or not HIGH", name)
	}
	c := tools.Call{Run: "run1", Step: "2", Args: json.RawMessage(args)}
	p, err := tool.(tools.Previewer).Preview(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tool.Call(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p, res
}

func TestDocumentedWorkflow(t *testing.T) {
	t.Parallel()
	var seen []string
	r := documented(t, "deploy-workflow", "https://api.code.example", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.URL.Path+" "+string(body))
		if r.Header.Get("Authorization") != "Bearer code-token-1234" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.WriteString(w, `{"sha":"abc123","commit":{"message":"Fix the cart","author":{"name":"Ana"}}}`)
	})
	p, res := play(t, r, "deploy_service", `{"ref":"v1.4.0","environment":"staging"}`)
	want := []string{
		"GET /repos/example/shop/commits/v1.4.0 ",
		`POST /repos/example/shop/actions/workflows/deploy.yml/dispatches {"inputs":{"environment":"staging","requested_as":"run1-2"},"ref":"v1.4.0"}`,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if p.Untried != "" || p.Material["now:sha"] == "" || !strings.Contains(p.Detail, "Fix the cart") || strings.Contains(p.Detail, "code-token") {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(res.Summary, "204") || res.Effect == "" {
		t.Errorf("%+v", res)
	}
	if list, ok := r.Get("list_deployments"); !ok || list.Spec().Risk != tools.Low {
		t.Error("the list is not a read")
	}
}

func TestDocumentedRestart(t *testing.T) {
	t.Parallel()
	annotation := ""
	restarts := 0
	r := documented(t, "deploy-kubernetes", "https://kubernetes.example:6443", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/apps/v1/namespaces/shop/deployments/web" || r.Header.Get("Authorization") != "Bearer kube-token-1234" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPatch {
			var patch struct {
				Spec struct {
					Template struct {
						Metadata struct{ Annotations map[string]string }
					}
				}
			}
			if r.Header.Get("Content-Type") != "application/merge-patch+json" || json.NewDecoder(r.Body).Decode(&patch) != nil {
				w.WriteHeader(http.StatusUnsupportedMediaType)
				return
			}
			if got := patch.Spec.Template.Metadata.Annotations["countersign/restart"]; got != annotation {
				annotation = got // a pod template that changed is rolled out; one that did not is left alone
				restarts++
			}
		}
		_, _ = io.WriteString(w, `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"image":"shop:1.4"}]}}},"status":{"readyReplicas":2}}`)
	})
	p, _ := play(t, r, "restart_deployment", `{"name":"web"}`)
	play(t, r, "restart_deployment", `{"name":"web"}`)
	if annotation != "run1-2" || restarts != 1 {
		t.Errorf("annotation %q, %d restarts", annotation, restarts)
	}
	for _, want := range []string{"spec.replicas: 3", "status.readyReplicas: 2", "shop:1.4", "countersign/restart"} {
		if !strings.Contains(p.Detail, want) {
			t.Errorf("the preview lacks %s: %s", want, p.Detail)
		}
	}
	if tool, _ := r.Get("restart_deployment"); !tool.Spec().Idempotent {
		t.Error("a restart with one key is one restart")
	}
}

func TestDocumentedCodeHost(t *testing.T) {
	t.Parallel()
	type in struct {
		Number   int    `json:"number,omitempty"`
		Workflow string `json:"workflow,omitempty"`
	}
	var done atomic.Int64
	server := mcp.NewServer(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	for name, reads := range map[string]bool{"list_pull_requests": true, "merge_pull_request": false, "run_workflow": false, "delete_repository": false} {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
			func(_ context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, any, error) {
				done.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%s %d", name, i.Number)}}}, nil, nil
			})
	}
	streams := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	r := documented(t, "code-host-mcp", "https://mcp.code.example", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" || r.Header.Get("Authorization") != "Bearer code-token-1234" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		streams.ServeHTTP(w, r)
	})
	for name, risk := range map[string]tools.Risk{"code_list_pull_requests": tools.Low, "code_merge_pull_request": tools.High, "code_run_workflow": tools.High} {
		if tool, ok := r.Get(name); !ok || tool.Spec().Risk != risk {
			t.Errorf("%s is not there, or not %s", name, risk)
		}
	}
	if _, ok := r.Get("code_delete_repository"); ok {
		t.Error("a tool that is not allowed is offered")
	}
	tool, _ := r.Get("code_merge_pull_request")
	res, err := tool.Call(t.Context(), tools.Call{Run: "run1", Step: "2", Args: json.RawMessage(`{"number":7}`)})
	if err != nil || res.Text != "merge_pull_request 7" || res.Effect == "" || done.Load() != 1 {
		t.Errorf("%+v, %v, %d calls", res, err, done.Load())
	}
}

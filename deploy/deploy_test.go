// Package deploy_test checks what operators deploy: with the tools that will read
// it where they are installed, and by what it must say.
package deploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent/llm"
	"countersign/bot/socket"
	"countersign/internal/metrics"
)

// tool finds a program; without it the test is skipped, or fails where the variable
// says that it must be there.
func tool(t *testing.T, name, variable string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv(variable) != "" {
		t.Fatalf("%s is not installed", name)
	}
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestAlertsByPromtool(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool", "COUNTERSIGN_PROMETHEUS")
	run(t, promtool, "check", "rules", "monitoring/alerts.yaml")
	run(t, promtool, "test", "rules", "monitoring/alerts_test.yaml")
}

// exposed lists the names of everything that a process exposes, each told once.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	s := metrics.New()
	now := time.Now()
	s.RunStarted("slack")
	s.RunEnded("success", "done", time.Second)
	s.PickedUp(true, time.Second)
	s.StepEnded("refund", "succeeded", time.Second)
	s.Decided("approve", "slack")
	s.Refused("role")
	s.Settled("approved", time.Second)
	s.Delivered("card", "delivered")
	s.Limited("chat.update")
	s.ModelCalled(metrics.Called{Model: "m", Currency: "USD", Usage: llm.Usage{Prompt: 1}, At: now})
	s.Watch(metrics.Sources{
		Census: func(context.Context) (metrics.Census, error) {
			return metrics.Census{Runs: map[string]int{"planning": 1}, Approvals: map[string]int{"pending": 1}}, nil
		},
		Socket: func() socket.Status { return socket.Status{} },
		Now:    func() time.Time { return now },
	})
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9_]+)[ {]`).FindAllStringSubmatch(w.Body.String(), -1) {
		found[m[1]] = true
	}
	return found
}

// Rules and dashboard ask for metrics that there are.
func TestMetricsAskedForExist(t *testing.T) {
	t.Parallel()
	there := exposed(t)
	if len(there) < 40 {
		t.Fatalf("only %d metrics are exposed", len(there))
	}
	for _, file := range []string{"alerts.yaml", "alerts_test.yaml", "dashboard.json"} {
		data, err := os.ReadFile(filepath.Join("monitoring", file))
		if err != nil {
			t.Fatal(err)
		}
		asked := map[string]bool{}
		for _, name := range regexp.MustCompile(`\b(?:countersign|process)_[a-z0-9_]+`).FindAllString(string(data), -1) {
			asked[name] = true
		}
		if len(asked) < 5 {
			t.Errorf("%s asks for %d metrics", file, len(asked))
		}
		for name := range asked {
			if !there[name] {
				t.Errorf("%s asks for %s, which nobody exposes", file, name)
			}
		}
		if file == "dashboard.json" {
			unseen(t, there, asked)
		}
	}
}

// unseen reports our metrics that the dashboard does not show.
func unseen(t *testing.T, there, asked map[string]bool) {
	t.Helper()
	for name := range there {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count"), "_bucket")
		if strings.HasPrefix(name, "countersign_") && !asked[name] && !asked[base+"_bucket"] && !asked[base+"_count"] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	var d struct {
		Title, UID    string
		SchemaVersion int
		Templating    struct{ List []struct{ Name string } }
		Panels        []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, RefID string }
		}
	}
	data, err := os.ReadFile("monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || (p.Type != "row") != (len(p.Targets) > 0) {
			t.Errorf("panel %d %q: its id, title or targets are wrong", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q lies over %q, or beside the page", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	if d.UID == "" || len(d.Templating.List) != 2 || len(d.Panels) < 30 {
		t.Errorf("%+v", d)
	}
}

// promtool reads the dashboard's questions too: as rules, with the variables filled.
func TestDashboardQueriesParse(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool", "COUNTERSIGN_PROMETHEUS")
	data, err := os.ReadFile("monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	var rules []any
	fill := strings.NewReplacer("$job", "countersign", "$__rate_interval", "5m", "$__range", "6h")
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			rules = append(rules, map[string]any{"record": fmt.Sprintf("query:%d", len(rules)), "expr": fill.Replace(q.Expr)})
		}
	}
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, promtool, "check", "rules", file)
}

func TestUnit(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("systemd/countersign.service")
	if err != nil {
		t.Fatal(err)
	}
	analyze := tool(t, "systemd-analyze", "COUNTERSIGN_SYSTEMD")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "countersign.service")
	text := strings.ReplaceAll(string(data), "/usr/local/bin/countersign", program)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(t, analyze, "verify", "--man=no", unit); strings.Contains(out, "countersign.service") {
		t.Error(out)
	}
	// A threshold in tenths of systemd's "exposure": 0 is none, 100 is all.
	run(t, analyze, "security", "--offline=true", "--threshold=20", unit)
}

func TestCompose(t *testing.T) {
	t.Parallel()
	var c map[string]any
	read(t, "compose/compose.yaml", &c)
	services, _ := c["services"].(map[string]any)
	if names := slices.Sorted(maps.Keys(services)); fmt.Sprint(names) != "[countersign-a countersign-b postgres]" {
		t.Fatalf("services %v", names)
	}
	for name, s := range services {
		if at(s, "ports") != nil {
			t.Errorf("%s is published to the outside", name)
		}
		if at(s, "healthcheck", "test") == nil || at(s, "restart") == nil {
			t.Errorf("%s is not looked after", name)
		}
	}
	for _, name := range []string{"countersign-a", "countersign-b"} {
		s := services[name]
		if at(s, "read_only") != true || fmt.Sprint(at(s, "cap_drop")) != "[ALL]" || at(s, "user") != "65532:65532" {
			t.Errorf("%s may do more than it needs", name)
		}
		if url, _ := at(s, "environment", "DATABASE_URL").(string); !strings.HasPrefix(url, "postgres://") {
			t.Errorf("%s uses %s", name, url)
		}
	}
	if fmt.Sprint(at(services["postgres"], "networks")) != "[inside]" || at(c, "networks", "inside", "internal") != true {
		t.Error("the database can be reached from outside")
	}
	asked, given := variables(t, "compose/compose.yaml", `\$\{([A-Z_]+)`), variables(t, "compose/env.example", `(?m)^([A-Z_]+)=`)
	asked = slices.DeleteFunc(asked, func(v string) bool { return v == "COUNTERSIGN_IMAGE" })
	if !slices.Equal(asked, given) {
		t.Errorf("compose asks for %v, env.example has %v", asked, given)
	}
}

func variables(t *testing.T, file, pattern string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(data), -1) {
		found[m[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

package app_test

import (
	"path/filepath"
	"testing"

	"countersign/internal/app"
	"countersign/internal/config"
	"countersign/tools"
)

// What is said of one database holds for the tools that all of them share.
func TestAccessOfDatabases(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	file := config.NewSecret("sqlite:" + filepath.Join(t.TempDir(), "a.db"))
	cfg := &config.Config{Tools: config.Tools{SQL: []config.SQL{
		{Name: "a", URL: file, Write: true, Access: config.Access{Egress: &no}},
		{Name: "b", URL: file, Access: config.Access{Risk: "medium", Private: true, Egress: &yes}},
	}}}
	parts, err := app.NewParts(t.Context(), cfg, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer parts.Close()
	for name, risk := range map[string]tools.Risk{"query_sql": tools.Medium, "get_schema": tools.Medium, "execute_sql": tools.High} {
		tool, ok := parts.Tools.Get(name)
		if !ok {
			t.Fatal(name, "is missing")
		}
		if s := tool.Spec(); s.Risk != risk || !s.Private || !s.Egress {
			t.Errorf("%s: risk %s, private %v, egress %v", name, s.Risk, s.Private, s.Egress)
		}
	}
}

// Package docs_test keeps the drawn documents true to the code they are drawn from.
package docs_test

import (
	_ "embed"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/fsm"
)

var update = flag.Bool("update", false, "write docs/flow.md anew")

//go:embed testdata/flow.md.tmpl
var frame string

// TestFlowDocument compares docs/flow.md with the tables that it is drawn from.
func TestFlowDocument(t *testing.T) {
	t.Parallel()
	path := "flow.md"
	want := strings.NewReplacer(
		"@RUN@", drawn(agent.RunMachine), "@STEP@", drawn(agent.StepMachine), "@APPROVAL@", drawn(approvals.Machine),
	).Replace(frame)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/flow.md is stale (make generate writes it anew):\n%s", diff)
	}
}

// drawn is a machine as a diagram and as a table.
func drawn[S ~string](m fsm.Machine[S]) string {
	return "```mermaid\n" + m.Mermaid() + "```\n\n" + strings.TrimSuffix(matrix(m), "\n")
}

package pager_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"countersign/tools"
	"countersign/tools/example/pager"
)

// duty is a service with one person on duty.
type duty struct {
	paged []string
	down  error
}

func (d *duty) Who(_ context.Context, team string) (string, error) {
	return "the one of " + team, d.down
}

func (d *duty) Page(_ context.Context, key, team, text string) error {
	d.paged = append(d.paged, key+" "+team+": "+text)
	return d.down
}

// The page on writing a tool shows this very file, and it is as short as the page says.
func TestThePageShowsThisTool(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("pager.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```go\n"+string(file)+"```") {
		t.Error("docs/tools.md shows another tool than pager.go")
	}
	code := 0
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			code++
		}
	}
	if code > 35 {
		t.Errorf("%d lines of code", code)
	}
}

// The engine does the rest: schema, defaults and repairs, risk, preview, a lost outcome.
func TestThePager(t *testing.T) {
	t.Parallel()
	d := &duty{}
	tool, err := pager.New(d)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.Parse(registry.Schema("page_duty"), `{"team":"web"}`); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("a missing argument: %v", err)
	}
	args, err := tools.Parse(registry.Schema("page_duty"), `{"text":"The shop is down.","team":"web","thought":"asked"}`)
	if err != nil {
		t.Fatal(err)
	}
	call := tools.Call{Run: "r", Step: "1", Args: args.Canonical}
	shown, err := tool.(tools.Previewer).Preview(t.Context(), call)
	if err != nil || shown.Summary != "the one of web would be woken" || len(d.paged) != 0 {
		t.Errorf("the preview: %+v, %v, paged %v", shown, err, d.paged)
	}
	result, err := tools.Execute(t.Context(), tool, call)
	if err != nil || result.Effect != "paged web" || !slices.Equal(d.paged, []string{"r-1 web: The shop is down."}) {
		t.Errorf("%+v, %v, paged %v", result, err, d.paged)
	}
	d.down = errors.New("the line broke")
	_, err = tools.Execute(t.Context(), tool, call)
	if _, known := errors.AsType[*tools.Failure](err); err == nil || known {
		t.Errorf("a broken line leaves the outcome open: %v", err)
	}
}

package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
)

// fake is a tool that is its declaration and one function.
type fake struct {
	spec tools.Spec
	call func() (tools.Result, error)
}

func (f fake) Spec() tools.Spec { return f.spec }

func (f fake) Call(context.Context, tools.Call) (tools.Result, error) { return f.call() }

func named(name string) tools.Tool {
	return fake{spec: tools.Spec{Name: name, Risk: tools.Low}}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r, err := tools.NewRegistry(named("search_docs"), named("read_file"), named("list_files"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, spec := range r.Specs() {
		names = append(names, spec.Name)
	}
	if diff := cmp.Diff([]string{"list_files", "read_file", "search_docs"}, names); diff != "" {
		t.Error(diff)
	}
	if _, ok := r.Get("read_file"); !ok || r.Schema("read_file") == nil {
		t.Error("a tool that was added is not there")
	}
	if _, ok := r.Get("Read_File"); ok || r.Schema("Read_File") != nil {
		t.Error("a name in another case is found")
	}
	if diff := cmp.Diff([]string{"read_file"}, r.Near("readfile")); diff != "" {
		t.Error(diff)
	}
	if !r.Remove("read_file") || r.Remove("read_file") {
		t.Error("removing says the wrong thing")
	}
	if err := r.Add(named("read_file")); err != nil {
		t.Errorf("a removed name cannot be taken again: %v", err)
	}
}

func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	for says, spec := range map[string]tools.Spec{
		`"a b" is not`:         {Name: "a b", Risk: tools.Low},
		`"" is not`:            {Risk: tools.Low},
		"1 to 64":              {Name: strings.Repeat("a", 65), Risk: tools.Low},
		"taken twice":          {Name: "known", Risk: tools.Low},
		`risk ""`:              {Name: "a"},
		`risk "HIGH"`:          {Name: "a", Risk: "HIGH"},
		"risk high but":        {Name: "a", Risk: tools.High},
		"risk medium but":      {Name: "a", Risk: tools.Medium},
		"idempotent but":       {Name: "a", Risk: tools.Low, Idempotent: true},
		"top level":            {Name: "a", Risk: tools.Low, Parameters: json.RawMessage(`{"type":"string"}`)},
		"parameters of a":      {Name: "a", Risk: tools.Low, Parameters: json.RawMessage(`{"type":"object","properties":7}`)},
		"given twice":          {Name: "a", Risk: tools.Low, Parameters: json.RawMessage(`{"type":"object","type":"object"}`)},
		"are not followed":     {Name: "a", Risk: tools.Low, Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"file:///etc/hostname"}}}`)},
		"http://localhost/x":   {Name: "a", Risk: tools.Low, Parameters: json.RawMessage(`{"type":"object","allOf":[{"$ref":"http://localhost/x"}]}`)},
		"parameters of broken": {Name: "broken", Risk: tools.Low, Parameters: json.RawMessage(`{`)},
	} {
		_, err := tools.NewRegistry(named("known"), fake{spec: spec})
		if !errors.Is(err, tools.ErrBadTool) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// Every mistake is told at once, so that a configuration is mended in one go.
func TestRegistryNamesEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := tools.NewRegistry(named("a b"), named("ok"), named("c d"))
	if err == nil || !strings.Contains(err.Error(), `"a b"`) || !strings.Contains(err.Error(), `"c d"`) {
		t.Errorf("got %v", err)
	}
}

// B14: the list may change while runs use it.
func TestRegistryChangesWhileInUse(t *testing.T) {
	t.Parallel()
	r, err := tools.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			name := fmt.Sprintf("tool_%d", i)
			for range 50 {
				if err := r.Add(named(name)); err != nil {
					t.Error(err)
				}
				if _, ok := r.Get(name); !ok {
					t.Errorf("%s is not there", name)
				}
				r.Specs()
				r.Near("tool")
				r.Remove(name)
			}
		})
	}
	group.Wait()
	if n := len(r.Specs()); n != 0 {
		t.Errorf("%d tools are left", n)
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		candidates []string
		want       []string
	}{
		{"transactions.txt", []string{"readme.md", "transactions.log", "b.txt"}, []string{"transactions.log"}},
		{"redfile", []string{"read_file", "refund"}, []string{"read_file"}},
		{"refnud", []string{"refund", "fund_of_funds"}, []string{"refund"}},
		{"doc_42", []string{"doc_41", "doc_43", "doc_4", "doc_142", "other"}, []string{"doc_142", "doc_4", "doc_41"}},
		{"余额说明", []string{"余额", "余额说朋", "退款"}, []string{"余额说朋", "余额"}},
		{"query", []string{"query_sql", "query_metrics"}, []string{"query_sql", "query_metrics"}},
		{"x", []string{"completely", "different"}, []string{}},
		{"", []string{"a"}, []string{}},
		{strings.Repeat("x", 5000), []string{strings.Repeat("y", 5000)}, []string{}},
	} {
		if diff := cmp.Diff(c.want, tools.Near(c.name, c.candidates)); diff != "" {
			t.Errorf("%.20s: %s", c.name, diff)
		}
	}
	if got := tools.DidYouMean([]string{"a", "b"}); got != "; did you mean a or b?" {
		t.Errorf("got %q", got)
	}
	if got := tools.DidYouMean(nil); got != "" {
		t.Errorf("got %q", got)
	}
}

package policy

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/tools"
)

func TestUnsoundRules(t *testing.T) {
	t.Parallel()
	pay := tools.Spec{Name: "pay", Description: "Pays.", Risk: tools.High, Effects: true, Parameters: json.RawMessage(`{"type":"object",
		"properties":{"amount":{"type":"number"},"note":{"type":"string"},"to":{"type":["string","null"]},"list":{"type":"array","items":{"type":"string"}}},
		"required":["amount","to","list"]}`)}
	loose := tools.Spec{Name: "loose", Description: "Takes anything.", Risk: tools.High, Effects: true, Parameters: json.RawMessage(`{"type":"object",
		"properties":{"amount":{"type":"number"}},"required":["amount"],"additionalProperties":true}`)}
	registry, err := tools.NewRegistry(still{pay}, still{loose})
	if err != nil {
		t.Fatal(err)
	}
	bound := &AtMost{Count: 1, Within: time.Hour}
	for _, tt := range []struct {
		name string
		rule Rule
		want string
	}{
		{"sound", Rule{Tool: "pay", When: "args.amount <= 20.0", Risk: tools.Medium, AtMost: &AtMost{Sum: "args.amount", Limit: 9, Within: time.Hour}}, ""},
		{"raising may read anything", Rule{Tool: "pay", When: "size(args) > 3 || args.note == 'x'", Quorum: 2}, ""},
		{"a tool of a server that is away", Rule{Tool: "hub_close", Deny: "no"}, ""},
		{"no such tool", Rule{Tool: "pey", Deny: "no"}, "did you mean pay"},
		{"every tool", Rule{When: "args.amount < 1", Risk: tools.Low, AtMost: bound}, "name its tool"},
		{"without a bound", Rule{Tool: "pay", Risk: tools.Low}, "at_most"},
		{"an optional argument", Rule{Tool: "pay", When: "args.note == ''", Risk: tools.Low, AtMost: bound}, "left out"},
		{"no such argument", Rule{Tool: "pay", When: "args.amuont < 1.0", Risk: tools.Low, AtMost: bound}, "amuont"},
		{"a union", Rule{Tool: "pay", When: "args.to == 'x'", Risk: tools.Low, AtMost: bound}, "simple type"},
		{"a list", Rule{Tool: "pay", When: "size(args.list) < 3", Risk: tools.Low, AtMost: bound}, "simple type"},
		{"a computed name", Rule{Tool: "pay", When: "args['am' + 'ount'] < 1.0", Risk: tools.Low, AtMost: bound}, "args.NAME"},
		{"all of them", Rule{Tool: "pay", When: "size(args) == 1", Risk: tools.Low, AtMost: bound}, "args.NAME"},
		{"an open schema", Rule{Tool: "loose", When: "args.amount < 1.0", Risk: tools.Low, AtMost: bound}, "closed"},
		{"a sum of text", Rule{Tool: "pay", Risk: tools.Low, AtMost: &AtMost{Sum: "args.to", Limit: 1, Within: time.Hour}}, "simple type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.rule.Name = "rules[0]"
			r, err := NewRules([]Rule{tt.rule})
			if err != nil {
				t.Fatal(err)
			}
			err = r.Unsound(registry, func(tool string) bool { return strings.HasPrefix(tool, "hub_") })
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "rules[0]")) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// still is a tool that is never called.
type still struct{ spec tools.Spec }

func (s still) Spec() tools.Spec { return s.spec }

func (still) Call(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, nil }

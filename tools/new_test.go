package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
)

type transfer struct {
	To     string      `json:"to" jsonschema:"account that gets the money"`
	Amount json.Number `json:"amount"`
	Copies int         `json:"copies,omitempty"`
}

type receipt struct {
	ID string `json:"id"`
}

var transferSpec = tools.Spec{Name: "transfer", Risk: tools.High, Effects: true}

func send(_ context.Context, _ tools.Call, in transfer) (receipt, error) {
	return receipt{ID: in.To + "/" + in.Amount.String()}, nil
}

func must(t *testing.T, spec tools.Spec, hooks ...tools.Hook[transfer]) tools.Tool {
	t.Helper()
	tool, err := tools.New(spec, send, hooks...)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestNewInfersTheSchema(t *testing.T) {
	t.Parallel()
	const want = `{"type":"object","properties":{"to":{"type":"string","description":"account that gets the money"},` +
		`"amount":{"type":"number"},"copies":{"type":"integer"}},"required":["to","amount"],"additionalProperties":false}`
	tool := must(t, transferSpec)
	if diff := cmp.Diff(want, string(tool.Spec().Parameters)); diff != "" {
		t.Error(diff)
	}
	given := transferSpec
	given.Parameters = json.RawMessage(`{"type":"object"}`)
	if got := string(must(t, given).Spec().Parameters); got != `{"type":"object"}` {
		t.Errorf("a schema that is given is replaced by %s", got)
	}
}

// From the model's text to the tool, an amount keeps every digit.
func TestNewCalls(t *testing.T) {
	t.Parallel()
	tool := must(t, transferSpec)
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	args, err := tools.Parse(registry.Schema("transfer"), `{"to":"x","amount":"12345678901234567890.01","thought":"asked"}`)
	if err != nil {
		t.Fatal(err)
	}
	result, err := tools.Execute(t.Context(), tool, tools.Call{Args: args.Canonical})
	if want := `{"id":"x/12345678901234567890.01"}`; err != nil || result.Text != want {
		t.Errorf("got %q, %v", result.Text, err)
	}
}

func TestNewResults(t *testing.T) {
	t.Parallel()
	spec := tools.Spec{Name: "t", Risk: tools.Low}
	text, err := tools.New(spec, func(context.Context, tools.Call, struct{}) (string, error) { return "hello", nil })
	if err != nil {
		t.Fatal(err)
	}
	whole, err := tools.New(spec, func(context.Context, tools.Call, struct{}) (tools.Result, error) {
		return tools.Result{Text: "hello", Effect: "said hello"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	broken, err := tools.New(spec, func(context.Context, tools.Call, struct{}) (func(), error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	call := tools.Call{Args: json.RawMessage(`{}`)}
	if r, err := text.Call(t.Context(), call); err != nil || r.Text != "hello" {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err := whole.Call(t.Context(), call); err != nil || r.Effect != "said hello" {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err := broken.Call(t.Context(), call); err == nil {
		t.Errorf("a result that is no JSON became %+v", r)
	}
}

// A tool has exactly the abilities that it was given, since callers ask by type.
func TestNewAbilities(t *testing.T) {
	t.Parallel()
	preview := tools.WithPreview(func(_ context.Context, _ tools.Call, in transfer) (tools.Preview, error) {
		return tools.Preview{Summary: "to " + in.To}, nil
	})
	probe := tools.WithProbe(func(_ context.Context, c tools.Call, _ transfer) (tools.Probed, error) {
		return tools.Probed(c.Run), nil
	})
	for _, c := range []struct {
		hooks          []tools.Hook[transfer]
		preview, probe bool
	}{
		{nil, false, false},
		{[]tools.Hook[transfer]{preview}, true, false},
		{[]tools.Hook[transfer]{probe}, false, true},
		{[]tools.Hook[transfer]{preview, probe}, true, true},
	} {
		tool := must(t, transferSpec, c.hooks...)
		call := tools.Call{Run: "r", Args: json.RawMessage(`{"amount":1,"to":"x"}`)}
		previewer, ok := tool.(tools.Previewer)
		if ok != c.preview {
			t.Fatalf("previewer: %v, want %v", ok, c.preview)
		}
		if ok {
			if p, err := previewer.Preview(t.Context(), call); err != nil || p.Summary != "to x" {
				t.Errorf("got %+v, %v", p, err)
			}
		}
		prober, ok := tool.(tools.Prober)
		if ok != c.probe {
			t.Fatalf("prober: %v, want %v", ok, c.probe)
		}
		if ok {
			if p, err := prober.Probe(t.Context(), call); err != nil || p != "r" {
				t.Errorf("got %q, %v", p, err)
			}
		}
	}
}

func TestNewChecks(t *testing.T) {
	t.Parallel()
	refused := &tools.Failure{Code: "forbidden", Pointer: "/to", Message: "not to x"}
	tool := must(t, transferSpec, tools.WithCheck(func(_ context.Context, in transfer) error {
		if in.To == "x" {
			return refused
		}
		return nil
	}))
	guard := tool.(tools.Guard)
	if err := guard.Check(t.Context(), json.RawMessage(`{"amount":1,"to":"x"}`)); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if err := guard.Check(t.Context(), json.RawMessage(`{"amount":1,"to":"y"}`)); err != nil {
		t.Errorf("got %v", err)
	}
	// Beyond what the Go type holds: refused before anybody is asked.
	err := guard.Check(t.Context(), json.RawMessage(`{"amount":1,"copies":99999999999999999999,"to":"y"}`))
	failure := (*tools.Failure)(nil)
	if !errors.As(err, &failure) || failure.Code != tools.InvalidArguments {
		t.Errorf("got %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := tools.New(tools.Spec{Name: "t", Risk: tools.Low}, func(context.Context, tools.Call, struct{ F func() }) (string, error) { return "", nil })
	if !errors.Is(err, tools.ErrBadTool) {
		t.Errorf("a type without schema: %v", err)
	}
	_, err = tools.New(tools.Spec{Name: "t", Risk: tools.Low}, func(context.Context, tools.Call, string) (string, error) { return "", nil })
	if !errors.Is(err, tools.ErrBadTool) {
		t.Errorf("arguments that are no object: %v", err)
	}
	_, err = tools.New(tools.Spec{Name: "t", Risk: tools.High}, send)
	if !errors.Is(err, tools.ErrBadTool) {
		t.Errorf("high without effects: %v", err)
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	crash := func() (tools.Result, error) {
		var m map[string]int
		m["x"] = 1 //nolint:staticcheck // it must panic
		return tools.Result{}, nil
	}
	for _, effects := range []bool{false, true} {
		spec := tools.Spec{Name: "crasher", Risk: tools.Low, Effects: effects}
		_, err := tools.Execute(t.Context(), fake{spec, crash}, tools.Call{})
		panicked := (*tools.Panicked)(nil)
		if !errors.As(err, &panicked) || !strings.Contains(string(panicked.Stack), "new_test.go") {
			t.Fatalf("got %v", err)
		}
		if text := err.Error(); !strings.Contains(text, "crasher crashed: ") || !strings.Contains(text, "assignment to entry in nil map") || strings.Contains(text, ".go:") {
			t.Errorf("text: %s", text)
		}
		failure := (*tools.Failure)(nil)
		if known := errors.As(err, &failure); known == effects {
			t.Errorf("effects %v: the outcome is known: %v", effects, known)
		}
	}
}

func TestExecutePassesThrough(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tool := fake{tools.Spec{Name: "t"}, func() (tools.Result, error) { return tools.Result{Text: "part"}, boom }}
	if r, err := tools.Execute(t.Context(), tool, tools.Call{}); !errors.Is(err, boom) || r.Text != "part" {
		t.Errorf("got %+v, %v", r, err)
	}
}

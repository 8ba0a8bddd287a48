package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/agent/prompts"
	"countersign/approvals/policy"
	"countersign/tools"
)

// Gate is what every call passes before it may run: JSON, schema, permission and
// the tool's own guard. The same gate checks what the model proposes, what a
// person edited, and once more what is about to run.
type Gate struct {
	Tools   *tools.Registry
	Policy  func() *policy.Policy
	Prompts *prompts.Prompts
	Timeout time.Duration // of a guard or a preview, and of a tool that names none
}

// Proposal is a call that wants to pass.
type Proposal struct {
	Run     string
	Step    string
	Tool    string
	Raw     string
	Asker   policy.Person
	Channel string
	Read    []string // private sources that the run has read
}

// Passed is a call as it came out of the gate.
type Passed struct {
	Tool     tools.Tool
	Spec     tools.Spec
	Args     json.RawMessage // canonical; nil when they were refused
	Thought  string
	Ruling   policy.Ruling
	Contract string
	Refusal  *tools.Failure // why it may not run
}

// Check passes a proposal through the gate. It never returns an error: what is
// wrong with a call is for the model to read.
func (g *Gate) Check(ctx context.Context, p Proposal) Passed {
	tool, ok := g.Tools.Get(p.Tool)
	if !ok {
		return Passed{Refusal: &tools.Failure{Code: "unknown_tool", Message: g.unknown(p.Tool)}}
	}
	out := Passed{Tool: tool, Spec: tool.Spec()}
	args, err := tools.Parse(g.Tools.Schema(p.Tool), p.Raw)
	if err != nil {
		out.Refusal = asFailure(err, "invalid_arguments")
		return out
	}
	out.Args, out.Thought, out.Contract = args.Canonical, args.Thought, tools.Contract(out.Spec)
	out.Ruling = g.Policy().Judge(policy.Question{Spec: out.Spec, Args: args.Canonical, Asker: p.Asker, Channel: p.Channel, Read: p.Read})
	switch out.Ruling.Outcome {
	case policy.Deny:
		out.Refusal = &tools.Failure{Code: "denied", Message: out.Ruling.Why}
	case policy.NotAllowed:
		out.Refusal = &tools.Failure{Code: "not_allowed", Message: out.Ruling.Why}
	default:
		out.Refusal = g.guard(ctx, tool, args.Canonical)
	}
	return out
}

func (g *Gate) guard(ctx context.Context, t tools.Tool, args json.RawMessage) *tools.Failure {
	guard, ok := t.(tools.Guard)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	if err := guard.Check(ctx, args); err != nil {
		return asFailure(err, "refused")
	}
	return nil
}

// Preview takes the effect of a call without having it; nil when the tool offers
// none. A refusal says that the call cannot succeed as it is.
func (g *Gate) Preview(ctx context.Context, t tools.Tool, c tools.Call) (*tools.Preview, *tools.Failure) {
	p, ok := t.(tools.Previewer)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	preview, err := p.Preview(ctx, c)
	var known *tools.Failure
	if errors.As(err, &known) {
		return nil, known
	}
	if err != nil {
		return &tools.Preview{Untried: fmt.Sprintf("the effect could not be shown: %s", err)}, nil
	}
	return &preview, nil
}

func (g *Gate) unknown(name string) string {
	specs := g.Tools.Specs()
	all := make([]string, 0, len(specs)+len(controlNames))
	for _, s := range specs {
		all = append(all, s.Name)
	}
	all = append(all, controlNames...)
	text, err := g.Prompts.Render("unknown", map[string]any{"Name": cut(name, 80), "Near": tools.Near(name, all), "All": all})
	if err != nil {
		return "there is no such tool"
	}
	return text
}

func asFailure(err error, code string) *tools.Failure {
	var f *tools.Failure
	if errors.As(err, &f) {
		return f
	}
	return &tools.Failure{Code: code, Message: err.Error()}
}

// cut shortens text to a number of runes and marks the cut.
func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}

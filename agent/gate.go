package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
	Trials  *Trials       // bound previews for one asker; nil: any number
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
		return looked(asFailure(err, "refused"))
	}
	return nil
}

// looked marks what a tool said about a call that was not made: of a private one it was
// read as a result is.
func looked(f *tools.Failure) *tools.Failure {
	out := *f
	out.Looked = true
	return &out
}

// Preview takes the effect of a call without having it; nil when the tool offers
// none. A refusal says that the call cannot succeed as it is. What was looked at too often
// for one asker is shown as not looked at, which is nothing that an effect could be equal to.
func (g *Gate) Preview(ctx context.Context, t tools.Tool, c tools.Call) (*tools.Preview, *tools.Failure) {
	p, ok := t.(tools.Previewer)
	if !ok {
		return nil, nil
	}
	if !g.Trials.allow(c.Asker) {
		return &tools.Preview{Untried: tools.TriedTooOften}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	preview, err := p.Preview(ctx, c)
	var known *tools.Failure
	if errors.As(err, &known) {
		return nil, looked(known)
	}
	if err != nil {
		preview = tools.Preview{Untried: fmt.Sprintf("the effect could not be shown: %s", err)}
	}
	return legible(preview), nil
}

// legible replaces what is no text as it is replaced on the way to the database and back:
// what is sealed is what is read again.
func legible(p tools.Preview) *tools.Preview {
	text := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	out := tools.Preview{Summary: text(p.Summary), Detail: text(p.Detail), Untried: text(p.Untried)}
	for name, value := range p.Material {
		if out.Material == nil {
			out.Material = map[string]string{}
		}
		out.Material[text(name)] = text(value)
	}
	return &out
}

// Refuse settles a step that may not run, with what the model reads about it.
func (g *Gate) Refuse(s *Step, f *tools.Failure, now time.Time) {
	text, err := g.Prompts.Render("refused", map[string]string{"Code": f.Code, "Reason": f.Message})
	if err != nil {
		text = f.Error()
	}
	if f.Pointer != "" {
		text += " (at " + f.Pointer + ")"
	}
	s.State, s.Code, s.Observation, s.EndedAt = StepRefused, f.Code, text, now
	s.Outcome = tools.Digest("outcome", text)
	s.Summary = cut(firstLine(f.Message), 200)
	if f.Looked && s.Private {
		s.Sources = []string{s.Tool}
	}
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

package app

import (
	"context"
	"encoding/json"

	"countersign/internal/config"
	"countersign/tools"
)

// restricted is a tool with what the configuration says of it on top.
type restricted struct {
	tools.Tool
	access config.Access
}

// restrict lays the configured access over tools.
func restrict(ts []tools.Tool, access config.Access) []tools.Tool {
	out := make([]tools.Tool, len(ts))
	for i, t := range ts {
		out[i] = restricted{t, access}
	}
	return out
}

// Unwrap gives the tool itself.
func (r restricted) Unwrap() tools.Tool { return r.Tool }

// Spec gives the tool's contract with the configured roles, channels and risk. A
// configured risk raises a tool's own, and never makes a HIGH tool less.
func (r restricted) Spec() tools.Spec {
	s := r.Tool.Spec()
	s.Roles, s.Channels = r.access.Roles, idsOf(r.access.Channels)
	s.Private = s.Private || r.access.Private
	if r.access.Egress != nil {
		s.Egress = *r.access.Egress
	}
	if risk := tools.Risk(r.access.Risk); risk == tools.High || risk == tools.Medium && s.Risk == tools.Low {
		s.Risk, s.Effects = risk, true
	}
	return s
}

// Check passes on to the tool's own guard.
func (r restricted) Check(ctx context.Context, args json.RawMessage) error {
	if g, ok := r.Tool.(tools.Guard); ok {
		return g.Check(ctx, args)
	}
	return nil
}

// Preview passes on to the tool's own preview.
func (r restricted) Preview(ctx context.Context, c tools.Call) (tools.Preview, error) {
	if p, ok := r.Tool.(tools.Previewer); ok {
		return p.Preview(ctx, c)
	}
	return tools.Preview{Untried: "this tool cannot show its effect beforehand"}, nil
}

// Probe passes on to the tool's own probe.
func (r restricted) Probe(ctx context.Context, c tools.Call) (tools.Probed, error) {
	if p, ok := r.Tool.(tools.Prober); ok {
		return p.Probe(ctx, c)
	}
	return tools.ProbedUnknown, nil
}

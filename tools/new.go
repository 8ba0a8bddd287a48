package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Hook adds an ability to a tool made by New.
type Hook[In any] func(*typed[In])

// WithCheck gives the tool a Guard: rules beyond the schema.
func WithCheck[In any](f func(context.Context, In) error) Hook[In] {
	return func(t *typed[In]) { t.check = f }
}

// WithPreview makes the tool a Previewer.
func WithPreview[In any](f func(context.Context, Call, In) (Preview, error)) Hook[In] {
	return func(t *typed[In]) { t.preview = f }
}

// WithProbe makes the tool a Prober.
func WithProbe[In any](f func(context.Context, Call, In) (Probed, error)) Hook[In] {
	return func(t *typed[In]) { t.probe = f }
}

// New makes a tool of a function. Where the spec has no Parameters they are
// inferred from In, a struct: json tags name the arguments, omitempty and
// omitzero make them optional, jsonschema tags describe them, unknown ones are
// refused. Out may be a Result, a string, or anything that marshals to JSON.
// The error matches ErrBadTool.
func New[In, Out any](spec Spec, call func(context.Context, Call, In) (Out, error), hooks ...Hook[In]) (Tool, error) {
	if len(spec.Parameters) == 0 {
		inferred, err := inferSchema[In]()
		if err != nil {
			return nil, badSchema(spec, err)
		}
		spec.Parameters = inferred
	}
	if _, err := checkSpec(spec); err != nil {
		return nil, err
	}
	t := &typed[In]{spec: spec, call: func(ctx context.Context, c Call, in In) (Result, error) {
		out, err := call(ctx, c, in)
		if err != nil {
			return Result{}, err
		}
		return toResult(out)
	}}
	for _, hook := range hooks {
		hook(t)
	}
	return t.withAbilities(), nil
}

// inferSchema describes a Go type to the model.
func inferSchema[In any]() (json.RawMessage, error) {
	options := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		// The type to take where a number must keep every digit: money, ids.
		reflect.TypeFor[json.Number](): {Type: "number"},
	}}
	s, err := jsonschema.For[In](options)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// typed is a tool over a Go type.
type typed[In any] struct {
	spec    Spec
	call    func(context.Context, Call, In) (Result, error)
	check   func(context.Context, In) error
	preview func(context.Context, Call, In) (Preview, error)
	probe   func(context.Context, Call, In) (Probed, error)
}

// Spec implements Tool.
func (t *typed[In]) Spec() Spec { return t.spec }

// Call implements Tool.
func (t *typed[In]) Call(ctx context.Context, c Call) (Result, error) {
	in, err := decodeInto[In](c.Args)
	if err != nil {
		return Result{}, err
	}
	return t.call(ctx, c, in)
}

// Check implements Guard: arguments that the Go type cannot hold are refused
// before anybody is asked to countersign them.
func (t *typed[In]) Check(ctx context.Context, args json.RawMessage) error {
	in, err := decodeInto[In](args)
	if err != nil || t.check == nil {
		return err
	}
	return t.check(ctx, in)
}

// withAbilities returns a tool that implements the optional interfaces exactly
// where it has something to say, since callers ask for them by type.
func (t *typed[In]) withAbilities() Tool {
	p, q := previewing[In]{t}, probing[In]{t}
	switch {
	case t.preview != nil && t.probe != nil:
		return struct {
			*typed[In]
			Previewer
			Prober
		}{t, p, q}
	case t.preview != nil:
		return struct {
			*typed[In]
			Previewer
		}{t, p}
	case t.probe != nil:
		return struct {
			*typed[In]
			Prober
		}{t, q}
	}
	return t
}

type previewing[In any] struct{ t *typed[In] }

// Preview implements Previewer.
func (p previewing[In]) Preview(ctx context.Context, c Call) (Preview, error) {
	in, err := decodeInto[In](c.Args)
	if err != nil {
		return Preview{}, err
	}
	return p.t.preview(ctx, c, in)
}

type probing[In any] struct{ t *typed[In] }

// Probe implements Prober.
func (p probing[In]) Probe(ctx context.Context, c Call) (Probed, error) {
	in, err := decodeInto[In](c.Args)
	if err != nil {
		return ProbedUnknown, err
	}
	return p.t.probe(ctx, c, in)
}

// decodeInto reads canonical arguments into a Go type. It fails only where the
// type holds less than the schema allows, such as an integer beyond 64 bits.
func decodeInto[In any](args json.RawMessage) (In, error) {
	var in In
	if err := json.Unmarshal(args, &in); err != nil {
		return in, &Failure{Code: InvalidArguments, Message: shorten(err.Error(), maxEcho)}
	}
	return in, nil
}

// toResult makes an observation of whatever a tool returns.
func toResult(out any) (Result, error) {
	switch out := out.(type) {
	case Result:
		return out, nil
	case string:
		return Result{Text: out}, nil
	}
	text, err := json.Marshal(out)
	if err != nil {
		return Result{}, fmt.Errorf("result of the tool: %w", err)
	}
	return Result{Text: string(text)}, nil
}

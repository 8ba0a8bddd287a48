package tools

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Panicked is a panic of a tool, turned into an error of that one call. The
// stack is for the log alone and is not part of the text.
type Panicked struct {
	Tool  string
	Cause string // type and message
	Stack []byte

	effects bool
}

// Error says what happened, without the stack.
func (p *Panicked) Error() string {
	return fmt.Sprintf("the tool %s crashed: %s", p.Tool, p.Cause)
}

// Unwrap makes it a known *Failure, unless the tool has effects: then nobody
// knows how far it came.
func (p *Panicked) Unwrap() error {
	if p.effects {
		return nil
	}
	return &Failure{Code: "crashed", Message: p.Error()}
}

// Safely runs f, which belongs to the tool of that name, and turns a panic into
// a *Panicked. With effects set the outcome is then unknown; without, the error
// is a *Failure too.
func Safely[T any](tool string, effects bool, f func() (T, error)) (out T, err error) {
	defer func() {
		if v := recover(); v != nil {
			cause := shorten(fmt.Sprintf("%T: %v", v, v), maxEcho)
			err = &Panicked{Tool: tool, Cause: cause, Stack: debug.Stack(), effects: effects}
		}
	}()
	return f()
}

// Execute calls a tool, and a panic of the tool is an error of the call.
func Execute(ctx context.Context, t Tool, c Call) (Result, error) {
	spec := t.Spec()
	return Safely(spec.Name, spec.Effects, func() (Result, error) { return t.Call(ctx, c) })
}

package apptest

import (
	"context"
	"encoding/json"
	"sync"

	"countersign/tools"
)

// Counter is a tool that counts its calls, with every trait that a test wants.
type Counter struct {
	Name       string
	Risk       tools.Risk
	Effects    bool
	Idempotent bool
	Private    bool
	Egress     bool
	Do         func(ctx context.Context, c tools.Call) (tools.Result, error) // nil: it succeeds
	Show       func(ctx context.Context, c tools.Call) (tools.Preview, error)
	Schema     string        // empty: {"what": string}
	Where      func() string // it acts by now, a part of its contract; nil: no place is said

	mu    sync.Mutex
	calls []tools.Call
}

// Spec is the counter's contract.
func (c *Counter) Spec() tools.Spec {
	schema := c.Schema
	if schema == "" {
		schema = `{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}`
	}
	where := ""
	if c.Where != nil {
		where = c.Where()
	}
	return tools.Spec{
		Name: c.Name, Description: "Counts.", Parameters: json.RawMessage(schema), Risk: c.Risk,
		Effects: c.Effects || c.Risk == tools.High || c.Risk == tools.Medium, Idempotent: c.Idempotent, Private: c.Private, Egress: c.Egress, Target: where,
	}
}

// Call counts, then does what the test wants.
func (c *Counter) Call(ctx context.Context, call tools.Call) (tools.Result, error) {
	c.mu.Lock()
	c.calls = append(c.calls, call)
	c.mu.Unlock()
	if c.Do != nil {
		return c.Do(ctx, call)
	}
	return tools.Result{Text: "done: " + string(call.Args), Effect: c.Name + " " + string(call.Args)}, nil
}

// Preview shows what the test wants.
func (c *Counter) Preview(ctx context.Context, call tools.Call) (tools.Preview, error) {
	if c.Show != nil {
		return c.Show(ctx, call)
	}
	return tools.Preview{Summary: "it counts"}, nil
}

// All are the calls so far.
func (c *Counter) All() []tools.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]tools.Call(nil), c.calls...)
}

// Count is how often it was called.
func (c *Counter) Count() int { return len(c.All()) }

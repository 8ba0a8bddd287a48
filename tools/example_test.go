package tools_test

import (
	"context"
	"fmt"

	"countersign/tools"
)

// restart is what the model fills in.
type restart struct {
	Service string `json:"service" jsonschema:"name of the service"`
	Force   bool   `json:"force,omitempty" jsonschema:"do not wait for open requests"`
}

// A tool is a specification, a Go type for its arguments and a function. The
// preview is what stands on the card before anybody approves.
func ExampleNew() {
	tool, err := tools.New(
		tools.Spec{Name: "restart_service", Description: "Restarts a service.", Risk: tools.High, Effects: true},
		func(_ context.Context, c tools.Call, in restart) (tools.Result, error) {
			return tools.Result{Text: "done, key " + c.IdempotencyKey(), Effect: "restarted " + in.Service}, nil
		},
		tools.WithPreview(func(_ context.Context, _ tools.Call, in restart) (tools.Preview, error) {
			return tools.Preview{Summary: in.Service + " has 3 open requests"}, nil
		}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	schema, _ := tools.Compile(tool.Spec())
	args, _ := tools.Parse(schema, `{"service": "shop", "force": "true", "thought": "It hangs."}`)
	result, _ := tools.Execute(context.Background(), tool, tools.Call{Run: "7", Step: "2", Args: args.Canonical})
	fmt.Println(string(args.Canonical), args.Thought)
	fmt.Println(result.Effect, "/", result.Text)

	_, err = tools.Parse(schema, `{"servic": "shop"}`)
	fmt.Println(err)
	// Output:
	// {"force":true,"service":"shop"} It hangs.
	// restarted shop / done, key 7-2
	// invalid_arguments: The arguments of restart_service do not fit, and nothing was run:
	// - arguments: missing: service
	// - /servic: there is no property of this name; did you mean service? Allowed: force, service
}

package main

import (
	"errors"
	"fmt"

	"countersign/internal/app"
	"countersign/internal/config"
	"countersign/internal/fault"
)

type configCmd struct {
	Check  configCheckCmd  `cmd:"" help:"Read the configuration and print ok, or everything that is wrong with it."`
	Schema configSchemaCmd `cmd:"" help:"Print the JSON Schema of countersign.yaml, for editors."`
}

type configCheckCmd struct {
	Explain string `placeholder:"JSON" help:"A call, as {\"tool\": …, \"args\": {…}, \"user\": \"U…\", \"channel\": \"C…\"}: which rule applies to it, and why."`
}

// Run checks the configuration, or explains what it says of one call.
func (c *configCheckCmd) Run(e *env) error {
	cfg, err := e.load()
	if err == nil && c.Explain != "" {
		return e.explain(cfg, c.Explain)
	}
	if err == nil {
		err = e.rules(cfg)
	}
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Fprintln(e.out, p)
		}
		return fault.New(fault.Invalid, "The configuration has %s.", count(len(problems), "problem"))
	}
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings() {
		fmt.Fprintf(e.out, "warning: %s\n", w)
	}
	fmt.Fprintln(e.out, "ok")
	return nil
}

// rules holds the rules against the tools that the configuration makes.
func (e *env) rules(cfg *config.Config) error {
	if len(cfg.Rules) == 0 {
		return nil
	}
	parts, err := app.NewParts(e.ctx, cfg, app.Options{Logger: e.log, Now: e.now})
	if err != nil {
		return err
	}
	return parts.Close()
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

type configSchemaCmd struct{}

// Run prints the JSON Schema.
func (*configSchemaCmd) Run(e *env) error {
	schema, err := config.Schema()
	if err != nil {
		return err
	}
	_, err = e.out.Write(schema)
	return err
}

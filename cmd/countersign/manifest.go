package main

import (
	"fmt"

	"countersign/internal/manifest"
)

type manifestCmd struct {
	Name string `default:"countersign" help:"What the app is called."`
}

// Run prints the app manifest.
func (c *manifestCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	m, err := manifest.For(cfg, c.Name)
	if err != nil {
		return err
	}
	text, err := m.YAML()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(e.out, text)
	return err
}

package main

import (
	"fmt"
	"time"

	"countersign/internal/app"
	"countersign/internal/fault"
	"countersign/internal/store"
)

type runsCostCmd struct {
	By    string        `enum:"user,channel,tool" default:"user" help:"user, channel or tool."`
	Since time.Duration `default:"720h" help:"Of the runs that began within this time."`
}

// Run prints what runs cost.
func (c *runsCostCmd) Run(e *env) error {
	if c.Since <= 0 {
		return fault.New(fault.Invalid, "--since is a time that has passed, like 720h.")
	}
	cfg, err := e.load()
	if err != nil {
		return err
	}
	return e.operate(func(o *app.Operator) error {
		all, err := o.Store.Costs(e.ctx, c.By, e.now().Add(-c.Since))
		if err != nil {
			return err
		}
		p := page{mask: o.Mask}
		heads := fmt.Sprintf("%s\tRUNS\tTOKENS\tCOST (%s)", heading(c.By), cfg.Model.Price.Currency)
		return list(e, all, "no runs", heads, func(s *store.Share) string {
			return fmt.Sprintf("%s\t%d\t%d\t%.4f", p.short(s.Of, 40), s.Runs, s.Tokens, float64(s.Cost)/1e6)
		})
	})
}

func heading(by string) string {
	return map[string]string{"user": "USER", "channel": "CHANNEL", "tool": "TOOL"}[by]
}

package main

import (
	"path/filepath"
	"time"

	"countersign/internal/demo"
)

type demoCmd struct {
	Dir   string        `default:"demo-data" placeholder:"DIR" help:"Where the demo keeps everything."`
	Fresh bool          `help:"Start over."`
	Addr  string        `placeholder:"HOST:PORT" help:"Address of the page, on loopback (default: the one before, else 127.0.0.1:8765)."`
	Think time.Duration `default:"600ms" help:"How long the scripted model takes for a reply."`
}

// Run plays the demo until it is told to stop.
func (c *demoCmd) Run(e *env) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	return demo.Run(e.ctx, demo.Options{
		Dir: dir, Fresh: c.Fresh, Addr: c.Addr, Think: c.Think, Env: e.lookup, Out: e.out, Logger: e.log,
	})
}

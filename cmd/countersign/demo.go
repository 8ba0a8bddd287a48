package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"countersign/internal/demo"
	"countersign/internal/fault"
	"countersign/internal/store"
)

type demoCmd struct {
	Dir   string        `default:"demo-data" placeholder:"DIR" help:"Where the demo keeps everything."`
	Fresh bool          `help:"Start over."`
	Addr  string        `placeholder:"HOST:PORT" help:"Address of the page, on loopback (default: the one before, else 127.0.0.1:8765)."`
	NoBot bool          `help:"Without the bot: prints the settings with which doctor and serve work in the demo's workspace."`
	Think time.Duration `default:"600ms" help:"How long the scripted model takes for a reply."`
}

// Run plays the demo until it is told to stop.
func (c *demoCmd) Run(e *env) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	o := demo.Options{Dir: dir, Fresh: c.Fresh, Addr: c.Addr, Think: c.Think, NoBot: c.NoBot, Env: e.lookup, Out: e.out, Logger: e.log}
	if err := demo.Check(o); err != nil {
		return err
	}
	// Before anything in the folder is emptied or written: another demo may run from it.
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fault.Wrap(err, fault.Invalid, "The demo's folder %s cannot be made: choose another with --dir.", dir)
	}
	release, err := store.LockFile(filepath.Join(dir, demo.Lock))
	if errors.Is(err, store.ErrLocked) {
		return fault.Wrap(err, fault.Invalid, "Another demo runs from %s: stop it first, or give this one its own --dir.", dir)
	}
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "The demo's folder %s cannot be written: choose another with --dir.", dir)
	}
	defer func() { _ = release() }() // the lock ends with the process at the latest
	return demo.Run(e.ctx, o)
}

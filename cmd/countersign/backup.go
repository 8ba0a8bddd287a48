package main

import (
	"fmt"

	"countersign/internal/app"
	"countersign/internal/store"
)

type backupCmd struct {
	File string `arg:"" help:"The file to write; it must not exist."`
}

// Run copies the SQLite database as it is at one moment, while it is served.
func (c *backupCmd) Run(e *env) error {
	err := e.operate(func(o *app.Operator) error { return o.Store.Backup(e.ctx, c.File) })
	if err != nil {
		return err
	}
	// A copy that cannot be read is worse than none, so it is read.
	copied, err := store.Open(e.ctx, store.Config{URL: "sqlite:" + c.File, Logger: e.log})
	if err != nil {
		return err
	}
	seq, err := e.whole(copied)
	if closing := copied.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "%s is a whole copy: its pages are sound, its record verifies up to entry %d.\n", c.File, seq)
	return nil
}

// whole says how far the record of a sound copy goes.
func (e *env) whole(s *store.Store) (seq int64, err error) {
	if err := s.CheckFile(e.ctx); err != nil {
		return 0, err
	}
	if err := s.VerifyAudit(e.ctx); err != nil {
		return 0, brokenChain(err)
	}
	seq, _, err = s.AuditHead(e.ctx)
	return seq, err
}

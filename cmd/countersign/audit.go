package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"countersign/internal/app"
	"countersign/internal/audit"
	"countersign/internal/fault"
	"countersign/internal/record"
	"countersign/internal/store"
)

type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Walk the whole record and say whether anything was changed, removed or put in between."`
	Export auditExportCmd `cmd:"" help:"Print the record as JSON Lines, with the chain."`
}

type auditVerifyCmd struct {
	Head string `placeholder:"N:HASH" help:"A head that was noted elsewhere: the record must still hold that entry."`
	File string `placeholder:"EXPORT" help:"Verify a file that 'audit export' wrote, without the database."`
}

// Run verifies the chain.
func (c *auditVerifyCmd) Run(e *env) error {
	if c.File != "" {
		return c.verifyFile(e)
	}
	return e.operate(func(o *app.Operator) error {
		if err := o.Store.VerifyAudit(e.ctx); err != nil {
			return brokenChain(err)
		}
		if c.Head != "" {
			if err := holds(e, o, c.Head); err != nil {
				return err
			}
		}
		seq, hash, err := o.Store.AuditHead(e.ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "ok: %s; the head is %d:%s\n", entries(seq), seq, hash)
		return nil
	})
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func brokenChain(err error) error {
	if !errors.Is(err, audit.ErrChain) {
		return err
	}
	return fault.Wrap(err, fault.Conflict, "The record is not as it was written: %s.", err)
}

// holds checks a head that somebody kept outside of the database: whoever can
// rewrite the whole chain cannot rewrite that.
func holds(e *env, o *app.Operator, head string) error {
	n, hash, err := parseHead(head)
	if err != nil {
		return err
	}
	err = o.Store.VerifyHead(e.ctx, n, hash)
	if errors.Is(err, store.ErrForgotten) {
		return fault.Wrap(err, fault.NotFound, "Entry %d was removed by retention; use a later head.", n)
	}
	if errors.Is(err, audit.ErrChain) {
		return fault.Wrap(err, fault.Conflict, "The record is not as it was when that head was noted: %s.", err)
	}
	return err
}

func parseHead(head string) (n int64, hash string, err error) {
	number, hash, ok := strings.Cut(head, ":")
	n, err = strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 1 || len(hash) < 16 {
		return 0, "", fault.New(fault.Invalid, "--head is N:HASH, as `audit verify`, `audit export` and settled cards show it.")
	}
	return n, hash, nil
}

type auditExportCmd struct {
	After int64  `placeholder:"N" help:"Only entries after this number."`
	Of    string `name:"run" placeholder:"ID" help:"Only entries about this run; the chain then has gaps."`
}

// exportBatch is how many entries are read at once.
const exportBatch = 1000

// Run prints the record.
func (c *auditExportCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error { return c.export(e, o) })
}

func (c *auditExportCmd) export(e *env, o *app.Operator) error {
	out := json.NewEncoder(e.out)
	out.SetEscapeHTML(false)
	var last audit.Head
	for after := c.After; ; {
		batch, err := o.Store.AuditEntries(e.ctx, after, exportBatch)
		if err != nil {
			return err
		}
		for _, x := range batch {
			after, last = x.Seq, audit.Head{Seq: x.Seq, Hash: x.Hash}
			if c.Of != "" && x.Run != c.Of {
				continue
			}
			if err := out.Encode(record.EntryOf(x)); err != nil {
				return fmt.Errorf("print entry %d: %w", x.Seq, err)
			}
		}
		if len(batch) == exportBatch {
			continue
		}
		if c.Of != "" || last.Seq == 0 {
			return nil
		}
		return out.Encode(exportEnd{Head: fmt.Sprintf("%d:%s", last.Seq, last.Hash)})
	}
}

// exportEnd is the last line of an export: without it the file was cut off.
type exportEnd struct {
	Head string `json:"head"`
}

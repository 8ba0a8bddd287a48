package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"countersign/internal/audit"
	"countersign/internal/fault"
	"countersign/internal/record"
)

// verifyFile walks an exported record. Its first entry may follow others, which the
// file does not hold; everything after it must be there, up to the head.
func (c *auditVerifyCmd) verifyFile(e *env) error {
	file, err := os.Open(c.File)
	if err != nil {
		return fault.Wrap(err, fault.NotFound, "The file %s cannot be opened.", c.File)
	}
	defer file.Close()
	x := exported{}
	if c.Head != "" {
		if x.wanted.Seq, x.wanted.Hash, err = parseHead(c.Head); err != nil {
			return err
		}
	}
	for in := bufio.NewReader(file); err == nil; {
		var line []byte
		line, err = in.ReadBytes('\n')
		if bad := x.line(line); bad != nil {
			return brokenChain(bad)
		}
	}
	if !errors.Is(err, io.EOF) {
		return fault.Wrap(err, fault.Invalid, "The file %s cannot be read: name the file that `countersign audit export` wrote.", c.File)
	}
	if err := x.end(); err != nil {
		return brokenChain(err)
	}
	fmt.Fprintf(e.out, "ok: %s; the head is %d:%s\n", entries(x.n), x.last.Seq, x.last.Hash)
	return nil
}

// exported is what was read of an export so far.
type exported struct {
	n      int64
	last   audit.Head
	wanted audit.Head // somebody noted it; zero: none
	found  bool
	closed bool // the line with the head was there
}

func (x *exported) line(raw []byte) error {
	if len(strings.TrimSpace(string(raw))) == 0 {
		return nil
	}
	var l struct {
		exportEnd
		record.Entry
	}
	if json.Unmarshal(raw, &l) != nil || x.closed {
		return fmt.Errorf("%w: what follows entry %d is no entry", audit.ErrChain, x.last.Seq)
	}
	if l.exportEnd.Head != "" {
		x.closed = true
		if l.exportEnd.Head != fmt.Sprintf("%d:%s", x.last.Seq, x.last.Hash) {
			return fmt.Errorf("%w: entry %d is not the last that was exported", audit.ErrChain, x.last.Seq)
		}
		return nil
	}
	entry := l.Entry.Audit()
	if x.n == 0 {
		x.last = audit.Head{Seq: entry.Seq - 1, Hash: entry.Prev}
	}
	var err error
	x.last, err = x.last.Next(entry)
	x.n++
	x.found = x.found || entry.Seq == x.wanted.Seq && strings.HasPrefix(entry.Hash, x.wanted.Hash)
	return err
}

func (x *exported) end() error {
	switch {
	case !x.closed:
		return fmt.Errorf("%w: the end of the file is missing, after entry %d", audit.ErrChain, x.last.Seq)
	case x.wanted.Seq > 0 && !x.found:
		return fmt.Errorf("%w: entry %d is not the one that was witnessed, or is not in the file", audit.ErrChain, x.wanted.Seq)
	}
	return nil
}

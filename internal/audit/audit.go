// Package audit says what an audit entry is and how entries are chained: each
// hash covers the entry's columns and the hash before it.
package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Entry is one fact of the record. Seq, Prev and Hash are given by the store.
type Entry struct {
	Seq      int64
	At       time.Time
	Kind     string // run.started, step.proposed, approval.opened, click.refused …
	Run      string
	Step     int
	Approval string
	Revision int
	Team     string // workspace of the person
	User     string // the person; empty: countersign itself
	Via      string // slack, cli, scheduler, worker
	Digest   string
	Data     string // JSON, secrets masked
	Prev     string
	Hash     string
}

// Sum computes the entry's hash over every column but the hash itself. Parts are
// length-prefixed, so that no two different entries have the same bytes.
func (e Entry) Sum() string {
	h := sha256.New()
	for _, p := range []string{
		strconv.FormatInt(e.Seq, 10), strconv.FormatInt(e.At.UnixMicro(), 10), e.Kind, e.Run, strconv.Itoa(e.Step),
		e.Approval, strconv.Itoa(e.Revision), e.Team, e.User, e.Via, e.Digest, e.Data, e.Prev,
	} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ErrChain says that entries are not as they were written.
var ErrChain = errors.New("the audit log was altered")

// Head is the last entry of a chain.
type Head struct {
	Seq  int64
	Hash string
}

// Next checks that an entry is the one after the head, and gives the new head.
func (h Head) Next(e Entry) (Head, error) {
	switch {
	case e.Seq != h.Seq+1:
		return h, fmt.Errorf("%w: entry %d is missing", ErrChain, h.Seq+1)
	case e.Prev != h.Hash:
		return h, fmt.Errorf("%w: entry %d does not follow entry %d", ErrChain, e.Seq, h.Seq)
	case e.Hash != e.Sum():
		return h, fmt.Errorf("%w: entry %d was changed", ErrChain, e.Seq)
	}
	return Head{Seq: e.Seq, Hash: e.Hash}, nil
}

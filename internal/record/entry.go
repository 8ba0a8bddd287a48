package record

import (
	"time"

	"countersign/internal/audit"
)

// Entry is the exported form of an entry of the record: every column, so that the
// chain can be computed again from it.
type Entry struct {
	Seq      int64     `json:"seq"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Run      string    `json:"run,omitempty"`
	Step     int       `json:"step,omitempty"`
	Approval string    `json:"approval,omitempty"`
	Revision int       `json:"revision,omitempty"`
	Team     string    `json:"team,omitempty"`
	User     string    `json:"user,omitempty"`
	Via      string    `json:"via,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Data     string    `json:"data"`
	Prev     string    `json:"prev"`
	Hash     string    `json:"hash"`
}

// EntryOf gives the exported form of an entry.
func EntryOf(e audit.Entry) Entry {
	e.At = e.At.UTC()
	return Entry(e)
}

// Audit gives the entry back.
func (e Entry) Audit() audit.Entry { return audit.Entry(e) }

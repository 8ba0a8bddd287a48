package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"countersign/internal/audit"
)

// auditRow is a row of audit_entries.
type auditRow struct {
	Seq      int64 `gorm:"primaryKey;autoIncrement:false"`
	At       int64
	Kind     string
	Run      string
	Step     int
	Approval string
	Revision int
	Team     string
	UserID   string
	Via      string
	Digest   string
	Data     string
	Prev     string
	Hash     string
}

// TableName names the table.
func (auditRow) TableName() string { return "audit_entries" }

func newAuditRow(e *audit.Entry) auditRow {
	return auditRow{
		Seq: e.Seq, At: micros(e.At), Kind: e.Kind, Run: e.Run, Step: e.Step, Approval: e.Approval, Revision: e.Revision,
		Team: e.Team, UserID: e.User, Via: e.Via, Digest: e.Digest, Data: e.Data, Prev: e.Prev, Hash: e.Hash,
	}
}

func (w *auditRow) entry() audit.Entry {
	return audit.Entry{
		Seq: w.Seq, At: instant(w.At), Kind: w.Kind, Run: w.Run, Step: w.Step, Approval: w.Approval, Revision: w.Revision,
		Team: w.Team, User: w.UserID, Via: w.Via, Digest: w.Digest, Data: w.Data, Prev: w.Prev, Hash: w.Hash,
	}
}

// head is the last entry of the log.
type head = audit.Head

// audit appends entries to the log. It must be the last thing a transaction does:
// from here to the commit every other writer of the log waits.
func (t *txn) audit(entries []audit.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var h head
	// The update of nothing takes the row: on Postgres it waits for whoever has it.
	if err := t.row("UPDATE audit_head SET seq = seq WHERE id = 1 RETURNING seq, hash").Scan(&h.Seq, &h.Hash); err != nil {
		return err
	}
	rows := make([]auditRow, len(entries))
	for i, e := range entries {
		e = t.chained(e, h)
		rows[i] = newAuditRow(&e)
		h = head{Seq: e.Seq, Hash: e.Hash}
	}
	if err := insert(t, rows...); err != nil {
		return err
	}
	_, err := t.changed("UPDATE audit_head SET seq = ?, hash = ? WHERE id = 1", h.Seq, h.Hash)
	return err
}

// chained gives an entry as it is stored after the head.
func (t *txn) chained(e audit.Entry, h head) audit.Entry {
	if e.At.IsZero() {
		e.At = t.now
	}
	e.Kind, e.Via, e.Data = clean(e.Kind), clean(e.Via), clean(e.Data)
	e.Run, e.Approval, e.Team, e.User = clean(e.Run), clean(e.Approval), clean(e.Team), clean(e.User)
	e.Digest = clean(e.Digest)
	e.Seq, e.Prev = h.Seq+1, h.Hash
	e.Hash = e.Sum()
	return e
}

// auditBatch is how many entries are read at once.
const auditBatch = 1000

// AuditHead gives the number and the hash of the last entry: 0 and nothing for an empty log.
func (s *Store) AuditHead(ctx context.Context) (seq int64, hash string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var h head
	err = s.read.WithContext(ctx).Raw("SELECT seq, hash FROM audit_head WHERE id = 1").Scan(&h).Error
	return h.Seq, h.Hash, translate(err)
}

// AuditEntries lists up to n entries after a number, in order.
func (s *Store) AuditEntries(ctx context.Context, after int64, n int) ([]audit.Entry, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return entries(s.read.WithContext(ctx).Where("seq > ?", after).Limit(n))
}

func entries(which *gorm.DB) ([]audit.Entry, error) {
	var rows []auditRow
	if err := which.Order("seq").Find(&rows).Error; err != nil {
		return nil, translate(err)
	}
	out := make([]audit.Entry, len(rows))
	for i := range rows {
		out[i] = rows[i].entry()
	}
	return out, nil
}

// VerifyAudit walks the whole log: an entry that was changed, a gap, another order
// or a missing tail gives audit.ErrChain with the number where it shows. What retention
// removed is represented by its checkpoint. It has no limit
// of time but the context's.
func (s *Store) VerifyAudit(ctx context.Context) error {
	end, endHash, err := s.AuditHead(ctx)
	if err != nil {
		return err
	}
	last, err := s.checkpoint(ctx)
	if err != nil {
		return err
	}
	for last.Seq < end {
		entries, err := s.AuditEntries(ctx, last.Seq, auditBatch)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			if last, err = last.Next(e); err != nil {
				return err
			}
			if e.Seq == end && e.Hash != endHash {
				return fmt.Errorf("%w: entry %d is not the head that was recorded", audit.ErrChain, e.Seq)
			}
		}
	}
	if last.Seq < end {
		return fmt.Errorf("%w: entries after %d are missing, %d were written", audit.ErrChain, last.Seq, end)
	}
	return nil
}

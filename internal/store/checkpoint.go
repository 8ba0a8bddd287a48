package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/internal/audit"
)

// ErrForgotten says that an entry lies before the checkpoint, so that the log can no
// longer be held against it.
var ErrForgotten = errors.New("the entry was removed by retention")

// shortestHash is how much of a hash a witness must have kept: as much as cards show.
const shortestHash = 16

// checkpoint gives the end of the removed beginning; zero when nothing was removed.
func (s *Store) checkpoint(ctx context.Context) (head, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var h head
	err := s.read.WithContext(ctx).Raw("SELECT seq, hash FROM audit_checkpoints WHERE id = 1").Scan(&h).Error
	return h, translate(err)
}

// VerifyHead is VerifyAudit, and holds the log against a head that somebody kept
// outside of the database: audit.ErrChain when the log lost that entry or has another in
// its place, which a rewrite of the whole chain cannot hide. The hash may be cut to
// sixteen digits, as cards show it.
func (s *Store) VerifyHead(ctx context.Context, seq int64, hash string) error {
	if len(hash) < shortestHash {
		return fmt.Errorf("a head needs %d digits of its hash", shortestHash)
	}
	if err := s.VerifyAudit(ctx); err != nil {
		return err
	}
	cut, err := s.checkpoint(ctx)
	if err != nil {
		return err
	}
	found := cut
	if seq > cut.Seq {
		entries, err := s.AuditEntries(ctx, seq-1, 1)
		if err != nil {
			return err
		}
		if len(entries) == 0 || entries[0].Seq != seq {
			return fmt.Errorf("%w: entry %d, which was witnessed, is missing", audit.ErrChain, seq)
		}
		found = head{Seq: seq, Hash: entries[0].Hash}
	}
	switch {
	case seq < cut.Seq:
		return fmt.Errorf("entry %d: %w, which ends at %d", seq, ErrForgotten, cut.Seq)
	case !strings.HasPrefix(found.Hash, hash):
		return fmt.Errorf("%w: entry %d is not the one that was witnessed", audit.ErrChain, seq)
	}
	return nil
}

// ForgetAudit removes the entries before an instant and puts a checkpoint in their
// place, from which the rest is verified. The removal is itself an entry. It says
// how many entries went. A log that does not verify is left as it is.
func (s *Store) ForgetAudit(ctx context.Context, before time.Time) (removed int64, err error) {
	if err := s.VerifyAudit(ctx); err != nil {
		return 0, err
	}
	err = s.transact(ctx, func(t *txn) error {
		removed = 0
		var last []head
		// The newest entry stays, so that there is always one to follow.
		err := t.Raw(`SELECT seq, hash FROM audit_entries WHERE at < ? AND seq < (SELECT seq FROM audit_head WHERE id = 1)
			AND NOT EXISTS (SELECT 1 FROM audit_entries later WHERE later.at >= ? AND later.seq < audit_entries.seq) ORDER BY seq DESC LIMIT 1`,
			micros(before), micros(before)).Scan(&last).Error
		if err != nil || len(last) == 0 {
			return err
		}
		if removed, err = t.cut(last[0]); err != nil {
			return err
		}
		data, err := json.Marshal(map[string]any{"seq": last[0].Seq, "hash": last[0].Hash, "removed": removed})
		if err != nil {
			return err
		}
		return t.audit([]audit.Entry{{Kind: "audit.checkpoint", Via: "scheduler", Data: string(data)}})
	})
	return removed, err
}

func (t *txn) cut(last head) (int64, error) {
	removed, err := t.changed("DELETE FROM audit_entries WHERE seq <= ?", last.Seq)
	if err != nil {
		return 0, err
	}
	_, err = t.changed(`INSERT INTO audit_checkpoints (id, seq, hash, at) VALUES (1, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at`, last.Seq, last.Hash, micros(t.now))
	return removed, err
}

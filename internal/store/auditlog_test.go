package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"countersign/internal/audit"
	"countersign/internal/store/storetest"
)

func TestTheChainHoldsUnderConcurrency(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		const writers, each = 8, 6
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				at := []*storetest.DB{db, other}[i%2]
				for j := range each {
					entry := audit.Entry{Kind: "click.refused", User: fmt.Sprint("U", i), Data: fmt.Sprintf(`{"n":%d,"text":"\u0000 %s"}`, j, "\xff\x00")}
					if err := at.Refuse(t.Context(), []audit.Entry{entry, entry}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		seq, hash, err := db.AuditHead(t.Context())
		if err != nil || seq != writers*each*2 || hash == "" {
			t.Errorf("head: %d %q, %v", seq, hash, err)
		}
		if err := db.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
		entries, err := db.AuditEntries(t.Context(), 3, 2)
		if err != nil || len(entries) != 2 || entries[0].Seq != 4 || entries[1].Prev != entries[0].Hash {
			t.Errorf("entries: %+v, %v", entries, err)
		}
	})
}

func TestVerifyFindsWhatWasAltered(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]string{
		"changed data":      "UPDATE audit_entries SET data = '{}' WHERE seq = 3",
		"changed person":    "UPDATE audit_entries SET user_id = 'U9' WHERE seq = 3",
		"changed time":      "UPDATE audit_entries SET at = at + 1 WHERE seq = 3",
		"changed run":       "UPDATE audit_entries SET run = 'r9' WHERE seq = 3",
		"changed step":      "UPDATE audit_entries SET step = 9 WHERE seq = 3",
		"changed approval":  "UPDATE audit_entries SET approval = 'a9' WHERE seq = 3",
		"changed revision":  "UPDATE audit_entries SET revision = 9 WHERE seq = 3",
		"changed kind":      "UPDATE audit_entries SET kind = 'other' WHERE seq = 3",
		"changed workspace": "UPDATE audit_entries SET team = 'T9' WHERE seq = 3",
		"changed way":       "UPDATE audit_entries SET via = 'cli' WHERE seq = 3",
		"changed digest":    "UPDATE audit_entries SET digest = 'd' WHERE seq = 3",
		"changed chain":     "UPDATE audit_entries SET prev = '' WHERE seq = 3",
		"changed hash":      "UPDATE audit_entries SET hash = '' WHERE seq = 3",
		"a gap":             "DELETE FROM audit_entries WHERE seq = 3",
		"a missing head":    "DELETE FROM audit_entries WHERE seq = 1",
		"a missing tail":    "DELETE FROM audit_entries WHERE seq >= 4",
		"no entries":        "DELETE FROM audit_entries",
		"another order":     "UPDATE audit_entries SET seq = CASE seq WHEN 2 THEN 103 ELSE 102 END WHERE seq IN (2, 3)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := storetest.SQLite(t)
			for i := range 5 {
				entry := audit.Entry{Kind: "click.refused", Run: "r1", Step: 1, Approval: "a1", Revision: 1, Team: "T1", User: "U1", Via: "slack", Data: fmt.Sprint(i)}
				if err := db.Refuse(t.Context(), []audit.Entry{entry}); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.VerifyAudit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Writer().ExecContext(t.Context(), alter); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Writer().ExecContext(t.Context(), "UPDATE audit_entries SET seq = seq - 100 WHERE seq > 100"); err != nil {
				t.Fatal(err)
			}
			if err := db.VerifyAudit(t.Context()); !errors.Is(err, audit.ErrChain) {
				t.Errorf("verify: %v", err)
			}
		})
	}
}

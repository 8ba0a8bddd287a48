package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/internal/audit"
	"countersign/internal/store"
	"countersign/internal/store/storetest"
)

func TestAHeadKeptElsewhereFindsACutTailAndARewrite(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		write := func(n int) {
			for range n {
				if err := db.Refuse(t.Context(), []audit.Entry{{At: db.Clock.Now(), Kind: "click.refused", Data: fmt.Sprint(n)}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		write(5)
		seq, hash, err := db.AuditHead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		write(2)
		for _, h := range []string{hash, hash[:16]} {
			if err := db.VerifyHead(t.Context(), seq, h); err != nil {
				t.Errorf("the head %d:%s: %v", seq, h, err)
			}
		}
		if err := db.VerifyHead(t.Context(), seq, hash[:8]); err == nil {
			t.Error("eight digits prove nothing")
		}
		if err := db.VerifyHead(t.Context(), 99, hash); !errors.Is(err, audit.ErrChain) {
			t.Errorf("a witnessed entry that is not there: %v", err)
		}
		// Somebody with the database writes the whole chain anew, head included: it
		// verifies in itself, and the witness knows better.
		exec(t, db, "DELETE FROM audit_entries")
		exec(t, db, "UPDATE audit_head SET seq = 0, hash = ''")
		write(9)
		if err := db.VerifyAudit(t.Context()); err != nil {
			t.Fatalf("a consistent rewrite: %v", err)
		}
		if err := db.VerifyHead(t.Context(), seq, hash); !errors.Is(err, audit.ErrChain) {
			t.Errorf("a rewrite: %v", err)
		}
	})
}

func TestRetentionLeavesACheckpoint(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		var heads []string
		for i := range 6 {
			if err := db.Refuse(t.Context(), []audit.Entry{{At: db.Clock.Now(), Kind: "click.refused", Data: fmt.Sprint(i)}}); err != nil {
				t.Fatal(err)
			}
			_, hash, err := db.AuditHead(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			heads = append(heads, hash)
			db.Clock.Step(time.Hour)
		}
		for _, want := range []int64{3, 0} {
			if n, err := db.ForgetAudit(t.Context(), db.Clock.Now().Add(-3*time.Hour)); err != nil || n != want {
				t.Fatalf("removed %d, %v; want %d", n, err, want)
			}
		}
		if err := db.VerifyAudit(t.Context()); err != nil {
			t.Errorf("after the checkpoint: %v", err)
		}
		for i, want := range []error{store.ErrForgotten, store.ErrForgotten, nil, nil, nil, nil} {
			if err := db.VerifyHead(t.Context(), int64(i+1), heads[i]); !errors.Is(err, want) {
				t.Errorf("the head of entry %d: %v, want %v", i+1, err, want)
			}
		}
		exec(t, db, "DELETE FROM audit_entries WHERE seq = 4")
		if err := db.VerifyAudit(t.Context()); !errors.Is(err, audit.ErrChain) {
			t.Errorf("a gap right after the checkpoint: %v", err)
		}
		if _, err := db.ForgetAudit(t.Context(), db.Clock.Now()); !errors.Is(err, audit.ErrChain) {
			t.Errorf("retention of a broken log: %v", err)
		}
	})
}

func exec(t *testing.T, db *storetest.DB, statement string) {
	t.Helper()
	if _, err := db.Writer().ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

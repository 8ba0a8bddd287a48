package store_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"countersign/internal/store/storetest"
)

// What a run costs on disk, as docs/operations.md says: one with an approval and the
// usual length of texts stays below 64 KiB of the database file.
func TestGrowthOfARun(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	size := func() int64 {
		if _, err := db.Writer().ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(strings.TrimPrefix(db.URL, "sqlite:"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	const runs = 60
	for i := range runs {
		ended(t, db, fmt.Sprint("warm", i))
	}
	before := size()
	for i := range runs {
		ended(t, db, fmt.Sprint(i))
	}
	if _, err := db.Writer().ExecContext(t.Context(), "UPDATE runs SET system = hex(zeroblob(2000))"); err != nil {
		t.Fatal(err)
	}
	each := (size() - before) / runs
	t.Logf("%d bytes a run", each)
	if each < 1<<10 || each > 64<<10 {
		t.Errorf("a run takes %d bytes", each)
	}
}

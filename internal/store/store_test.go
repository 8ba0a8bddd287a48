package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/fault"
	"countersign/internal/store"
	"countersign/internal/store/storetest"
)

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		url  string
		code fault.Code
	}{
		"nothing":           {"", fault.Invalid},
		"another database":  {"mysql://root@localhost/x", fault.Invalid},
		"no file":           {"sqlite:", fault.Invalid},
		"memory":            {"sqlite::memory:", fault.Invalid},
		"no such folder":    {"sqlite:/nowhere/at/all/x.db", fault.Unavailable},
		"nobody listens":    {"postgres://ana:secret@127.0.0.1:1/x?connect_timeout=1", fault.Unavailable},
		"a broken address":  {"postgres://ana:secret@[::1/x", fault.Unavailable},
		"a folder, no file": {"sqlite:" + os.TempDir(), fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := store.Open(t.Context(), store.Config{URL: tc.url})
			if fault.CodeOf(err) != tc.code {
				t.Fatalf("error %v, want %s", err, tc.code)
			}
			if m := fault.Message(err); strings.Contains(m, "secret") || m == "" {
				t.Errorf("message %q", m)
			}
		})
	}
}

func TestASQLiteFileWithAnOddName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c#d%20é.db")
	s, err := store.Open(t.Context(), store.Config{URL: "sqlite:" + path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil || s.Path() != path {
		t.Errorf("path %q: %v", s.Path(), err)
	}
}

func TestASQLiteFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink("real.db", link); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{URL: "sqlite:" + link})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"real.db", "real.db-wal"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", name, mode)
		}
	}
}

func TestSQLiteSettings(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		if got := texts(t, db, "PRAGMA "+pragma)[0]; got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
}

func TestLockFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	release, err := store.LockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.LockFile(path); !errors.Is(err, store.ErrLocked) {
		t.Errorf("the second lock: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = store.LockFile(path)
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

func TestDatabaseNow(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		want := db.Clock.Now()
		if db.Dialect() == store.Postgres {
			want = time.Now()
		}
		got, err := db.DatabaseNow(t.Context())
		if err != nil || got.Sub(want).Abs() > time.Minute {
			t.Errorf("database's clock %v, ours %v, %v", got, want, err)
		}
	})
}

// A call gives up at its deadline when the one writer is busy.
func TestTheDeadlineHoldsWhileTheWriterIsBusy(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	tx, err := db.Writer().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := db.Accept(ctx, storetest.Mention("1", db.Clock.Now())); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("accept: %v", err)
	}
	if _, err := db.Due(t.Context(), db.Clock.Now(), 1); err != nil { // readers do not wait for the writer
		t.Errorf("due: %v", err)
	}
}

// A server that drops our connections is not available for a moment; afterwards it is.
func TestPostgresDropsItsConnections(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	run := db.Start(t, "1")
	tx, err := db.Writer().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "UPDATE runs SET seen = seen"); err != nil { // so that others must wait
		t.Fatal(err)
	}
	told := make(chan error)
	go func() {
		told <- db.Tell(t.Context(), agent.Message{ID: "m1", Run: run, Kind: agent.Stop, At: db.Clock.Now()}, "2")
	}()
	const waiting = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	for len(texts(t, db, "SELECT CAST(pid AS text) FROM ("+waiting+") w")) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	if n := len(texts(t, db, "SELECT pg_terminate_backend(pid) FROM ("+waiting+") w")); n != 1 {
		t.Fatalf("%d connections were dropped", n)
	}
	if err := <-told; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("tell: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := db.Tell(t.Context(), agent.Message{ID: "m1", Run: run, Kind: agent.Stop, At: db.Clock.Now()}, "2"); err != nil {
		t.Errorf("tell again: %v", err)
	}
}

func TestElect(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		elect := func(owner string, want bool) {
			t.Helper()
			if got, err := db.Elect(t.Context(), "scheduler", owner, db.Clock.Now(), 10*time.Second); err != nil || got != want {
				t.Errorf("%s: %v, %v", owner, got, err)
			}
		}
		elect("one", true)
		elect("two", false)
		db.Clock.Step(9 * time.Second)
		elect("one", true) // renewed
		db.Clock.Step(9 * time.Second)
		elect("two", false)
		db.Clock.Step(2 * time.Second)
		elect("two", true)
		elect("one", false)
		if err := db.Resign(t.Context(), "two"); err != nil {
			t.Fatal(err)
		}
		elect("one", true)
		db.Clock.Step(time.Hour) // what a process with a wrong clock writes
		elect("wrong", true)
		db.Clock.Step(-time.Hour)
		elect("one", true)
		elect("two", false)
	})
}

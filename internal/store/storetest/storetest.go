// Package storetest opens migrated databases for tests: a SQLite file and a schema
// of a Postgres server, each of the test's own, with a clock that the test steps
// and a bell that remembers. Only tests import it.
package storetest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"countersign/internal/store"
)

// DB is a migrated database of one test.
type DB struct {
	*store.Store
	URL    string
	Clock  *Clock
	Bell   *Bell
	Wished *Counter // commits that asked for deliveries
}

// Each runs a test once on each database, in parallel.
func Each(t *testing.T, test func(t *testing.T, db *DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Postgres(t))
	})
}

// SQLite opens a fresh SQLite file.
func SQLite(t *testing.T) *DB {
	t.Helper()
	address, migrated := File(t)
	return open(t, address, NewClock(), migrated)
}

// File gives the address of a SQLite file of the test's own: migrated where the package
// calls Main, else empty.
func File(t testing.TB) (address string, migrated bool) {
	t.Helper()
	path, template := filepath.Join(folder(t), "test.db"), os.Getenv(fileVariable)
	if template == "" {
		return "sqlite:" + path, false
	}
	if err := copyFile(path, template); err != nil {
		t.Fatalf("copy the template: %v", err)
	}
	return "sqlite:" + path, true
}

// folder is one of the test's own: in memory where the system has room there, because
// SQLite waits for the disk at every commit.
func folder(t testing.TB) string {
	t.Helper()
	const memory, enough = "/dev/shm", 1 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < enough {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "countersign-test-") //nolint:usetesting // t.TempDir is on the disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Replica opens the same database once more, as another process would: with a pool
// and a bell of its own and the same clock.
func (db *DB) Replica(t *testing.T) *DB {
	t.Helper()
	return open(t, db.URL, db.Clock, true)
}

func open(t *testing.T, url string, clock *Clock, migrated bool) *DB {
	t.Helper()
	db := &DB{URL: url, Clock: clock, Bell: &Bell{}, Wished: &Counter{}}
	s, err := store.Open(t.Context(), store.Config{
		URL: url, Bell: db.Bell, OnWish: db.Wished.Add, Now: clock.Now,
		Patience: 2 * time.Minute, // hundreds wait for one row, on a machine that does other things
	})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if !migrated {
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatalf("migrate: %v", err)
		}
	}
	db.Store = s
	return db
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// Clock is a clock that stands still until it is stepped.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	real bool
}

// NewClock gives a clock that stands at a fixed instant, in a zone that is not UTC.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 3, 29, 1, 59, 58, 123_456_000, time.FixedZone("east", 9*3600))}
}

// Now gives the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real {
		return time.Now()
	}
	return c.now
}

// Follow makes the clock tell the real time from now on.
func (c *Clock) Follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.real = true
}

// Step moves the clock and gives its new time.
func (c *Clock) Step(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// Bell remembers the runs that were rung. Failing makes the next ring inside a
// transaction fail.
type Bell struct {
	mu      sync.Mutex
	ringing []string // inside transactions, committed or not
	rung    []string // after commits
	failing error
}

// Ring implements store.Bell.
func (b *Bell) Ring(_ context.Context, _ *sql.Tx, run string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ringing = append(b.ringing, run)
	return b.failing
}

// Rung implements store.Bell.
func (b *Bell) Rung(run string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rung = append(b.rung, run)
}

// Fail makes every ring inside a transaction fail with err from now on; nil ends that.
func (b *Bell) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failing = err
}

// Take gives what was rung after commits since the last call.
func (b *Bell) Take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Clone(b.rung)
	b.ringing, b.rung = nil, nil
	return out
}

// Counter counts calls.
type Counter struct {
	mu sync.Mutex
	n  int
}

// Add counts one call.
func (c *Counter) Add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// Take gives the count since the last call.
func (c *Counter) Take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

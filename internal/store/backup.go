package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"countersign/internal/fault"
)

// Backup writes the SQLite database as it is at one moment into a new file, while
// others work on it. The copy is readable for its owner alone. A Postgres database
// is not ours to copy: its own tools do that.
func (s *Store) Backup(ctx context.Context, file string) error {
	if s.dialect != SQLite {
		return fault.New(fault.Invalid, "Postgres has tools of its own for that: pg_dump --format=custom --file=%s DATABASE_URL", file)
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fault.Wrap(err, fault.Conflict, "%s exists already; a backup overwrites nothing.", file)
	}
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "%s cannot be written.", file)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	// SQLite writes into a file that is empty; it waits for no writer and no writer for it.
	if err := s.write.WithContext(ctx).Exec("VACUUM INTO ?", file).Error; err != nil {
		return errors.Join(fmt.Errorf("backup: %w", err), os.Remove(file))
	}
	return syncFile(file)
}

// syncFile waits until a file is on the disk.
func syncFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

// CheckFile says whether the pages of the SQLite file are sound and every reference
// leads somewhere; on Postgres it is for the server to know.
func (s *Store) CheckFile(ctx context.Context) error {
	if s.dialect != SQLite {
		return nil
	}
	var said []string
	if err := s.read.WithContext(ctx).Raw("PRAGMA integrity_check(3)").Scan(&said).Error; err != nil {
		return translate(err)
	}
	if len(said) != 1 || said[0] != "ok" {
		return fmt.Errorf("the database file is damaged: %v", said)
	}
	var dangling int64
	if err := s.read.WithContext(ctx).Raw("SELECT count(*) FROM pragma_foreign_key_check").Scan(&dangling).Error; err != nil {
		return translate(err)
	}
	if dangling > 0 {
		return fmt.Errorf("the database file is damaged: %d references lead nowhere", dangling)
	}
	return nil
}

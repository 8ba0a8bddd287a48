package store

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"countersign/internal/fault"
	"countersign/internal/queue"
	"countersign/migrations"
)

// migratePatience bounds a migration, waiting for another replica's included.
const migratePatience = 5 * time.Minute

// Migrate brings the schema up to date, one process at a time. A schema of a
// newer release is refused with ErrNewerSchema.
func (s *Store) Migrate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, migratePatience)
	defer cancel()
	if s.dialect == SQLite {
		release, err := s.awaitLock(ctx, s.path+"-migrate")
		if err != nil {
			return err
		}
		defer func() { _ = release() }()
	}
	p, err := s.provider(ctx)
	if err != nil {
		return err
	}
	if err := refuseNewer(ctx, p); err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return translate(err)
}

// OwnTables are names by which a database of ours is known, whatever its address.
func OwnTables() []string {
	return []string{"runs", "steps", "approvals", "revisions", "decisions", "audit_entries"}
}

// SchemaVersion gives the schema's version in the database and the one this program knows.
func (s *Store) SchemaVersion(ctx context.Context) (current, known int64, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	p, err := s.provider(ctx)
	if err != nil {
		return 0, 0, err
	}
	current, known, err = p.GetVersions(ctx)
	return current, known, translate(err)
}

func refuseNewer(ctx context.Context, p *goose.Provider) error {
	current, known, err := p.GetVersions(ctx)
	if err != nil {
		return translate(err)
	}
	if current > known {
		return fault.Wrap(ErrNewerSchema, fault.Conflict,
			"The database has schema %d, this release knows %d: use the newer release.", current, known)
	}
	return nil
}

func (s *Store) provider(ctx context.Context) (*goose.Provider, error) {
	files, dialect, err := s.schema()
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{
		goose.WithGoMigrations(queue.Migrations(s.dialect == Postgres)...),
		goose.WithDisableGlobalRegistry(true),
		goose.WithSlog(s.log),
	}
	if s.dialect == Postgres {
		locker, err := s.locker(ctx)
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(dialect, s.Writer(), files, options...)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return p, nil
}

func (s *Store) schema() (fs.FS, goose.Dialect, error) {
	if s.dialect == Postgres {
		files, err := migrations.Postgres()
		return files, goose.DialectPostgres, err
	}
	files, err := migrations.SQLite()
	return files, goose.DialectSQLite3, err
}

// locker gives goose's lock, one for each schema of a server rather than one for all.
func (s *Store) locker(ctx context.Context) (lock.SessionLocker, error) {
	var schema string
	if err := s.write.WithContext(ctx).Raw("SELECT current_database() || '.' || current_schema()").Scan(&schema).Error; err != nil {
		return nil, translate(err)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte("countersign migrations " + schema)) // never fails
	return lock.NewPostgresSessionLocker(
		lock.WithLockID(int64(h.Sum64()>>1)),
		lock.WithLockTimeout(1, uint64(migratePatience/time.Second)),
	)
}

// awaitLock takes a file's lock, waiting for whoever has it.
func (s *Store) awaitLock(ctx context.Context, path string) (func() error, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		release, err := LockFile(path)
		if !errors.Is(err, ErrLocked) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
	}
}

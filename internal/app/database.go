package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"countersign/internal/fault"
	"countersign/internal/queue"
	"countersign/internal/store"
)

// OpenStore opens and migrates the configured database.
func OpenStore(ctx context.Context, c store.Config) (*store.Store, error) {
	s, err := store.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := s.Migrate(ctx); err != nil {
		return nil, fmt.Errorf("%w", joinClose(err, s))
	}
	return s, nil
}

func joinClose(err error, s *store.Store) error {
	if closing := s.Close(); closing != nil {
		return fmt.Errorf("%w (and closing: %w)", err, closing)
	}
	return err
}

func (a *App) wireDatabase(ctx context.Context) (err error) {
	if err := a.lockFile(); err != nil { // before the schema is touched, until after the file is closed
		return err
	}
	c := store.Config{URL: a.cfg.Database.URL.Reveal(), Now: a.now, Logger: a.log}
	if a.store, err = OpenStore(ctx, c); err != nil {
		return err
	}
	a.stop.add(a.store.Close)
	a.ports = a.store
	if a.opt.Between != nil {
		a.ports = a.opt.Between(a.store)
	}
	a.ports = &observed{Ports: a.ports, set: a.metrics, tracer: a.tracer(), log: a.log}
	a.queue, err = queue.New(queue.Config{
		DB: a.store.Writer(), Postgres: a.store.URL(), Leases: a.ports, Owner: a.owner, Lease: a.opt.Lease, Sweep: a.opt.Sweep,
		DatabaseNow: a.store.DatabaseNow, Now: a.now, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.store.Attach(a.queue, func() {
		if e := a.live(); e != nil {
			e.bot.Poke()
		}
	})
	return nil
}

// lockFile refuses a second process on one SQLite file: each would hold runs in
// memory that the other takes for dead.
func (a *App) lockFile() error {
	path, ok := strings.CutPrefix(a.cfg.Database.URL.Reveal(), "sqlite:")
	if !ok {
		return nil
	}
	release, err := store.LockFile(path + ".lock")
	if errors.Is(err, store.ErrLocked) {
		return fault.Wrap(err, fault.Unavailable, "Another countersign already serves the database %s: stop it first, or give this one its own DATABASE_URL.", path)
	}
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "The database file %s cannot be used: its folder cannot be written.", path)
	}
	a.stop.add(release)
	return nil
}

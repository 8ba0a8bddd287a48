// Package store keeps runs, approvals, clicks, deliveries and the audit log in
// SQLite or Postgres. It implements the ports that agent, approvals/decisions, bot,
// internal/queue and internal/schedule declare, with one behaviour on both databases:
// every change of a state is one compare-and-set statement, judged by the rows it
// changed, and every change is one transaction: the run's row first, the audit last.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/bot"
)

// The ports that the store implements.
var (
	_ agent.Store     = (*Store)(nil)
	_ decisions.Store = (*Store)(nil)
	_ bot.Outbox      = (*Store)(nil)
	_ bot.Clicks      = (*Store)(nil)
	_ bot.Views       = (*Store)(nil)
)

// Bell tells whoever works on runs that one has become due. It carries no truth:
// a ring may be lost or doubled.
type Bell interface {
	// Ring announces the run inside the transaction that gave it work.
	Ring(ctx context.Context, tx *sql.Tx, run string) error
	// Rung tells this process, after the commit. It must not block.
	Rung(run string)
}

// Config says which database to open and how.
type Config struct {
	URL    string           // sqlite:FILE or postgres://…
	Bell   Bell             // nil: nobody is told; Attach can bring one later
	OnWish func()           // called after a commit that asked for deliveries; must not block; nil: nobody
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: none
	// Patience bounds every call whose context has no deadline of its own; 0: five seconds.
	Patience time.Duration
}

// Store is an open database.
type Store struct {
	dialect Dialect
	path    string // of the SQLite file
	url     string // of the Postgres server
	write   *gorm.DB
	read    *gorm.DB
	gate    *gate // SQLite's one writer; nil: the database has many
	inbox   inbox // of SQLite
	closers []func() error

	bell   Bell
	onWish func()
	now    func() time.Time
	log    *slog.Logger

	patience time.Duration
}

// Dialect says which database it is.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// patience is the usual Config.Patience.
const patience = 5 * time.Second

// Open opens the database. It does not migrate.
func Open(ctx context.Context, c Config) (*Store, error) {
	s := &Store{bell: c.Bell, onWish: c.OnWish, now: c.Now, log: c.Logger, patience: cmp.Or(c.Patience, patience)}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if err := s.open(ctx, c.URL); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Attach gives the store its bell, when the bell needs the open database to be made,
// and what is called after a commit that asked for deliveries. It is part of the
// wiring: call it before the store is used. Nil leaves what there is.
func (s *Store) Attach(bell Bell, onWish func()) {
	if bell != nil {
		s.bell = bell
	}
	if onWish != nil {
		s.onWish = onWish
	}
}

// Dialect says which database it is.
func (s *Store) Dialect() Dialect { return s.dialect }

// Writer gives the handle that writes, for the queue: on SQLite the only one.
func (s *Store) Writer() *sql.DB {
	db, err := s.write.DB()
	if err != nil { // cannot be: it was opened from a *sql.DB
		return nil
	}
	return db
}

// URL gives the address of the Postgres server, for a listener; empty on SQLite.
func (s *Store) URL() string { return s.url }

// Path gives the SQLite file; empty on Postgres.
func (s *Store) Path() string { return s.path }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return translate(s.Writer().PingContext(ctx))
}

// DatabaseNow gives the database's clock, to be compared with ours. SQLite has
// no clock of its own, so it gives the application's.
func (s *Store) DatabaseNow(ctx context.Context) (time.Time, error) {
	if s.dialect == SQLite {
		return s.now(), nil
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var us int64
	const clock = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
	err := s.write.WithContext(ctx).Raw(clock).Scan(&us).Error
	return instant(us), translate(err)
}

// Close closes the database.
func (s *Store) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// bound gives a context that ends after patience, unless it has a deadline.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.patience)
}

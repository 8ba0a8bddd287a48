package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	sqlite "github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/gormlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"countersign/internal/fault"
)

// Sizes of the pools. SQLite has one writer, because its own waiting is not fair
// and Go's pool of one is; Postgres is slower, not faster, with many connections
// on one hot row.
const (
	sqliteReaders = 4
	postgresConns = 10
)

func (s *Store) open(ctx context.Context, address string) error {
	switch {
	case strings.HasPrefix(address, "sqlite:"):
		return s.openSQLite(ctx, strings.TrimPrefix(address, "sqlite:"))
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		return s.openPostgres(ctx, address)
	}
	return fault.New(fault.Invalid, "DATABASE_URL must be sqlite:FILE or postgres://…")
}

func (s *Store) openSQLite(ctx context.Context, path string) (err error) {
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return fault.New(fault.Invalid, "DATABASE_URL names no file: use sqlite:FILE")
	}
	s.dialect, s.gate = SQLite, &gate{}
	if s.path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("path of the database: %w", err)
	}
	if err := private(s.path); err != nil {
		return unreachable(err, s.path)
	}
	if s.write, err = s.handle(ctx, sqliteDSN(s.path, false), 1); err != nil {
		return err
	}
	s.read, err = s.handle(ctx, sqliteDSN(s.path, true), sqliteReaders)
	return err
}

// private makes a missing file readable for its owner alone: it will hold people's words.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// handle opens one pool on the SQLite file.
func (s *Store) handle(ctx context.Context, dsn string, conns int) (*gorm.DB, error) {
	connector, err := new(sqlite.SQLite).OpenConnector(dsn)
	if err != nil {
		return nil, unreachable(err, s.path)
	}
	db := sql.OpenDB(keeping{connector})
	s.closers = append(s.closers, db.Close)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	if err := db.PingContext(ctx); err != nil {
		return nil, unreachable(err, s.path)
	}
	return gorm.Open(gormlite.OpenDB(db), gormConfig())
}

// sqliteDSN gives the settings of every connection: transactions take the write
// lock at once, a commit survives a power cut.
func sqliteDSN(path string, readOnly bool) string {
	q := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"},
		"modeof":  {path}, // the log beside the file is as private as the file
	}
	if readOnly {
		q["_txlock"] = []string{"deferred"}
		q["_pragma"] = []string{"busy_timeout(5000)", "foreign_keys(1)", "query_only(1)"}
	}
	query := strings.ReplaceAll(q.Encode(), "+", "%20") // SQLite does not read a plus as a space
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: query}
	return u.String()
}

func (s *Store) openPostgres(ctx context.Context, address string) error {
	s.dialect, s.url = Postgres, address
	db, err := sql.Open("pgx", address)
	if err != nil {
		return unreachable(err, host(address))
	}
	s.closers = append(s.closers, db.Close)
	db.SetMaxOpenConns(postgresConns)
	db.SetMaxIdleConns(postgresConns)
	if err := db.PingContext(ctx); err != nil {
		return unreachable(err, host(address))
	}
	s.write, err = gorm.Open(postgres.New(postgres.Config{Conn: db}), gormConfig())
	s.read = s.write
	return err
}

// host is what may be said of an address: no user, no password.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address given"
	}
	return u.Host + u.Path
}

func unreachable(cause error, where string) error {
	return fault.Wrap(cause, fault.Unavailable, "The database at %s cannot be reached.", where)
}

func gormConfig() *gorm.Config {
	return &gorm.Config{
		SkipDefaultTransaction: true,
		TranslateError:         true,
		Logger:                 logger.Discard, // errors are returned; statements hold people's words
	}
}

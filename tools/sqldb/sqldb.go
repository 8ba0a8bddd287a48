// Package sqldb lets an agent look into named SQL databases and change them:
// get_schema and query_sql read, execute_sql writes. Reading is kept harmless by the
// database itself (read-only transaction or query_only), writing by a person: before
// an INSERT, UPDATE or DELETE is approved it is tried and rolled back, its rows are
// shown, and it is committed only if it does just that.
//
// Nobody's grammar but the database's own decides what a statement means: SQLite tells
// through its authorizer which tables, functions and actions a statement compiles to,
// Postgres through the extended protocol (which takes one statement) and EXPLAIN. The
// tokenizer here only sorts out, and whatever it does not know is not tried beforehand.
package sqldb

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"countersign/tools"
)

// Database is one database that the tools may use.
type Database struct {
	Name     string     // what the model calls it
	URL      string     // "sqlite:FILE" or "postgres://…"; may hold a password, is never shown
	Write    bool       // execute_sql may change it
	Private  bool       // its rows are not for the channel; no sample values in get_schema
	Risk     tools.Risk // of execute_sql: medium or high; empty: high
	Egress   bool       // using it sends data out of the house
	MaxCost  float64    // of a query, in the units of Postgres' planner; 0: no limit
	Roles    []string   // who may ask for it; the same for all databases, as they share the tools
	Channels []string   // where it may be asked for; likewise
	Refuse   []string   // tables: a database with all of them, under whatever address, is not for tools
}

// Limits bound every call. Zero values take the defaults.
type Limits struct {
	Rows        int           // rows of one answer; default 200
	Bytes       int           // of the values of one answer; default 256 KiB
	Timeout     time.Duration // of one statement; default 10 s
	LockTimeout time.Duration // how long a change waits for locks; default 500 ms
	Changes     int           // rows that a previewed change may touch; default 1,000
}

func (l Limits) withDefaults() Limits {
	orElse(&l.Rows, 200)
	orElse(&l.Bytes, 256<<10)
	orElse(&l.Timeout, 10*time.Second)
	orElse(&l.LockTimeout, 500*time.Millisecond)
	orElse(&l.Changes, 1000)
	return l
}

func orElse[T int | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}

// database is a configured one with its engine.
type database struct {
	Database
	dialect dialect
	engine  engine
}

// New makes the tools for the databases: get_schema and query_sql, and execute_sql
// where one may be written. It connects to none of them: one that is down now is a
// failure of the calls that need it. The closer is to be called when no call runs.
func New(cfg []Database, limits Limits) ([]tools.Tool, io.Closer, error) {
	limits = limits.withDefaults()
	var all, writable []*database
	for _, c := range cfg {
		db, err := open(c, limits)
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(all, func(o *database) bool { return o.Name == db.Name }) {
			return nil, nil, fmt.Errorf("sql database %q is configured twice", db.Name)
		}
		if len(all) > 0 && !sameAudience(all[0].Database, c) {
			return nil, nil, fmt.Errorf("sql databases %q and %q share their tools and need the same roles and channels", all[0].Name, db.Name)
		}
		all = append(all, db)
		if c.Write {
			writable = append(writable, db)
		}
	}
	if len(all) == 0 {
		return nil, nothing{}, nil
	}
	made := []tools.Tool{newSchemaTool(all, limits), newQueryTool(all, limits)}
	if len(writable) > 0 {
		made = append(made, newExecuteTool(writable, limits))
	}
	return made, nothing{}, nil
}

// nothing is what there is to close: connections last one call.
type nothing struct{}

func (nothing) Close() error { return nil }

func sameAudience(a, b Database) bool {
	return slices.Equal(a.Roles, b.Roles) && slices.Equal(a.Channels, b.Channels)
}

var errNoName = errors.New("a sql database needs a name")

func open(c Database, limits Limits) (*database, error) {
	if c.Name == "" {
		return nil, errNoName
	}
	if c.Write && c.Risk != "" && c.Risk != tools.Medium && c.Risk != tools.High {
		return nil, fmt.Errorf("sql database %q: execute_sql has effects, so its risk is medium or high", c.Name)
	}
	if path, ok := strings.CutPrefix(c.URL, "sqlite:"); ok && path != "" {
		return &database{Database: c, dialect: sqliteDialect, engine: sqliteEngine{path: path, limits: limits, maxCost: c.MaxCost, refuse: c.Refuse}}, nil
	}
	if strings.HasPrefix(c.URL, "postgres://") || strings.HasPrefix(c.URL, "postgresql://") {
		e, err := newPostgres(c, limits)
		if err != nil {
			return nil, fmt.Errorf("sql database %q: %w", c.Name, err)
		}
		return &database{Database: c, dialect: postgresDialect, engine: e}, nil
	}
	return nil, fmt.Errorf("sql database %q: the url must start with sqlite: or postgres://", c.Name)
}

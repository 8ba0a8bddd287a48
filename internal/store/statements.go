package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	sqlite "github.com/ncruces/go-sqlite3/driver"
)

// SQLite prepares a statement anew each time it runs one, which takes longer than
// running most of ours. A connection here keeps what it has prepared; Postgres's
// driver does so by itself.

// mostStatements is how many prepared statements a connection keeps.
const mostStatements = 256

// keeping is a connector whose connections keep what they prepared.
type keeping struct{ driver.Connector }

// Connect opens a connection.
func (k keeping) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := c.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection to SQLite is a %T", c), c.Close())
	}
	return &keepingConn{sqliteConn: inner, idle: map[string]*keptStmt{}}, nil
}

type sqliteConn interface {
	sqlite.Conn
	driver.ExecerContext
	driver.NamedValueChecker
}

// keepingConn is one connection; as every connection it is used by one goroutine at a time.
type keepingConn struct {
	sqliteConn
	idle   map[string]*keptStmt // by text: prepared, reset and not in use
	closed bool
}

// PrepareContext gives an idle statement of the same text, or prepares one.
func (c *keepingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if s := c.idle[query]; s != nil {
		delete(c.idle, query)
		return s, nil
	}
	s, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	inner, ok := s.(sqliteStmt)
	if !ok {
		return s, nil
	}
	return &keptStmt{sqliteStmt: inner, conn: c, query: query}, nil
}

// Close closes the statements first: SQLite closes no connection that has some.
func (c *keepingConn) Close() error {
	c.closed = true
	var errs []error
	for _, s := range c.idle {
		errs = append(errs, s.sqliteStmt.Close())
	}
	c.idle = nil
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
}

// keptStmt goes back to its connection when it is closed. The driver resets it and
// clears its values after every execution; one that failed is not used again.
type keptStmt struct {
	sqliteStmt
	conn   *keepingConn
	query  string
	failed bool
}

// ExecContext executes the statement.
func (s *keptStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	res, err := s.sqliteStmt.ExecContext(ctx, args)
	s.failed = s.failed || err != nil
	return res, err
}

// QueryContext executes the statement and gives its rows.
func (s *keptStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.sqliteStmt.QueryContext(ctx, args)
	s.failed = s.failed || err != nil
	return rows, err
}

// Close keeps the statement, unless there is one of the same text or there are too many.
func (s *keptStmt) Close() error {
	c := s.conn
	if s.failed || c.closed || c.idle[s.query] != nil || len(c.idle) >= mostStatements {
		return s.sqliteStmt.Close()
	}
	c.idle[s.query] = s
	return nil
}

package sqldb

import (
	"context"
	"encoding/hex"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"
)

// Bounds of one SQLite connection. The length bounds every value and row that the
// engine makes, the heap everything that it holds (its memory is its own).
const (
	sqliteMaxLength = 8 << 20
	sqliteMaxHeap   = 256 << 20
)

// sqliteEngine is a database file.
type sqliteEngine struct {
	path    string
	limits  Limits
	maxCost float64
	refuse  []string
}

func (e sqliteEngine) place() string {
	whole, err := filepath.Abs(e.path)
	if err != nil {
		return e.path
	}
	if target, err := filepath.EvalSymlinks(whole); err == nil { // looked up each time: the file is opened anew, too
		return target
	}
	return whole
}

// sqliteConn is one connection for one call.
type sqliteConn struct {
	*sqlite3.Conn
	ctx context.Context
}

// open connects: without write access the file is opened for reading only, and
// the connection refuses changes too. A file that is not there is never made.
func (e sqliteEngine) open(ctx context.Context, write bool) (*sqliteConn, error) {
	mode, pragma := "rw", "foreign_keys(1)"
	if !write {
		mode, pragma = "ro", "query_only(1)"
	}
	values := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(" + millis(e.limits.LockTimeout) + ")", pragma}}
	dsn := "file:" + (&url.URL{Path: e.path}).EscapedPath() + "?" + values.Encode()
	c, err := sqlite3.OpenContext(ctx, dsn)
	if err != nil {
		return nil, err
	}
	c.SetInterrupt(ctx)
	bound(c)
	conn := &sqliteConn{Conn: c, ctx: ctx}
	if err := conn.reachable(e.refuse); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return conn, nil
}

// reachable refuses a database that is not for tools.
func (c *sqliteConn) reachable(refused []string) error {
	if len(refused) == 0 {
		return nil
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(refused)), ",")
	rows, err := c.rows("SELECT name FROM sqlite_schema WHERE name IN ("+marks+")", refused...)
	if err == nil && len(rows) == len(refused) {
		err = errKept
	}
	return err
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// compile prepares exactly one statement under the authorizer's eyes.
func (c *sqliteConn) compile(s statement, a *authorizer) (*sqlite3.Stmt, error) {
	if err := c.SetAuthorizer(a.decide); err != nil {
		return nil, err
	}
	stmt, tail, err := c.Prepare(s.text)
	if a.refused != "" {
		closeStmt(stmt)
		return nil, refuse("Not accepted here: " + a.refused + ".")
	}
	if err != nil {
		return nil, err
	}
	if stmt == nil || strings.TrimSpace(tail) != "" {
		closeStmt(stmt)
		return nil, refuse("Only one statement at a time.")
	}
	c.Limit(sqlite3.LIMIT_LENGTH, s.longest(a.calls))
	return stmt, nil
}

func closeStmt(stmt *sqlite3.Stmt) {
	if stmt != nil {
		stmt.Close()
	}
}

func (e sqliteEngine) read(ctx context.Context, s statement) (rowSet, error) {
	c, err := e.open(ctx, false)
	if err != nil {
		return rowSet{}, err
	}
	defer c.abandon()
	return guarded(func() (rowSet, error) { return c.read(s, e) })
}

func (c *sqliteConn) read(s statement, e sqliteEngine) (rowSet, error) {
	watch := newAuthorizer(false)
	stmt, err := c.compile(s, watch)
	if err != nil {
		return rowSet{}, err
	}
	defer stmt.Close()
	if !stmt.ReadOnly() {
		return rowSet{}, refuse("The statement is not one that only reads.")
	}
	if err := c.checkCost(s, watch.read, e.maxCost); err != nil {
		return rowSet{}, err
	}
	return collect(stmt, budget{rows: e.limits.Rows, bytes: e.limits.Bytes})
}

func (e sqliteEngine) plan(ctx context.Context, s statement) (string, error) {
	if !s.plannable() {
		return "", nil
	}
	c, err := e.open(ctx, false)
	if err != nil {
		return "", err
	}
	defer c.abandon()
	rows, err := guarded(func() ([][]cell, error) { return c.rows("EXPLAIN QUERY PLAN " + s.text) })
	return lastColumn(rows), err
}

// lastColumn joins the texts of a plan.
func lastColumn(rows [][]cell) string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = row[len(row)-1].text
	}
	return strings.Join(lines, "\n")
}

// collect reads rows to the limits.
func collect(stmt *sqlite3.Stmt, left budget) (rowSet, error) {
	set := rowSet{columns: make([]string, stmt.ColumnCount())}
	for i := range set.columns {
		set.columns[i] = stmt.ColumnName(i)
	}
	for stmt.Step() {
		row := make([]cell, len(set.columns))
		for i := range row {
			row[i] = sqliteCell(stmt.ColumnValue(i))
		}
		if !left.take(row) {
			set.more = true
			return set, nil
		}
		set.rows = append(set.rows, row)
	}
	return set, stmt.Err()
}

// sqliteCell writes a value as SQLite's own shell would. Text that is broken is written
// as its bytes, so that no two values look the same.
func sqliteCell(v sqlite3.Value) cell {
	switch v.Type() {
	case sqlite3.INTEGER:
		return cell{text: strconv.FormatInt(v.Int64(), 10), kind: "integer"}
	case sqlite3.FLOAT:
		return cell{text: strconv.FormatFloat(v.Float(), 'g', -1, 64), kind: "real"}
	case sqlite3.TEXT:
		if text := v.Text(); utf8.ValidString(text) {
			return cell{text: text, kind: "text"}
		}
		return cell{text: "x'" + hex.EncodeToString(v.Blob(nil)) + "'", kind: "broken text"}
	case sqlite3.BLOB:
		return cell{text: "x'" + hex.EncodeToString(v.Blob(nil)) + "'", kind: "blob"}
	default:
		return cell{null: true}
	}
}

// rows runs one of our own queries with its arguments bound as text.
func (c *sqliteConn) rows(sql string, args ...string) ([][]cell, error) {
	if err := c.SetAuthorizer(nil); err != nil {
		return nil, err
	}
	stmt, _, err := c.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	for i, arg := range args {
		if err := stmt.BindText(i+1, arg); err != nil {
			return nil, err
		}
	}
	set, err := collect(stmt, budget{rows: 1 << 20, bytes: sqliteMaxLength})
	return set.rows, err
}

func (e sqliteEngine) tables(ctx context.Context) ([]table, error) {
	c, err := e.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	rows, err := c.rows(`SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	var all []table
	for _, row := range rows {
		t, err := c.describe(row[0].text, row[1].text)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func (c *sqliteConn) describe(name, kind string) (table, error) {
	t := table{name: name, kind: kind}
	rows, err := c.rows(`SELECT c.name, c.type, c."notnull", c.pk, group_concat(f."table" || '(' || coalesce(f."to", '') || ')')
		FROM pragma_table_xinfo(?1) c LEFT JOIN pragma_foreign_key_list(?1) f ON f."from" = c.name
		WHERE c.hidden <> 1 GROUP BY c.cid ORDER BY c.cid`, name)
	for _, r := range rows {
		t.columns = append(t.columns, column{
			name: r[0].text, typ: r[1].text, notNull: r[2].text == "1", key: r[3].text != "0", references: r[4].text,
		})
	}
	return t, err
}

// explain keeps what SQLite said, without the file's path.
func (e sqliteEngine) explain(err error) error {
	switch {
	case errors.Is(err, sqlite3.INTERRUPT):
		return errTimeout
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED):
		return errBusy
	case errors.Is(err, sqlite3.CANTOPEN), errors.Is(err, sqlite3.NOTADB), errors.Is(err, sqlite3.IOERR):
		return errUnreachable
	case errors.Is(err, sqlite3.TOOBIG), errors.Is(err, sqlite3.NOMEM):
		return errTooBig
	}
	if own, ok := errors.AsType[*sqlite3.Error](err); ok {
		return &databaseError{message: strings.TrimPrefix(own.Error(), "sqlite3: "), lookup: own.Code() == sqlite3.ERROR}
	}
	return err
}

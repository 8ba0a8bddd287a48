package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// pgMaxMessage bounds one message of the server, hence one row.
const pgMaxMessage = 16 << 20

// pgFetch is how many rows are asked for at a time.
const pgFetch = 100

// postgresEngine is a Postgres database.
type postgresEngine struct {
	config  *pgconn.Config
	limits  Limits
	maxCost float64
	where   string
	refuse  []string
}

func (e postgresEngine) place() string {
	return e.where
}

// whereOf names the server, the database, the role, and the parameters of the address,
// which may choose a schema.
func whereOf(c *pgconn.Config) string {
	place := fmt.Sprintf("%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
	for _, f := range c.Fallbacks {
		place += fmt.Sprintf(",%s:%d", f.Host, f.Port)
	}
	for _, name := range slices.Sorted(maps.Keys(c.RuntimeParams)) {
		if name != "application_name" {
			place += fmt.Sprintf(" %s=%q", name, c.RuntimeParams[name])
		}
	}
	return place
}

// pgConn is one connection for one call.
type pgConn struct{ *pgconn.PgConn }

// newPostgres reads the address; every value that a statement could be compared by
// is written the same way on every connection.
func newPostgres(c Database, limits Limits) (postgresEngine, error) {
	config, err := pgconn.ParseConfig(c.URL)
	if err != nil {
		return postgresEngine{}, errors.New("the url is not one of Postgres") // the parser's own text may quote it
	}
	where := whereOf(config)
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(pgMaxMessage)
		return f
	}
	for name, value := range map[string]string{
		"application_name":                    "countersign",
		"statement_timeout":                   millis(limits.Timeout),
		"lock_timeout":                        millis(limits.LockTimeout),
		"idle_in_transaction_session_timeout": millis(2 * limits.Timeout),
		"standard_conforming_strings":         "on", // what the tokenizer takes for granted
		"client_encoding":                     "UTF8",
		"DateStyle":                           "ISO, YMD",
		"IntervalStyle":                       "iso_8601",
		"TimeZone":                            "UTC",
		"extra_float_digits":                  "1",
		"bytea_output":                        "hex",
	} {
		config.RuntimeParams[name] = value
	}
	return postgresEngine{config: config, limits: limits, maxCost: c.MaxCost, where: where, refuse: c.Refuse}, nil
}

// begin connects and opens a transaction whose snapshot is taken: from then on it
// cannot be turned from reading into writing.
func (e postgresEngine) begin(ctx context.Context, mode string) (pgConn, error) {
	conn, err := pgconn.ConnectConfig(ctx, e.config.Copy())
	if err != nil {
		return pgConn{}, errors.Join(errUnreachable, err)
	}
	c := pgConn{conn}
	if _, err := c.rows(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ "+mode); err != nil {
		c.abandon()
		return pgConn{}, err
	}
	if err := c.reachable(ctx, e.refuse); err != nil {
		c.abandon()
		return pgConn{}, err
	}
	return c, nil
}

// pgKept finds a schema with all of the tables.
const pgKept = `SELECT relnamespace FROM pg_catalog.pg_class WHERE relname = ANY($1::name[])
	GROUP BY relnamespace HAVING count(*) >= cardinality($1::name[]) AND count(*) > 0`

// reachable takes the snapshot and refuses a database that is not for tools.
func (c pgConn) reachable(ctx context.Context, refused []string) error {
	rows, err := c.rows(ctx, pgKept, pgArray(refused))
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return errKept
	}
	return nil
}

const (
	readOnly  = "READ ONLY"
	readWrite = "READ WRITE"
)

// abandon closes; the server rolls back what was not committed.
func (c pgConn) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.Close(ctx)
}

// query runs one statement through the extended protocol, which refuses more than
// one, with arguments and values as text. It stops reading at the budget.
func (c pgConn) query(ctx context.Context, sql string, left *budget, args ...string) (rowSet, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	r := c.ExecParams(ctx, sql, values, nil, nil, nil)
	var set rowSet
	for _, f := range r.FieldDescriptions() {
		set.columns = append(set.columns, f.Name)
	}
	for r.NextRow() {
		row := pgCells(r.Values())
		if set.more = set.more || !left.take(row); !set.more {
			set.rows = append(set.rows, row)
		}
	}
	_, err := r.Close()
	return set, err
}

func pgCells(values [][]byte) []cell {
	row := make([]cell, len(values))
	for i, v := range values {
		row[i] = cell{text: string(v), null: v == nil}
	}
	return row
}

// rows runs one of our own queries.
func (c pgConn) rows(ctx context.Context, sql string, args ...string) ([][]cell, error) {
	set, err := c.query(ctx, sql, &budget{rows: 1 << 20, bytes: 64 << 20}, args...)
	return set.rows, err
}

func (e postgresEngine) read(ctx context.Context, s statement) (rowSet, error) {
	c, err := e.begin(ctx, readOnly)
	if err != nil {
		return rowSet{}, err
	}
	defer c.abandon()
	if err := c.checkCalls(ctx, s); err != nil {
		return rowSet{}, err
	}
	left := budget{rows: e.limits.Rows, bytes: e.limits.Bytes}
	if s.verb() == "explain" || s.verb() == "show" {
		return c.query(ctx, s.text, &left)
	}
	if err := c.checkCost(ctx, s, e.maxCost); err != nil {
		return rowSet{}, err
	}
	return c.fetch(ctx, s.text, left)
}

func (e postgresEngine) plan(ctx context.Context, s statement) (string, error) {
	if !s.plannable() {
		return "", nil
	}
	c, err := e.begin(ctx, readOnly)
	if err != nil {
		return "", err
	}
	defer c.abandon()
	if _, err := c.visitPlan(ctx, s); err != nil {
		return "", err
	}
	rows, err := c.rows(ctx, "EXPLAIN "+s.text)
	return lastColumn(rows), err
}

// checkCost refuses queries that the server expects to be too expensive.
func (c pgConn) checkCost(ctx context.Context, s statement, limit float64) error {
	if limit <= 0 {
		return nil
	}
	rows, err := c.rows(ctx, "EXPLAIN (FORMAT JSON) "+s.text)
	if err != nil {
		return err
	}
	var plans []struct {
		Plan struct {
			Cost float64 `json:"Total Cost"`
		} `json:"Plan"`
	}
	if len(rows) == 1 && json.Unmarshal([]byte(rows[0][0].text), &plans) == nil && len(plans) == 1 && plans[0].Plan.Cost > limit {
		return tooExpensive(plans[0].Plan.Cost, limit)
	}
	return nil
}

// pgVolatile finds functions that their owners declare to have effects among the names
// that a statement calls, as functions, as fields of a row or as operators.
const pgVolatile = `SELECT p.proname FROM pg_catalog.pg_proc p WHERE p.provolatile = 'v'
	AND NOT (p.proname = ANY($2::name[]) AND p.pronamespace = 'pg_catalog'::regnamespace)
	AND (p.proname = ANY($1::name[]) OR p.proname = ANY($3::name[]) AND p.pronargs - p.pronargdefaults <= 1
	  AND EXISTS (SELECT 1 FROM pg_catalog.pg_type t WHERE t.oid = p.proargtypes[0] AND t.typtype IN ('c', 'd', 'p')))
	UNION ALL SELECT p.proname FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode
	WHERE o.oprname = ANY($4::name[]) AND p.oid >= 16384 AND p.provolatile = 'v'
	AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_operator b WHERE b.oprname = o.oprname AND b.oid < 16384)`

// checkCalls refuses functions that their owners declare to have effects. The
// read-only transaction stops writes; this stops what it does not: signals to other
// sessions, locks, files, sleeping.
func (c pgConn) checkCalls(ctx context.Context, s statement) error {
	rows, err := c.rows(ctx, pgVolatile, pgArray(s.callable()), pgArray(freshCalls), pgArray(s.fields()), pgArray(s.operators()))
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return refuse("The function " + rows[0][0].text + " may have effects (it is declared volatile) and is not accepted in query_sql.")
	}
	return nil
}

// fetch reads through a cursor, so that no more is computed and sent than is shown.
func (c pgConn) fetch(ctx context.Context, sql string, left budget) (rowSet, error) {
	if _, err := c.rows(ctx, "DECLARE countersign NO SCROLL CURSOR FOR "+sql); err != nil {
		return rowSet{}, err
	}
	var all rowSet
	for {
		set, err := c.query(ctx, "FETCH "+strconv.Itoa(pgFetch)+" FROM countersign", &left)
		if err != nil {
			return rowSet{}, err
		}
		all.columns, all.rows = set.columns, append(all.rows, set.rows...)
		if set.more || len(set.rows) < pgFetch {
			all.more = set.more
			return all, nil
		}
	}
}

// pgArray writes a list as an array literal.
func pgArray(items []string) string {
	b := []byte{'{'}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		for _, c := range []byte(item) {
			if c == '"' || c == '\\' {
				b = append(b, '\\')
			}
			b = append(b, c)
		}
		b = append(b, '"')
	}
	return string(append(b, '}'))
}

const pgTables = `SELECT n.nspname, c.relname,
	CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'table' END,
	coalesce(obj_description(c.oid, 'pg_class'), ''), a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
	EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY(i.indkey)),
	coalesce((SELECT k.confrelid::regclass::text FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.conkey = ARRAY[a.attnum] LIMIT 1), ''),
	coalesce(col_description(c.oid, a.attnum), '')
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
	WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
	AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_%'
	AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
	ORDER BY n.nspname, c.relname, a.attnum`

func (e postgresEngine) tables(ctx context.Context) ([]table, error) {
	c, err := e.begin(ctx, readOnly)
	if err != nil {
		return nil, err
	}
	defer c.abandon()
	rows, err := c.rows(ctx, pgTables)
	if err != nil {
		return nil, err
	}
	var all []table
	for _, r := range rows {
		if n := len(all); n == 0 || all[n-1].schema != r[0].text || all[n-1].name != r[1].text {
			all = append(all, table{schema: r[0].text, name: r[1].text, kind: r[2].text, comment: r[3].text})
		}
		t := &all[len(all)-1]
		t.columns = append(t.columns, column{
			name: r[4].text, typ: r[5].text, notNull: r[6].text == "t", key: r[7].text == "t", references: r[8].text, comment: r[9].text,
		})
	}
	return all, nil
}

// superuser names the role that is asked with, if nothing in the database is closed to it.
func (e postgresEngine) superuser(ctx context.Context) (string, error) {
	c, err := e.begin(ctx, readOnly)
	if err != nil {
		return "", err
	}
	defer c.abandon()
	rows, err := c.rows(ctx, "SELECT rolname FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolsuper")
	return lastColumn(rows), err
}

// lookupStates are errors about a name or a type, where the schema helps.
var lookupStates = []string{"42703", "42P01", "42883", "42804", "42702"}

// explain keeps what the server said. A lost or refused connection says nothing of its address.
func (e postgresEngine) explain(err error) error {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	if errors.Is(err, errUnreachable) || !ok {
		if pgconn.Timeout(err) {
			return errTimeout
		}
		return err
	}
	switch answer.Code {
	case "57014", "25P03": // query_canceled, idle_in_transaction_session_timeout
		return errTimeout
	case "55P03", "40001", "40P01": // lock_not_available, serialization_failure, deadlock_detected
		return errBusy
	}
	own := &databaseError{code: answer.Code, message: answer.Message, lookup: slices.Contains(lookupStates, answer.Code)}
	if answer.Detail != "" {
		own.message += ". " + answer.Detail
	}
	if answer.Hint != "" {
		own.message += ". " + answer.Hint
	}
	return own
}

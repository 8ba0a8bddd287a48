package sqldb_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"countersign/tools"
	"countersign/tools/sqldb"
)

// shopSQL makes the tables that the tests use, on both kinds of database.
const shopSQL = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, balance NUMERIC NOT NULL DEFAULT 0);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id), amount NUMERIC NOT NULL, status TEXT NOT NULL, created_at TEXT);
CREATE TABLE notes (body TEXT);
CREATE TABLE parents (id INTEGER PRIMARY KEY);
CREATE TABLE children (id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES parents(id) ON DELETE CASCADE);
INSERT INTO customers VALUES (1, '张三', 42.5), (2, 'Ana', 250), (3, 'Li', 10);
INSERT INTO orders VALUES (1, 1, 20, 'paid', '2026-01-05'), (2, 1, 30, 'open', '2026-01-06'), (3, 2, 1500, 'paid', '2026-01-07');
INSERT INTO notes VALUES ('a'), ('b');
INSERT INTO parents VALUES (1);
INSERT INTO children VALUES (1, 1);
`

// place is one database under test, with a way around the tools.
type place struct {
	kind  string
	cfg   sqldb.Database
	limit sqldb.Limits
	exec  func(t *testing.T, sql string)
	atEnd func(t *testing.T, sql string) // of Postgres: what the schema does not take with it
	value func(t *testing.T, sql string) string
}

// everywhere runs a test on each kind of database.
func everywhere(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlitePlace(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, postgresPlace(t))
	})
}

func sqlitePlace(t *testing.T) place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p := place{kind: "sqlite", cfg: sqldb.Database{Name: "shop", URL: "sqlite:" + path, Write: true}}
	p.exec = func(t *testing.T, sql string) {
		t.Helper()
		if err := c.Exec(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	p.value = func(t *testing.T, sql string) string {
		t.Helper()
		stmt, _, err := c.Prepare(sql)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		stmt.Step()
		return stmt.ColumnText(0)
	}
	p.exec(t, "PRAGMA journal_mode=WAL")
	p.exec(t, shopSQL)
	return p
}

// postgresPlace makes a schema of its own on the server that TEST_DATABASE_URL names.
func postgresPlace(t *testing.T) place {
	t.Helper()
	base := os.Getenv("TEST_DATABASE_URL")
	if base == "" {
		t.Skip("TEST_DATABASE_URL is not set")
	}
	schema := "sqldb_" + strings.ToLower(strings.Map(wordOnly, t.Name())) + "_" + time.Now().Format("150405.000000")[7:]
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", schema+",public")
	u.RawQuery = query.Encode()
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	p := place{kind: "postgres", cfg: sqldb.Database{Name: "shop", URL: u.String(), Write: true}}
	p.exec = func(t *testing.T, sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	p.value = func(t *testing.T, sql string) string {
		t.Helper()
		var value string
		if err := conn.QueryRow(t.Context(), "SELECT ("+sql+")::text").Scan(&value); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return value
	}
	p.atEnd = func(t *testing.T, sql string) {
		t.Helper()
		t.Cleanup(func() {
			if _, err := conn.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		})
	}
	p.exec(t, "CREATE SCHEMA "+schema)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context()) // which ends before the cleanup
		if _, err := conn.Exec(ctx, "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Errorf("drop %s: %v", schema, err)
		}
		conn.Close(ctx)
	})
	p.exec(t, shopSQL)
	return p
}

func wordOnly(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}

// find gives the tool of a name over the place's database.
func (p place) tool(t *testing.T, name string) tools.Tool {
	t.Helper()
	all, closer, err := sqldb.New([]sqldb.Database{p.cfg}, p.limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer.Close() })
	for _, tool := range all {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func call(sql string) tools.Call {
	args, err := json.Marshal(map[string]string{"sql": sql})
	if err != nil {
		panic(err)
	}
	return tools.Call{Run: "r1", Step: "1", Args: args}
}

func (p place) query(t *testing.T, sql string) (tools.Result, error) {
	t.Helper()
	return p.tool(t, "query_sql").Call(t.Context(), call(sql))
}

func (p place) preview(t *testing.T, sql string) tools.Preview {
	t.Helper()
	shown, err := p.tool(t, "execute_sql").(tools.Previewer).Preview(t.Context(), call(sql))
	if err != nil {
		t.Fatalf("preview of %s: %v", sql, err)
	}
	return shown
}

func (p place) execute(t *testing.T, sql string, shown *tools.Preview) (tools.Result, error) {
	t.Helper()
	c := call(sql)
	c.Preview = shown
	return p.tool(t, "execute_sql").Call(t.Context(), c)
}

// failed asserts a known failure of the given code and gives its message.
func failed(t *testing.T, err error, code string) string {
	t.Helper()
	f, ok := errors.AsType[*tools.Failure](err)
	if !ok {
		t.Fatalf("error = %v, want a Failure %s", err, code)
	}
	if f.Code != code {
		t.Fatalf("failure = %v, want code %s", f, code)
	}
	return f.Message
}

// schema is where the tables lie; SQLite has none.
func (p place) schema(t *testing.T) string {
	t.Helper()
	if p.kind == "sqlite" {
		return "main"
	}
	return p.value(t, "SELECT current_schema()")
}

package sqldb_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"countersign/tools"
	"countersign/tools/sqldb"
)

// contents is a fingerprint of all rows, to show that nothing changed.
func (p place) contents(t *testing.T) string {
	t.Helper()
	var all []string
	for _, sql := range []string{
		"SELECT count(*) FROM customers", "SELECT sum(balance) FROM customers", "SELECT count(*) FROM orders",
		"SELECT sum(amount) FROM orders", "SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM notes",
		"SELECT count(*) FROM children", "SELECT min(name) FROM customers",
	} {
		all = append(all, p.value(t, sql))
	}
	return strings.Join(all, " ")
}

// TestQueryRefuses: nothing gets through query_sql that changes anything, reaches out
// of the database or stays behind, on whichever gate it fails.
func TestQueryRefuses(t *testing.T) {
	t.Parallel()
	both := []string{
		"", ";", "-- only a comment", "/* open", "'open", `"open`, "SELECT 1; DELETE FROM orders", "SELECT 1;;SELECT 2",
		"SELECT 1 -- x\n; DELETE FROM orders", "SELECT 1 /* ; */ ; DROP TABLE orders", "DELETE FROM orders", "INSERT INTO notes VALUES ('x')",
		"UPDATE orders SET status = 'x'", "DROP TABLE notes", "CREATE TABLE x (a int)", "WITH x AS (SELECT 1) DELETE FROM orders",
		"WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone", "BEGIN", "COMMIT", "ROLLBACK", "VACUUM",
		"SELECT $1", "SELECT 1\x00; DELETE FROM orders", "(DELETE FROM orders)", "SELECT \x01",
		"EXPLAIN ANALYZE DELETE FROM orders", "SELECT load_extension('x')",
	}
	only := map[string][]string{
		"sqlite": {
			"ATTACH '/tmp/x.db' AS x", "DETACH main", "PRAGMA query_only = 0", "PRAGMA journal_mode = DELETE", "PRAGMA table_info(orders); DELETE FROM orders",
			"VACUUM INTO '/tmp/x.db'", "SELECT ?", "SELECT :name", "SELECT @name", "SELECT 1 /* ' */; DELETE FROM orders",
			"SELECT [a;b]; DELETE FROM orders", "SELECT readfile('/etc/passwd')", "SELECT writefile('x', 'y')", "REPLACE INTO notes VALUES ('x')",
			"SELECT * FROM pragma_journal_mode('delete')", "SELECT * FROM pragma_optimize", "SELECT * FROM pragma_wal_checkpoint('truncate')", "EXPLAIN PRAGMA query_only = 0",
			"SELECT * FROM pragma_integrity_check", "SELECT * FROM fsdir('/')", "SELECT * FROM sqlite_dbpage", "SELECT fts3_tokenizer('x')", "SHOW tables", "TABLE orders",
		},
		"postgres": {
			"COPY orders TO PROGRAM 'touch /tmp/x'", "COPY (SELECT 1) TO '/tmp/x'", "COPY notes FROM PROGRAM 'id'", "SET transaction_read_only = off",
			"RESET ALL", "DO $$ BEGIN DELETE FROM orders; END $$", "CALL x()", "LOCK TABLE orders", "LISTEN x", "NOTIFY x", "PREPARE x AS SELECT 1",
			"DECLARE c CURSOR FOR SELECT 1", "SELECT 1 INTO x", "SELECT * INTO x FROM orders", "SELECT * FROM orders FOR UPDATE",
			"SELECT set_config('transaction_read_only', 'off', true)", "SELECT pg_catalog.set_config('statement_timeout', '0', false)",
			`SELECT "set_config"('statement_timeout', '0', false)`, "SELECT pg_terminate_backend(1)", "SELECT pg_sleep(1)", "SELECT nextval('x')",
			"SELECT pg_read_file('/etc/passwd')", "SELECT lo_import('/etc/passwd')", "SELECT lo_export(1, '/tmp/x')", "SELECT pg_advisory_lock(1)",
			"SELECT query_to_xml('DELETE FROM orders', true, true, '')", "SELECT dblink_exec('', '')", "SELECT pg_notify('a', 'b')",
			"SELECT pg_sleep /* c */ (1)", "SELECT * FROM pg_sleep(1)", "SELECT touch()", `SELECT "Touch"()`, "SELECT U&'a'", "EXPLAIN ANALYZE SELECT touch()",
			"SELECT 1 /* /* */ ; */ ; DELETE FROM orders", "SELECT $x$ ; $x$; DELETE FROM orders", `SELECT E'\'; DELETE FROM orders; --'; DELETE FROM orders`,
			"EXPLAIN ANALYZE CREATE TABLE explained AS SELECT 1", "EXPLAIN (ANALYZE) INSERT INTO notes VALUES ('x')",
			"EXPLAIN (ANALYZE, WAL) WITH gone AS (DELETE FROM notes RETURNING 1) SELECT * FROM gone", "EXPLAIN ANALYZE EXECUTE x",
			"SELECT o.lookup FROM orders o", "SELECT (o).lookup FROM orders o", `SELECT o."lookup" FROM orders o`, "SELECT orders.lookup FROM orders",
			"SELECT * FROM crosstab('SELECT pg_advisory_lock(1)::text, 1, 2') AS c(a text, b text)", "SELECT * FROM sneaky", "SELECT ts_stat('SELECT touch()')",
			"SELECT * FROM connectby('touch()', 'a', 'b', '1', 0) AS t(a int, b int, c int)", "SELECT xpath_table('a', 'b', 'c', 'd', 'touch() = 1')",
			"SELECT dblink_open('x', 'SELECT 1')", "SELECT pg_ls_waldir()", "SELECT lo_get(1)", "SELECT pg_try_advisory_lock(1)", "SELECT setval('x', 1)",
			"SELECT PG_Terminate_Backend(1)", "SELECT setseed(1)", "SELECT pg_stat_reset()", "SET ROLE postgres", "RESET ROLE", "SHUTDOWN", "EXECUTE x", "DEALLOCATE ALL",
		},
	}
	everywhere(t, func(t *testing.T, p place) {
		p.defineTouch(t)
		before := p.contents(t)
		tool := p.tool(t, "query_sql")
		for _, sql := range append(both, only[p.kind]...) {
			got, err := tool.Call(t.Context(), call(sql))
			if _, known := errors.AsType[*tools.Failure](err); !known {
				t.Errorf("%q: %q, error %v", sql, got.Text, err)
			}
		}
		if after := p.contents(t); after != before {
			t.Errorf("contents %s, before %s", after, before)
		}
		if p.kind == "postgres" && p.value(t, "SELECT count(*) FROM pg_class WHERE relname = 'explained'") != "0" {
			t.Error("a table was made")
		}
	})
}

// TestOperatorsWithEffects: a function behind an operator is called, too. The database is
// one of its own, since such an operator is in the way of every preview in its database.
func TestOperatorsWithEffects(t *testing.T) {
	t.Parallel()
	outer := postgresPlace(t)
	name := outer.schema(t)
	outer.exec(t, "CREATE DATABASE "+name)
	outer.atEnd(t, "DROP DATABASE "+name+" WITH (FORCE)")
	u, err := url.Parse(outer.cfg.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	p := outer
	p.cfg.URL = u.String()
	if _, err := p.execute(t, "CREATE TABLE public.orders (id int PRIMARY KEY)", nil); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `CREATE FUNCTION public.meddle(int, int) RETURNS boolean LANGUAGE sql AS $$ SELECT pg_advisory_lock(7) IS NULL $$;
		CREATE OPERATOR public.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = public.meddle)`); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"SELECT 1 === 2", "SELECT 1 OPERATOR(public.===) 2", "SELECT count(*) FROM orders WHERE id===-1"} {
		_, err := p.query(t, sql)
		if message := failed(t, err, "invalid"); !strings.Contains(message, "meddle") {
			t.Error(message)
		}
	}
	if _, err := p.query(t, "SELECT count(*) FROM orders WHERE id >= -1 AND id != 7"); err != nil {
		t.Error(err)
	}
	if shown := p.preview(t, "DELETE FROM orders"); !strings.Contains(shown.Untried, "operators of its own with effects") {
		t.Errorf("%+v", shown)
	}
}

// defineTouch makes functions with effects of their own, one of them with capitals; one
// is called without brackets, and one by a view.
func (p place) defineTouch(t *testing.T) {
	t.Helper()
	if p.kind != "postgres" {
		return
	}
	for _, name := range []string{"touch", `"Touch"`} {
		p.exec(t, "CREATE FUNCTION "+name+"() RETURNS int LANGUAGE sql AS $$ INSERT INTO notes VALUES ('touched'); SELECT 1 $$")
	}
	p.exec(t, `CREATE FUNCTION lookup(orders) RETURNS text LANGUAGE sql AS $$ SELECT pg_advisory_lock(7)::text $$;
		CREATE VIEW sneaky AS SELECT touch() AS a`)
}

// TestQueryAccepts: what only looks dangerous runs.
func TestQueryAccepts(t *testing.T) {
	t.Parallel()
	both := map[string]string{
		"SELECT 'a; DELETE FROM orders'":                                "a; DELETE FROM orders",
		"SELECT 'it''s -- not /* a comment'":                            "it's -- not /* a comment",
		"/* lead */ SELECT count(*) FROM orders -- trail; DROP TABLE x": "3",
		"WITH x AS (SELECT 1 AS a) SELECT a FROM x;":                    "1",
		"VALUES (7)": "7",
		"SELECT upper(status) FROM orders LIMIT 1": "PAID",
		"SELECT NULL": "NULL",
		"SELECT ''":   `""`,
		"(SELECT 5)":  "5",
		`SELECT "name" FROM customers WHERE id=2`:            "Ana",
		"SELECT o.status FROM orders AS o WHERE o.id-1=-1+2": "open",
	}
	everywhere(t, func(t *testing.T, p place) {
		tool := p.tool(t, "query_sql")
		for sql, want := range both {
			if p.kind == "sqlite" && strings.HasPrefix(sql, "(") {
				continue // SQLite has no brackets around a whole query
			}
			got, err := tool.Call(t.Context(), call(sql))
			if err != nil || !strings.Contains(got.Text, "\n"+want+"\n") {
				t.Errorf("%s: %q, %v", sql, got.Text, err)
			}
		}
	})
}

// TestExecuteRefuses: what execute_sql does not take at all.
func TestExecuteRefuses(t *testing.T) {
	t.Parallel()
	both := []string{
		"SELECT 1", "", "DELETE FROM orders; DELETE FROM notes", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT x", "VACUUM", "EXPLAIN DELETE FROM orders",
		"CREATE TRIGGER x AFTER INSERT ON notes BEGIN DELETE FROM orders; END", "INSERT INTO notes VALUES (load_extension('x'))", "DELETE FROM orders WHERE id = $1",
		"CREATE", "CREATE \"table\" x (a int)", "DELETE FROM orders /* open",
	}
	only := map[string][]string{
		"sqlite": {
			"ATTACH 'x.db' AS x", "PRAGMA foreign_keys = 0", "PRAGMA writable_schema = 1", "VACUUM INTO 'x.db'", "CREATE VIRTUAL TABLE x USING fts5(a)",
			"CREATE TEMP TRIGGER x AFTER INSERT ON notes BEGIN SELECT 1; END", "DELETE FROM sqlite_schema", "UPDATE sqlite_schema SET sql = ''",
		},
		"postgres": {
			"COPY notes FROM PROGRAM 'id'", "COPY notes TO PROGRAM 'id'", "DO $$ BEGIN END $$", "CALL x()", "SET ROLE postgres", "ALTER SYSTEM SET x = 1",
			"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
			"CREATE ROLE x", "ALTER ROLE x SUPERUSER", "DROP ROLE x", "CREATE EXTENSION dblink", "CREATE DATABASE x", "GRANT ALL ON orders TO PUBLIC",
			"CREATE SERVER x FOREIGN DATA WRAPPER y", "INSERT INTO notes VALUES (pg_read_file('/etc/passwd'))", "CREATE RULE x AS ON INSERT TO notes DO NOTHING",
			"UPDATE notes SET body = lo_export(1, '/tmp/x')::text", "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC", "CREATE POLICY x ON notes",
			"CREATE SCHEMA made GRANT ALL ON orders TO PUBLIC", "CREATE SCHEMA IF NOT EXISTS made AUTHORIZATION CURRENT_USER", "CREATE SCHEMA AUTHORIZATION CURRENT_USER",
			"CREATE SCHEMA made CREATE TABLE t (a int) CREATE TRIGGER x BEFORE INSERT ON t EXECUTE FUNCTION suppress_redundant_updates_trigger()",
			"ALTER TABLE notes OWNER TO CURRENT_USER", "ALTER TABLE notes DISABLE TRIGGER ALL", "ALTER TABLE notes DISABLE ROW LEVEL SECURITY", "ALTER TABLE notes ENABLE ALWAYS RULE x",
			"UPDATE pg_authid SET rolsuper = true WHERE false", "WITH x AS (SELECT 1) DELETE FROM pg_proc WHERE false", "INSERT INTO pg_catalog.pg_description VALUES (1, 1, 1, 'x')",
			"DELETE FROM pg_proc WHERE false RETURNING oid", "WITH x AS (DELETE FROM pg_proc WHERE false RETURNING oid) INSERT INTO notes SELECT oid::text FROM x",
			"MERGE INTO pg_authid a USING orders o ON false WHEN MATCHED THEN DELETE", "TRUNCATE pg_proc", "INSERT INTO notes SELECT dblink_open('x', 'SELECT 1')",
			"INSERT INTO notes SELECT pg_ls_waldir()::text", "WITH x AS (SELECT PG_Terminate_Backend(1)) DELETE FROM notes", "CREATE VIEW x AS SELECT pg_read_file('/etc/passwd')",
			"ALTER TABLE notes ADD COLUMN x text DEFAULT pg_read_file('/etc/passwd')", "CREATE FOREIGN TABLE x (a text) SERVER y OPTIONS (program 'id')",
			"EXPLAIN ANALYZE WITH gone AS (DELETE FROM notes RETURNING 1) SELECT 1", "LISTEN x", "NOTIFY x", "LOCK TABLE orders", "SECURITY LABEL ON TABLE notes IS 'x'",
			"REASSIGN OWNED BY CURRENT_USER TO postgres", "IMPORT FOREIGN SCHEMA x FROM SERVER y INTO z", "CREATE PUBLICATION x FOR ALL TABLES", "CREATE EVENT TRIGGER x ON ddl_command_start EXECUTE FUNCTION y()",
		},
	}
	everywhere(t, func(t *testing.T, p place) {
		before := p.contents(t)
		tool := p.tool(t, "execute_sql")
		for _, sql := range append(both, only[p.kind]...) {
			_, err := tool.Call(t.Context(), call(sql))
			if _, known := errors.AsType[*tools.Failure](err); !known {
				t.Errorf("%q: error %v", sql, err)
			}
		}
		if after := p.contents(t); after != before {
			t.Errorf("contents %s, before %s", after, before)
		}
	})
}

// TestServersOwnTablesHaveNoCard: what is refused is refused before anybody is asked.
func TestServersOwnTablesHaveNoCard(t *testing.T) {
	t.Parallel()
	p := postgresPlace(t)
	for _, sql := range []string{"UPDATE pg_authid SET rolsuper = true WHERE false", "WITH x AS (SELECT 1) DELETE FROM pg_proc WHERE false"} {
		_, err := p.tool(t, "execute_sql").(tools.Previewer).Preview(t.Context(), call(sql))
		if message := failed(t, err, "invalid"); !strings.Contains(message, "a table of the server itself") {
			t.Error(message)
		}
	}
	for _, sql := range []string{"ALTER TABLE notes RENAME COLUMN body TO owner", "ALTER TABLE notes RENAME owner TO body", "CREATE SCHEMA IF NOT EXISTS public"} {
		if _, err := p.execute(t, sql, nil); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestReadOnlyFileStaysAsItIs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b%?#.db")
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	c.Close()
	p := place{cfg: sqldb.Database{Name: "d", URL: "sqlite:" + path}}
	got, err := p.query(t, "SELECT a FROM t")
	if err != nil || got.Text != "a\n1\n(1 row)" {
		t.Errorf("%q, %v", got.Text, err)
	}
	p.cfg.URL = "sqlite:" + path + ".missing"
	_, err = p.query(t, "SELECT 1")
	if message := failed(t, err, "unavailable"); strings.Contains(message, "missing") {
		t.Errorf("the message holds the path: %s", message)
	}
	if _, err := os.Stat(path + ".missing"); !os.IsNotExist(err) {
		t.Errorf("the file was made: %v", err)
	}
}

// TestForeignTablesAreNotTried: what happens on another server cannot be rolled back here.
func TestForeignTablesAreNotTried(t *testing.T) {
	t.Parallel()
	p := postgresPlace(t)
	name := p.schema(t)
	p.exec(t, "CREATE FOREIGN DATA WRAPPER "+name)
	p.atEnd(t, "DROP FOREIGN DATA WRAPPER "+name+" CASCADE")
	p.exec(t, "CREATE SERVER "+name+" FOREIGN DATA WRAPPER "+name+"; CREATE FOREIGN TABLE far (a int) SERVER "+name)
	for _, sql := range []string{"UPDATE far SET a = 1", "DELETE FROM far WHERE a = 1", "INSERT INTO far (a) VALUES (1)"} {
		if shown := p.preview(t, sql); !strings.Contains(shown.Untried, "far is not an ordinary table") {
			t.Errorf("%s: %+v", sql, shown)
		}
	}
	_, err := p.tool(t, "execute_sql").(tools.Previewer).Preview(t.Context(), call("DELETE FROM orders WHERE id IN (SELECT a FROM far)"))
	failed(t, err, "sql_error") // this wrapper has nothing behind it; one that has is a node of the plan that is not listed
}

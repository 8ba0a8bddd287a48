package sqldb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/tools"
)

// before gives conditions that hold until an instant, one for each way to ask for the time.
func before(kind string, at time.Time) []string {
	julian := float64(at.UnixMicro())/86400e6 + 2440587.5
	text := at.UTC().Format("2006-01-02 15:04:05.000")
	if kind == "sqlite" {
		return []string{
			fmt.Sprintf("julianday('now') < %.9f", julian), fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now') < '%s'", text),
			fmt.Sprintf("julianday() < %.9f", julian), fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f') < '%s'", text),
		}
	}
	return []string{
		"now() < '" + text + "Z'", "current_timestamp < '" + text + "Z'", "localtimestamp < '" + text + "'", "pg_catalog.now() < '" + text + "Z'",
		"transaction_timestamp() < '" + text + "Z'", "statement_timestamp() < '" + text + "Z'", "(localtimestamp(3)) < '" + text + "'",
	}
}

// bombs are statements that do one thing while the condition holds and another later.
func bombs(kind, when string) []string {
	number := "CASE WHEN " + when + " THEN 121 ELSE 1000000 END"
	all := []string{
		"UPDATE orders SET amount = " + number + " WHERE id = 2",
		"UPDATE orders SET amount = 1 + (" + number + ") WHERE id = 2",
		"UPDATE orders SET amount = coalesce(" + number + ", 7) WHERE id = 2",
		"UPDATE orders SET amount = (SELECT min(" + number + ") FROM customers) WHERE id = 2",
		"UPDATE orders SET created_at = CURRENT_TIMESTAMP, amount = " + number + " WHERE id = 2",
		"UPDATE orders SET status = 'x' WHERE id = " + "CASE WHEN " + when + " THEN 2 ELSE 3 END",
		"UPDATE orders SET status = 'x' WHERE id < 3 AND " + when,
		"DELETE FROM orders WHERE id = 2 AND " + when,
		"INSERT INTO customers (id, name, balance) VALUES (9, 'Bo', " + number + ")",
		"INSERT INTO customers (id, name, balance) VALUES (8, CURRENT_TIMESTAMP, 7), (9, 'Bo', " + number + ")",
	}
	if kind == "sqlite" { // where the last of two values counts, and names know no capitals
		all = append(all, "UPDATE orders SET amount = CURRENT_TIMESTAMP, AMOUNT = "+number+" WHERE id = 2")
	}
	return all
}

// TestStatementsThatWaitForTheClock: a change that would do another thing than it did
// when it was shown does nothing, and its card says that this may come.
func TestStatementsThatWaitForTheClock(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		was := p.contents(t)
		for sql, shown := range p.showInTime(t) {
			if shown.Untried != "" || !strings.Contains(shown.Detail, "depends on the clock") {
				t.Errorf("%s: %+v", sql, shown)
			}
			_, err := p.execute(t, sql, &shown)
			failed(t, err, "changed")
			if now := p.contents(t); now != was {
				t.Fatalf("%s: contents %s, before %s", sql, now, was)
			}
		}
	})
}

// showInTime previews the bombs and comes back when they went off.
func (p place) showInTime(t *testing.T) map[string]tools.Preview {
	t.Helper()
	for lead := 2 * time.Second; ; lead *= 2 {
		at, previews := time.Now().Add(lead), map[string]tools.Preview{}
		for i, when := range before(p.kind, at) {
			for j, sql := range bombs(p.kind, when) {
				if i == 0 || j == i {
					previews[sql] = p.preview(t, sql)
				}
			}
		}
		if time.Now().Before(at) {
			time.Sleep(time.Until(at) + 10*time.Millisecond)
			return previews
		}
	}
}

// readings are values that are nothing but the clock.
func readings(kind string) []string {
	both := []string{"CURRENT_TIMESTAMP", "current_date", "(CURRENT_TIMESTAMP)", "CAST(CURRENT_TIMESTAMP AS text)"}
	if kind == "sqlite" {
		return append(both, "datetime('now')", "datetime('NOW', '+1 day')", "date()", "unixepoch()", "unixepoch('now', 'subsec')", "julianday('now')",
			"strftime('%s', 'now', '-2 hours')", "strftime('%s')", "time('now', 'localtime')")
	}
	return append(both, "now()", "pg_catalog.now()", "now()::date", "now()::timestamp(0) without time zone", "now() AT TIME ZONE 'utc'", "now() + interval '1 day'",
		"(now() - '2 hours'::interval)::timestamptz", "current_date + 7", "now()::date - 1", "localtimestamp(0)", "statement_timestamp()",
		"extract(epoch from now())::bigint", "date_trunc('hour', now() AT TIME ZONE 'utc')", "EXTRACT(EPOCH FROM (now() + interval '1 day'))")
}

// TestReadingsOfTheClock: a column that gets the time is not compared, and all others are.
func TestReadingsOfTheClock(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		for _, value := range readings(p.kind) {
			sql := "UPDATE orders SET created_at = " + value + ", status = 'x' WHERE id = 2"
			shown := p.preview(t, sql)
			if !strings.Contains(shown.Detail, "created_at=(set when it runs)") || strings.Contains(shown.Detail, "depends on the clock") {
				t.Errorf("%s: %s %s", value, shown.Untried, shown.Detail)
			}
			if _, err := p.execute(t, sql, &shown); err != nil {
				t.Errorf("%s: %v", value, err)
			}
			if p.value(t, "SELECT created_at FROM orders WHERE id = 2") == "2026-01-06" {
				t.Errorf("%s: nothing was written", value)
			}
			p.exec(t, "UPDATE orders SET created_at = '2026-01-06', status = 'open' WHERE id = 2")
		}
	})
}

// TestRowsBeforeAreComparedWhole: what stood in a column that gets the time was shown, so it has to be still there.
func TestRowsBeforeAreComparedWhole(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		const sql = "UPDATE orders SET created_at = CURRENT_TIMESTAMP WHERE id = 2"
		shown := p.preview(t, sql)
		p.exec(t, "UPDATE orders SET created_at = '2030-01-01' WHERE id = 2")
		_, err := p.execute(t, sql, &shown)
		failed(t, err, "changed")
	})
}

// TestClockInSeveralRows: a column is left out only where every row gets the time.
func TestClockInSeveralRows(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		sql := "INSERT INTO orders (id, customer_id, amount, status, created_at) VALUES (8, 1, 1, 'x', CURRENT_TIMESTAMP), (9, 1, 1, 'x', CURRENT_TIMESTAMP)"
		shown := p.preview(t, sql)
		if strings.Count(shown.Detail, "(set when it runs)") != 2 {
			t.Error(shown.Detail)
		}
		mixed := p.preview(t, strings.Replace(sql, "CURRENT_TIMESTAMP)", "'2030-01-01')", 1))
		if strings.Contains(mixed.Detail, "(set when it runs)") || !strings.Contains(mixed.Detail, "created_at=2030-01-01") {
			t.Error(mixed.Detail)
		}
	})
}

// TestDefaults: what an INSERT leaves to the table is shown and compared, unless it is
// the time or a key that the table makes.
func TestDefaults(t *testing.T) {
	t.Parallel()
	tables := map[string]string{
		"sqlite": `CREATE TABLE made (id INTEGER PRIMARY KEY, a TEXT, fixed TEXT DEFAULT 'new', none TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP,
			later TEXT DEFAULT (datetime('now', '+1 day')), mark TEXT DEFAULT (lower(hex(randomblob(8)))), late TEXT DEFAULT (CASE WHEN date('now') < '2100-01-01' THEN 'early' ELSE 'late' END))`,
		"postgres": `CREATE DOMAIN moment AS timestamptz DEFAULT now();
			CREATE TABLE made (id int PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, a text, fixed text DEFAULT 'new', none text, at moment,
			later timestamptz DEFAULT now() + interval '1 day', mark uuid DEFAULT gen_random_uuid(), late text DEFAULT CASE WHEN now() < '2100-01-01' THEN 'early' ELSE 'late' END)`,
	}
	everywhere(t, func(t *testing.T, p place) {
		p.exec(t, tables[p.kind])
		statements := []string{"INSERT INTO made (a) VALUES ('x')"}
		if p.kind == "postgres" {
			statements = append(statements, "INSERT INTO made (id, a, mark, at) VALUES (DEFAULT, 'x', DEFAULT, DEFAULT)")
		}
		for _, sql := range statements {
			shown := p.preview(t, sql)
			want := "+ id=(set when it runs)  a=x  fixed=new  none=NULL  at=(set when it runs)  later=(set when it runs)  mark=(set when it runs)  late=early"
			if !strings.HasSuffix(shown.Detail, want) {
				t.Errorf("%s: %s %s", sql, shown.Untried, shown.Detail)
			}
			if _, err := p.execute(t, sql, &shown); err != nil {
				t.Error(sql, err)
			}
		}
	})
}

// TestChangedDefaultIsCompared: the table's owner gives a column another default after the card was shown.
func TestChangedDefaultIsCompared(t *testing.T) {
	t.Parallel()
	p := postgresPlace(t)
	const sql = "INSERT INTO customers (id, name) VALUES (9, 'Bo')"
	shown := p.preview(t, sql)
	p.exec(t, "ALTER TABLE customers ALTER balance SET DEFAULT 1000000")
	_, err := p.execute(t, sql, &shown)
	failed(t, err, "changed")
}

// TestRowNumbersAreNotSetBlindly: SQLite lets a statement set the number of a row, which is no column.
func TestRowNumbersAreNotSetBlindly(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t)
	for _, sql := range []string{"UPDATE notes SET rowid = rowid + 7", "UPDATE notes SET oid = 9 WHERE body = 'a'", "INSERT INTO notes (_rowid_, body) VALUES (7, 'x')"} {
		if shown := p.preview(t, sql); !strings.Contains(shown.Untried, "is no column of notes") {
			t.Errorf("%s: %+v", sql, shown)
		}
	}
}

// TestKindsOfValuesAreCompared: in SQLite a number and a text that reads like it are two values.
func TestKindsOfValuesAreCompared(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t)
	p.exec(t, "CREATE TABLE loose (id INTEGER PRIMARY KEY, v); INSERT INTO loose VALUES (1, 7), (2, '7'), (3, CAST(x'41ff' AS TEXT)), (4, CAST(x'41fe' AS TEXT))")
	shown := p.preview(t, "UPDATE loose SET v = '7' WHERE id = 1")
	if !strings.Contains(shown.Detail, "- id=1  v=7 (integer)") || !strings.Contains(shown.Detail, "+ id=1  v=7 (text)") {
		t.Error(shown.Detail)
	}
	for between, sql := range map[string]string{
		"UPDATE loose SET v = '7' WHERE id = 1":                   "DELETE FROM loose WHERE id = 1",
		"UPDATE loose SET v = CAST(x'41fd' AS TEXT) WHERE id = 3": "DELETE FROM loose WHERE id = 3",
	} {
		shown := p.preview(t, sql)
		p.exec(t, between)
		_, err := p.execute(t, sql, &shown)
		failed(t, err, "changed")
	}
}

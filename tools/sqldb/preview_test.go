package sqldb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
)

// TestUntried: what is not tried beforehand, and that asking changes nothing.
func TestUntried(t *testing.T) {
	t.Parallel()
	both := []string{
		"CREATE TABLE x (a int)", "DROP TABLE notes", "WITH x AS (SELECT 1 AS a) DELETE FROM orders WHERE id IN (SELECT a FROM x)",
		"DELETE FROM orders RETURNING id", "INSERT INTO notes DEFAULT VALUES", "INSERT INTO notes VALUES ('x')",
		"INSERT INTO customers (id, name) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = 'x'",
		"UPDATE notes SET body = repeat('x', 10)", "DELETE FROM parents WHERE id = 1", "UPDATE watched SET a = 1", "DELETE FROM watched",
		"UPDATE v SET name = 'x' WHERE id = 1", "UPDATE orders SET (status) = ('x')", "UPDATE orders SET amount = random()",
	}
	only := map[string][]string{
		"sqlite": {"REPLACE INTO notes VALUES ('x')", "INSERT OR REPLACE INTO customers (id, name) VALUES (1, 'x')", "UPDATE OR REPLACE customers SET id = 2 WHERE id = 1", "UPDATE computed SET a = 1"},
		"postgres": {
			"TRUNCATE notes", "MERGE INTO notes n USING orders o ON false WHEN NOT MATCHED THEN INSERT VALUES ('x')", "UPDATE notes SET body = 'x'",
			"UPDATE orders SET id = id + 100", `UPDATE orders SET "id" = 100 WHERE id = 1`, "DELETE FROM orders WHERE touch() = 1", `DELETE FROM orders WHERE "Touch"() = 1`,
			"DELETE FROM orders WHERE id IN (SELECT id FROM sneaky)", "DELETE FROM orders USING generate_series(1, 3) g WHERE id = g", "UPDATE guarded SET a = 2",
			"UPDATE parted SET a = 2", "UPDATE ruled SET a = 2", "UPDATE computed SET a = 1", "DELETE FROM orders WHERE id = '1'::odd", "UPDATE ONLY orders SET status = 'x'",
			"INSERT INTO defaulted (a) VALUES (1)", "DELETE FROM orders WHERE CAST('1' AS odd) = id", "UPDATE orders SET amount = lower(7)",
			"DELETE FROM orders WHERE id = next(1)", "UPDATE orders SET amount = (SELECT max(note) FROM (SELECT 1 AS note) x)",
		},
	}
	extra := map[string]string{
		"sqlite": `CREATE TABLE watched (id INTEGER PRIMARY KEY, a); INSERT INTO watched VALUES (1, 0);
			CREATE TRIGGER touched AFTER UPDATE ON watched BEGIN DELETE FROM notes; END; CREATE VIEW v AS SELECT * FROM customers;
			CREATE TRIGGER instead INSTEAD OF UPDATE ON v BEGIN DELETE FROM notes; END;
			CREATE TABLE computed (a, b AS (a + 1))`,
		"postgres": `CREATE FUNCTION touch() RETURNS int LANGUAGE sql AS $$ INSERT INTO notes VALUES ('touched'); SELECT 1 $$;
			CREATE FUNCTION "Touch"() RETURNS int LANGUAGE sql AS $$ INSERT INTO notes VALUES ('touched'); SELECT 1 $$;
			CREATE FUNCTION lower(int) RETURNS int LANGUAGE sql AS $$ INSERT INTO notes VALUES ('touched'); SELECT 1 $$;
			CREATE FUNCTION next(int) RETURNS int LANGUAGE sql AS $$ INSERT INTO notes VALUES ('touched'); SELECT 1 $$;
			CREATE FUNCTION keep(int, int) RETURNS int LANGUAGE sql AS $$ INSERT INTO notes VALUES ('touched'); SELECT 1 $$;
			CREATE AGGREGATE max(int) (SFUNC = keep, STYPE = int, INITCOND = '0');
			CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM notes; RETURN NULL; END $$;
			CREATE TABLE watched (id int PRIMARY KEY, a int); INSERT INTO watched VALUES (1, 0);
			CREATE TRIGGER touched AFTER UPDATE OR DELETE ON watched FOR EACH STATEMENT EXECUTE FUNCTION fire();
			CREATE VIEW v AS SELECT * FROM customers; CREATE VIEW sneaky AS SELECT id FROM orders WHERE touch() = 1;
			CREATE TABLE guarded (id int PRIMARY KEY, a int CHECK (touch() = 1));
			CREATE TABLE defaulted (id int PRIMARY KEY DEFAULT touch(), a int);
			CREATE TABLE parted (id int, a int) PARTITION BY RANGE (id);
			CREATE TABLE ruled (id int PRIMARY KEY, a int); CREATE RULE r AS ON UPDATE TO ruled DO ALSO DELETE FROM notes;
			CREATE DOMAIN odd AS int CHECK (touch() = 1);
			CREATE TABLE computed (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a + 1) STORED)`,
	}
	everywhere(t, func(t *testing.T, p place) {
		p.exec(t, extra[p.kind])
		before := p.contents(t)
		for _, sql := range append(both, only[p.kind]...) {
			shown := p.preview(t, sql)
			if shown.Untried == "" || !strings.HasPrefix(shown.Detail, sql) {
				t.Errorf("%s: tried: %+v", sql, shown)
			}
			if after := p.contents(t); after != before {
				t.Fatalf("%s: contents %s, before %s", sql, after, before)
			}
		}
	})
}

// TestPlanOfTheUntried: what cannot be tried shows how the database would go about it.
func TestPlanOfTheUntried(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		shown := p.preview(t, "DELETE FROM orders WHERE id = 2 RETURNING id")
		if want := map[string]string{"sqlite": "Plan:\nSEARCH orders", "postgres": "Plan:\nDelete on orders"}[p.kind]; !strings.Contains(shown.Detail, want) {
			t.Errorf("detail %q", shown.Detail)
		}
		if shown := p.preview(t, "DROP TABLE notes"); shown.Detail != "DROP TABLE notes" {
			t.Errorf("detail %q", shown.Detail)
		}
	})
}

func TestCostLimit(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		p.cfg.MaxCost = 1000
		p.exec(t, "CREATE TABLE much (id INTEGER PRIMARY KEY, v INTEGER)")
		p.exec(t, "INSERT INTO much WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i, i FROM n")
		for _, cheap := range []string{"SELECT count(*) FROM much", "SELECT v FROM much WHERE id = 7", "SELECT a.v FROM much a JOIN much b ON b.id = a.v WHERE a.id < 9", "SELECT 1"} {
			if _, err := p.query(t, cheap); err != nil {
				t.Error(cheap, err)
			}
		}
		dear := []string{"SELECT count(*) FROM much a, much b", "WITH x AS (SELECT v FROM much) SELECT count(*) FROM x, x AS y WHERE x.v <> y.v"}
		if p.kind == "sqlite" { // Postgres makes a hash of it
			dear = append(dear, "SELECT count(*) FROM much a WHERE EXISTS (SELECT 1 FROM much b WHERE b.v % 7 = a.v % 11 + 90)")
		}
		for _, sql := range dear {
			_, err := p.query(t, sql)
			failed(t, err, "too_expensive")
		}
	})
}

// TestTried: the common forms are tried and then do what was shown.
func TestTried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sql, detail, effect string }{
		{
			"DELETE FROM orders WHERE id = 3",
			"1 row of orders would be deleted\n\n- id=3  customer_id=2  amount=1500  status=paid  created_at=2026-01-07",
			"deleted 1 row in shop.orders",
		},
		{
			"INSERT INTO customers (id, name, balance) VALUES (9, 'a \"b\"', 1.5), (10, '', 2)",
			"2 rows of customers would be inserted\n\n+ id=9  name=\"a \\\"b\\\"\"  balance=1.5\n\n+ id=10  name=\"\"  balance=2",
			"inserted 2 rows in shop.customers",
		},
		{
			"UPDATE orders AS o SET status = upper(o.status), amount = o.amount + 0.5 WHERE o.id IN (SELECT id FROM orders WHERE amount < 25);",
			"1 row of orders would be updated\n\n- id=1  amount=20  status=paid  customer_id=1  created_at=2026-01-05\n+ id=1  amount=20.5  status=PAID  customer_id=1  created_at=2026-01-05",
			"updated 1 row in shop.orders",
		},
		{"UPDATE orders SET created_at = NULL WHERE id = 77", "0 rows of orders would be updated", "updated 0 rows in shop.orders"},
		{
			"UPDATE customers SET balance = 0 FROM orders WHERE orders.customer_id = customers.id AND orders.id = 3",
			"1 row of customers would be updated\n\n- id=2  balance=250  name=Ana\n+ id=2  balance=0  name=Ana",
			"updated 1 row in shop.customers",
		},
		{
			"UPDATE orders SET created_at = CURRENT_TIMESTAMP WHERE id = 2",
			"1 row of orders would be updated\n\n- id=2  created_at=2026-01-06  customer_id=1  amount=30  status=open\n+ id=2  created_at=(set when it runs)  customer_id=1  amount=30  status=open",
			"updated 1 row in shop.orders",
		},
	} {
		everywhere(t, func(t *testing.T, p place) {
			shown := p.preview(t, c.sql)
			// Names of schemas are not the same on both; what follows them is.
			detail := strings.NewReplacer(" of "+p.schema(t)+".", " of ").Replace(shown.Detail)
			if diff := cmp.Diff(c.detail, detail); diff != "" {
				t.Errorf("%s (untried %q):\n%s", c.sql, shown.Untried, diff)
			}
			got, err := p.execute(t, c.sql, &shown)
			if err != nil || got.Effect != c.effect {
				t.Errorf("%s: %q, %v", c.sql, got.Effect, err)
			}
		})
	}
}

// TestAgreement: what changed since it was shown is not done, and the failure says what it is.
func TestAgreement(t *testing.T) {
	t.Parallel()
	const sql = "UPDATE orders SET status = 'done' WHERE status = 'open'"
	for between, want := range map[string]string{
		"UPDATE orders SET status = 'open'":                                  "1 row when shown, 3 now",
		"UPDATE orders SET status = 'x' WHERE id = 2":                        "1 row when shown, 0 now",
		"UPDATE orders SET amount = 31 WHERE id = 2":                         "The rows are not what they were",
		"UPDATE orders SET created_at = '2030-01-01' WHERE id = 2":           "The rows are not what they were",
		"UPDATE orders SET status = CASE id WHEN 1 THEN 'open' ELSE 'x' END": "The rows are not what they were",
	} {
		everywhere(t, func(t *testing.T, p place) {
			shown := p.preview(t, sql)
			p.exec(t, between)
			before := p.contents(t)
			_, err := p.execute(t, sql, &shown)
			if message := failed(t, err, "changed"); !strings.Contains(message, want) {
				t.Errorf("after %s: %s", between, message)
			}
			if after := p.contents(t); after != before {
				t.Errorf("after %s: contents %s, before %s", between, after, before)
			}
		})
	}
}

// TestOtherStatementThanShown: a preview is good for its own statement alone.
func TestOtherStatementThanShown(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		shown := p.preview(t, "UPDATE orders SET status = 'x' WHERE id = 2")
		_, err := p.execute(t, "UPDATE orders SET status = 'x' WHERE amount = 30", &shown)
		failed(t, err, "changed")
		_, err = p.execute(t, "DROP TABLE notes", &shown)
		failed(t, err, "changed")
	})
}

func TestGroupedCount(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		shown := p.preview(t, "DELETE FROM notes WHERE body < 'c'")
		p.exec(t, manyNotes(p.kind, 2998))
		_, err := p.execute(t, "DELETE FROM notes WHERE body < 'c'", &shown)
		if message := failed(t, err, "changed"); !strings.Contains(message, "2 rows when shown, 3,000 now") {
			t.Error(message)
		}
		again := p.preview(t, "DELETE FROM notes WHERE body < 'c'")
		if !strings.Contains(again.Untried, "3,000 rows, more than can be shown and compared (at most 1,000 rows") {
			t.Errorf("preview of 3,000 rows: %+v", again)
		}
	})
}

func manyNotes(kind string, n int) string {
	if kind == "postgres" {
		return fmt.Sprintf("INSERT INTO notes SELECT 'b' FROM generate_series(1, %d)", n)
	}
	return fmt.Sprintf("WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < %d) INSERT INTO notes SELECT 'b' FROM g", n)
}

// TestWithoutPreviewItRuns: an approver saw that the effect cannot be shown.
func TestWithoutPreviewItRuns(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		const sql = "INSERT INTO notes VALUES ('c'), ('d')"
		shown := p.preview(t, sql)
		got, err := p.execute(t, sql, &shown)
		if err != nil || !strings.HasPrefix(got.Effect, "inserted 2 rows in shop") {
			t.Fatalf("%q, %v", got.Effect, err)
		}
		got, err = p.execute(t, "CREATE TABLE made (a int)", nil)
		if err != nil || got.Effect != "ran create in shop" {
			t.Fatalf("%q, %v", got.Effect, err)
		}
		if n := p.value(t, "SELECT count(*) FROM made"); n != "0" {
			t.Error(n)
		}
		_, err = p.execute(t, "INSERT INTO customers (id, name) VALUES (1, 'twice')", nil)
		failed(t, err, "sql_error")
	})
}

// TestLocksAreNotWaitedForLong: a trial gives up soon, and so does the call, without an effect.
func TestLocksAreNotWaitedForLong(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		const sql = "UPDATE orders SET status = 'x' WHERE id = 2"
		p.limit.LockTimeout = 50 * time.Millisecond
		shown := p.preview(t, sql)
		p.exec(t, "BEGIN")
		p.exec(t, "UPDATE orders SET status = 'held' WHERE id = 2")
		_, err := p.tool(t, "execute_sql").(tools.Previewer).Preview(t.Context(), call(sql))
		failed(t, err, "busy")
		_, err = p.execute(t, sql, &shown)
		failed(t, err, "busy")
		p.exec(t, "ROLLBACK")
		if _, err := p.execute(t, sql, &shown); err != nil {
			t.Error(err)
		}
	})
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	slow := map[string]string{
		"sqlite":   "WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g) SELECT count(*) FROM g",
		"postgres": "SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000000) b",
	}
	everywhere(t, func(t *testing.T, p place) {
		p.limit.Timeout = 100 * time.Millisecond
		_, err := p.query(t, slow[p.kind])
		failed(t, err, "timeout")
		p.limit.Timeout = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = p.tool(t, "query_sql").Call(ctx, call(slow[p.kind]))
		failed(t, err, "timeout")
		_, err = p.tool(t, "execute_sql").Call(ctx, call("DELETE FROM notes"))
		failed(t, err, "timeout")
		if n := p.value(t, "SELECT count(*) FROM notes"); n != "2" {
			t.Errorf("%s notes", n)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		p.exec(t, manyNotes(p.kind, 998))
		got, err := p.query(t, "SELECT body FROM notes")
		if err != nil || !got.Table.More || len(got.Table.Rows) != 200 || !strings.Contains(got.Text, "(the first 200 rows; there are more") {
			t.Errorf("%d rows, %v", len(got.Table.Rows), err)
		}
		p.limit.Rows, p.limit.Bytes = 5000, 500
		got, err = p.query(t, "SELECT body FROM notes")
		if err != nil || !got.Table.More || len(got.Table.Rows) != 500 {
			t.Errorf("%d rows, %v", len(got.Table.Rows), err)
		}
		p.limit.Bytes = 0
		got, err = p.query(t, "SELECT body FROM notes")
		if err != nil || got.Table.More || len(got.Table.Rows) != 1000 {
			t.Errorf("%d rows, %v", len(got.Table.Rows), err)
		}
	})
}

// TestHugeValuesAreRefused: one value cannot fill the memory.
func TestHugeValuesAreRefused(t *testing.T) {
	t.Parallel()
	huge := map[string]string{"sqlite": "SELECT hex(zeroblob(900000000))", "postgres": "SELECT repeat('x', 100000000)"}
	everywhere(t, func(t *testing.T, p place) {
		if got, err := p.query(t, huge[p.kind]); err == nil {
			t.Errorf("%d bytes came back", len(got.Text))
		}
	})
}

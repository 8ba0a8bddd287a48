package sqldb_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
	"countersign/tools/sqldb"
)

func TestSchemaOfSQLite(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t)
	p.exec(t, "CREATE VIEW rich AS SELECT name FROM customers WHERE balance > 100")
	got, err := p.tool(t, "get_schema").Call(t.Context(), tools.Call{Args: json.RawMessage(`{"database":"shop"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := `Database shop (sqlite)

children
  id INTEGER primary key e.g. 1
  parent_id INTEGER references parents(id) e.g. 1

customers
  id INTEGER primary key e.g. 1, 2, 3
  name TEXT not null e.g. 张三, Ana, Li
  balance NUMERIC not null e.g. 42.5, 250, 10

notes
  body TEXT e.g. a, b

orders
  id INTEGER primary key e.g. 1, 2, 3
  customer_id INTEGER not null references customers(id) e.g. 1, 2
  amount NUMERIC not null e.g. 20, 30, 1500
  status TEXT not null e.g. paid, open
  created_at TEXT e.g. 2026-01-05, 2026-01-06, 2026-01-07

parents
  id INTEGER primary key e.g. 1

rich (view)
  name TEXT`
	if diff := cmp.Diff(want, got.Text); diff != "" {
		t.Error(diff)
	}
	if got.Summary != "6 tables of shop" {
		t.Errorf("summary %q", got.Summary)
	}
}

func TestSchemaOfPostgres(t *testing.T) { // not beside others: their schemas fill what is shown
	p := postgresPlace(t)
	p.exec(t, "COMMENT ON TABLE orders IS 'what was bought'; COMMENT ON COLUMN orders.status IS 'open or paid'; CREATE VIEW rich AS SELECT name FROM customers")
	got, err := p.tool(t, "get_schema").Call(t.Context(), tools.Call{Args: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	schema := p.schema(t)
	for _, want := range []string{
		"Database shop (postgres)", "\n" + schema + ".orders -- what was bought\n", "\n  status text not null -- open or paid e.g. paid, open\n",
		"references ", "\n" + schema + ".rich (view)\n", "\n  id integer primary key e.g. 1, 2, 3\n  name text not null e.g. 张三, Ana, Li\n",
	} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("lacks %q:\n%s", want, got.Text)
		}
	}
}

func TestPrivateDatabasesGiveNoSamples(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		p.cfg.Private = true
		tool := p.tool(t, "get_schema")
		got, err := tool.Call(t.Context(), tools.Call{Args: json.RawMessage(`{}`)})
		if err != nil || strings.Contains(got.Text, "张三") || strings.Contains(got.Text, "e.g.") {
			t.Errorf("%s, %v", got.Text, err)
		}
		if !tool.Spec().Private {
			t.Error("the tool is not private")
		}
	})
}

func TestSeveralDatabases(t *testing.T) {
	t.Parallel()
	a, b := sqlitePlace(t), sqlitePlace(t)
	b.exec(t, "DELETE FROM notes")
	a.cfg.Name, b.cfg.Name, b.cfg.Write = "first", "second", false
	all, _, err := sqldb.New([]sqldb.Database{a.cfg, b.cfg}, sqldb.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	query, _ := registry.Get("query_sql")
	execute, _ := registry.Get("execute_sql")
	if got, want := string(query.Spec().Parameters), `"enum":["first","second"]`; !strings.Contains(got, want) || !strings.Contains(got, `"required":["database","sql"]`) {
		t.Errorf("query_sql takes %s", got)
	}
	if got := string(execute.Spec().Parameters); !strings.Contains(got, `"enum":["first"]`) || !strings.Contains(got, `"required":["sql"]`) {
		t.Errorf("execute_sql takes %s", got)
	}
	for name, want := range map[string]string{"first": "2", "second": "0"} {
		got, err := query.Call(t.Context(), tools.Call{Args: json.RawMessage(`{"database":"` + name + `","sql":"SELECT count(*) AS n FROM notes"}`)})
		if err != nil || got.Table.Rows[0][0] != want {
			t.Errorf("%s: %+v, %v", name, got.Table, err)
		}
	}
	_, err = execute.Call(t.Context(), tools.Call{Args: json.RawMessage(`{"database":"second","sql":"DELETE FROM orders"}`)})
	if message := failed(t, err, "not_found"); !strings.Contains(message, "Databases: first.") {
		t.Error(message)
	}
	_, err = query.Call(t.Context(), tools.Call{Args: json.RawMessage(`{"sql":"SELECT 1"}`)})
	failed(t, err, "not_found")
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	ok := sqldb.Database{Name: "a", URL: "sqlite:a.db"}
	for name, cfg := range map[string][]sqldb.Database{
		"no name":      {{URL: "sqlite:a.db"}},
		"no file":      {{Name: "a", URL: "sqlite:"}},
		"other kind":   {{Name: "a", URL: "mysql://user:hunter2@host/db"}},
		"bad postgres": {{Name: "a", URL: "postgres://user:hunter2@host:notaport/db"}},
		"twice":        {ok, ok},
		"roles":        {ok, {Name: "b", URL: "sqlite:b.db", Roles: []string{"support"}}},
		"channels":     {ok, {Name: "b", URL: "sqlite:b.db", Channels: []string{"C1"}}},
		"risk":         {{Name: "a", URL: "sqlite:a.db", Write: true, Risk: tools.Low}},
	} {
		_, _, err := sqldb.New(cfg, sqldb.Limits{})
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error holds a password: %v", name, err)
		}
	}
	none, closer, err := sqldb.New(nil, sqldb.Limits{})
	if err != nil || len(none) != 0 || closer.Close() != nil {
		t.Errorf("no databases: %d tools, %v", len(none), err)
	}
}

func TestUnreachableServerIsNotDescribed(t *testing.T) {
	t.Parallel()
	p := place{cfg: sqldb.Database{Name: "shop", URL: "postgres://user:hunter2@127.0.0.1:1/db", Write: true}}
	_, err := p.query(t, "SELECT 1")
	for range 2 {
		message := failed(t, err, "unavailable")
		if strings.Contains(message, "hunter2") || strings.Contains(message, "127.0.0.1") {
			t.Errorf("message %q", message)
		}
		_, err = p.execute(t, "DELETE FROM orders", nil)
	}
}

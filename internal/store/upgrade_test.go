package store_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/internal/store"
	"countersign/internal/store/storetest"
)

// freeze writes what the present schema holds while a run waits, as the database of
// an earlier release for all later ones to read. Files that are there stay as they are.
var freeze = flag.Bool("freeze", false, "write testdata/schema_N.json of the present schema")

// frozen is a database of an earlier release: every row of every table.
type frozen struct {
	Tables []string // in the order of filling
	Rows   map[string][]map[string]any
}

// A release reads what every earlier one left, and a run that waited goes on, on both
// databases: the frozen rows are put into the schema of their time, which is then
// brought to the present.
func TestUpgradeWithAPausedRun(t *testing.T) {
	t.Parallel()
	if *freeze {
		freezeNow(t)
	}
	files, err := filepath.Glob("testdata/schema_*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no database of an earlier release: %v", err)
	}
	for _, file := range files {
		for name, url := range map[string]func(*testing.T) string{
			"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "old.db") },
			"postgres": storetest.Schema,
		} {
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				t.Parallel()
				upgrade(t, file, url(t))
			})
		}
	}
}

func upgrade(t *testing.T, file, url string) {
	t.Helper()
	version, err := strconv.ParseInt(regexp.MustCompile(`\d+`).FindString(filepath.Base(file)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	db := reopen(t, &storetest.DB{Clock: storetest.NewClock()}, url)
	if err := db.MigrateTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	thaw(t, db, file)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if current, known, err := db.SchemaVersion(t.Context()); err != nil || current != known || current < version {
		t.Fatalf("schema %d of %d, %v", current, known, err)
	}
	cases, err := db.Cases(t.Context(), false, 10)
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d approvals wait, %v", len(cases), err)
	}
	done := texts(t, db, "SELECT id FROM runs WHERE state = 'success'")
	if len(done) != 1 {
		t.Fatalf("runs that ended: %v", done)
	}
	if w, err := db.Whole(t.Context(), done[0]); err != nil || w.Run.Halt != agent.HaltDone || len(w.Approvals) != 1 {
		t.Errorf("%+v, %v", w, err)
	}
	if err := db.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
	goesOn(t, db, cases[0].Run.ID, cases[0].Approval.ID)
}

// thaw puts the rows into the tables of their time.
func thaw(t *testing.T, db *storetest.DB, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f frozen
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Writer().ExecContext(t.Context(), "DELETE FROM audit_head"); err != nil { // which the migrations put there
		t.Fatal(err)
	}
	for _, table := range f.Tables {
		for _, row := range f.Rows[table] {
			insert(t, db, table, row)
		}
	}
}

func insert(t *testing.T, db *storetest.DB, table string, row map[string]any) {
	t.Helper()
	columns := slices.Sorted(maps.Keys(row))
	marks, values := make([]string, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		marks[i], values[i] = "?", row[c]
		if db.Dialect() == store.Postgres {
			marks[i] = "$" + strconv.Itoa(i+1)
		}
		if n, ok := row[c].(json.Number); ok {
			v, err := n.Int64()
			if err != nil {
				t.Fatal(err)
			}
			values[i] = v
		}
	}
	statement := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(columns, ", "), strings.Join(marks, ", "))
	if _, err := db.Writer().ExecContext(t.Context(), statement, values...); err != nil {
		t.Fatalf("%s: %v", table, err)
	}
}

func freezeNow(t *testing.T) {
	t.Helper()
	db := storetest.SQLite(t)
	ended(t, db, "1")
	db.Awaiting(t, "2")
	version, _, err := db.SchemaVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tables, err := db.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := frozen{Tables: tables, Rows: map[string][]map[string]any{}}
	for _, table := range tables {
		if rows := rowsOf(t, db, table); len(rows) > 0 {
			f.Rows[table] = rows
		}
	}
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := fmt.Sprintf("testdata/schema_%d.json", version)
	if _, err := os.Stat(file); err == nil {
		t.Fatalf("%s is there: a past release does not change", file)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rowsOf(t *testing.T, db *storetest.DB, table string) (out []map[string]any) {
	t.Helper()
	truths := texts(t, db, "SELECT name FROM pragma_table_info(?) WHERE type = 'BOOLEAN'", table)
	rows, err := db.Writer().QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, name := range names {
			row[name] = values[i]
			if slices.Contains(truths, name) {
				row[name] = values[i] == int64(1) || values[i] == true
			}
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

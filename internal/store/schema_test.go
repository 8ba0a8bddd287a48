package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/fault"
	"countersign/internal/store"
	"countersign/internal/store/storetest"
	"countersign/migrations"
)

func TestMigrationsArePaired(t *testing.T) {
	t.Parallel()
	names := func(files fs.FS, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		found, err := fs.Glob(files, "*.sql")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	both := names(migrations.SQLite())
	if diff := cmp.Diff(both, names(migrations.Postgres())); diff != "" {
		t.Error(diff)
	}
	seen := map[string]string{}
	for _, name := range both {
		number, _, ok := strings.Cut(name, "_")
		if seen[number] != "" || !ok || len(number) != 5 {
			t.Errorf("%s and %q have the same number, or none of five digits", name, seen[number])
		}
		seen[number] = name
	}
}

// schema is what both databases must have in common.
type schema struct {
	columns map[string][]string // of each table
	unique  []string            // table(columns) condition
}

func TestBothSchemasAreEqual(t *testing.T) {
	t.Parallel()
	lite, pg := sqliteSchema(t, storetest.SQLite(t)), postgresSchema(t, storetest.Postgres(t))
	if diff := cmp.Diff(lite.columns, pg.columns); diff != "" {
		t.Errorf("columns, SQLite - Postgres +: %s", diff)
	}
	if diff := cmp.Diff(lite.unique, pg.unique); diff != "" {
		t.Errorf("unique indexes, SQLite - Postgres +: %s", diff)
	}
	if len(lite.columns) < 14 || len(lite.unique) < 14 {
		t.Errorf("only %d tables and %d unique indexes were found", len(lite.columns), len(lite.unique))
	}
}

func texts(t *testing.T, db *storetest.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Writer().QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var s sql.NullString
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// normal makes the definitions of both databases comparable.
func normal(definition string) string {
	s := strings.NewReplacer("(", " ", ")", " ", "::text", "", "ARRAY[", "", "]", "", `"`, "", "<> ALL", "NOT IN", "= ANY", "IN").Replace(definition)
	return strings.Join(strings.Fields(s), " ")
}

func ours(table string) bool {
	return !strings.HasPrefix(table, "river_") && !strings.HasPrefix(table, "goose_") && !strings.HasPrefix(table, "sqlite_")
}

func sqliteSchema(t *testing.T, db *storetest.DB) schema {
	t.Helper()
	out := schema{columns: map[string][]string{}}
	for _, table := range texts(t, db, "SELECT name FROM sqlite_master WHERE type = 'table'") {
		if !ours(table) {
			continue
		}
		out.columns[table] = texts(t, db, "SELECT name || ' ' || \"notnull\" FROM pragma_table_info(?) ORDER BY name", table)
		for _, index := range texts(t, db, "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1", table) {
			columns := strings.Join(texts(t, db, "SELECT name FROM pragma_index_info(?) ORDER BY seqno", index), ", ")
			definition := strings.Join(texts(t, db, "SELECT sql FROM sqlite_master WHERE name = ?", index), "")
			_, where, _ := strings.Cut(definition, "WHERE")
			out.unique = append(out.unique, fmt.Sprintf("%s (%s) %s", table, columns, normal(where)))
		}
	}
	slices.Sort(out.unique)
	return out
}

func postgresSchema(t *testing.T, db *storetest.DB) schema {
	t.Helper()
	out := schema{columns: map[string][]string{}}
	for _, table := range texts(t, db, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()") {
		if !ours(table) {
			continue
		}
		out.columns[table] = texts(t, db, `SELECT column_name || ' ' || CASE is_nullable WHEN 'NO' THEN '1' ELSE '0' END
			FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1 ORDER BY column_name COLLATE "C"`, table)
		for _, definition := range texts(t, db, "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename = $1 AND indexdef LIKE 'CREATE UNIQUE%'", table) {
			_, rest, _ := strings.Cut(definition, "USING btree (")
			columns, where, _ := strings.Cut(rest, ")")
			out.unique = append(out.unique, fmt.Sprintf("%s (%s) %s", table, columns, normal(strings.TrimPrefix(strings.TrimSpace(where), "WHERE"))))
		}
	}
	slices.Sort(out.unique)
	return out
}

// The database knows the same states as the state tables.
func TestStatesAreThoseOfTheMachines(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"runs":      sorted(agent.RunMachine.States()),
		"steps":     sorted(agent.StepMachine.States()),
		"approvals": sorted(approvals.Machine.States()),
		"decisions": sorted([]approvals.Verdict{approvals.Approve, approvals.Edit, approvals.Reject, approvals.Respond, approvals.Expire}),
	}
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		for table, states := range want {
			query, args := "SELECT sql FROM sqlite_master WHERE name = ?", []any{table}
			if db.Dialect() == store.Postgres {
				query = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c' AND conrelid = CAST($1 AS regclass) ORDER BY conname = $2 DESC"
				args = append(args, table+"_"+checked(table)+"_check")
			}
			check := texts(t, db, query, args...)[0]
			if db.Dialect() == store.SQLite {
				_, check, _ = strings.Cut(check, "CHECK ("+checked(table)+" IN (")
				check, _, _ = strings.Cut(check, ")")
			}
			var got []string
			for _, m := range regexp.MustCompile(`'([a-z_]+)'`).FindAllStringSubmatch(check, -1) {
				got = append(got, m[1])
			}
			if diff := cmp.Diff(states, sorted(got)); diff != "" {
				t.Errorf("%s: %s", table, diff)
			}
		}
	})
}

func checked(table string) string {
	if table == "decisions" {
		return "verdict"
	}
	return "state"
}

func sorted[S ~string](states []S) []string {
	set := map[string]bool{}
	for _, s := range states {
		set[string(s)] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// The conditions of the indexes name the terminal states; so does the code.
func TestTerminalStatesAreThoseOfTheIndexes(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	var terminal []string
	for _, s := range agent.RunMachine.States() {
		if agent.RunMachine.Terminal(s) {
			terminal = append(terminal, "'"+string(s)+"'")
		}
	}
	slices.Sort(terminal)
	for _, index := range []string{"runs_unfinished", "runs_due"} {
		definition := texts(t, db, "SELECT sql FROM sqlite_master WHERE name = ?", index)[0]
		got := regexp.MustCompile(`'[a-z]+'`).FindAllString(definition, -1)
		slices.Sort(got)
		if diff := cmp.Diff(terminal, got); diff != "" {
			t.Errorf("%s: %s", index, diff)
		}
	}
}

func TestMigrateTwiceAndRefuseANewerSchema(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		current, known, err := db.SchemaVersion(t.Context())
		if err != nil || current != known || current == 0 {
			t.Fatalf("schema %d of %d, %v", current, known, err)
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Errorf("again: %v", err)
		}
		if _, err := db.Writer().ExecContext(t.Context(), fmt.Sprintf(
			"INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, true)", known+1)); err != nil {
			t.Fatal(err)
		}
		err = db.Migrate(t.Context())
		if !errors.Is(err, store.ErrNewerSchema) || fault.CodeOf(err) != fault.Conflict {
			t.Errorf("a newer schema: %v", err)
		}
	})
}

// Two processes that start at once migrate once.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "new.db") },
		"postgres": storetest.Schema,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, done := url(t), make(chan error)
			for range 3 {
				s, err := store.Open(t.Context(), store.Config{URL: address})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				go func() { done <- s.Migrate(t.Context()) }()
			}
			for range 3 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

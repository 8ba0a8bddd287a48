package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Copies are copies of a table's rows that a condition names.
type Copies struct {
	Table, Which string
	N            int
	Changed      map[string]string // other values of columns: SQL, in which nth numbers the copy
}

// Clone multiplies rows.
func Clone(t testing.TB, db *sql.DB, of Copies) {
	t.Helper()
	columns := columnsOf(t, db, of.Table)
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = c
		if v := of.Changed[c]; v != "" {
			values[i] = v
		}
	}
	_, err := db.ExecContext(t.Context(), fmt.Sprintf(`WITH RECURSIVE g (nth) AS (SELECT 1 UNION ALL SELECT nth + 1 FROM g WHERE nth < %d)
		INSERT INTO %s (%s) SELECT %s FROM %s, g WHERE %s`, of.N, of.Table, strings.Join(columns, ", "), strings.Join(values, ", "), of.Table, of.Which))
	if err != nil {
		t.Fatal(err)
	}
}

// Numbered gives each copy of a text column its own value.
func Numbered(column string) string { return column + " || '-' || nth" }

func columnsOf(t testing.TB, db *sql.DB, table string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err := errors.Join(err, rows.Err()); err != nil {
		t.Fatal(err)
	}
	return columns
}

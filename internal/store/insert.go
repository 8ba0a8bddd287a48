package store

import (
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// insert writes rows of one table in one statement.
func insert[R any](t *txn, rows ...R) error {
	table := &gorm.Statement{DB: t.DB}
	if err := table.Parse(new(R)); err != nil {
		return err
	}
	columns := table.Schema.DBNames
	var args []any
	for i := range rows {
		args = append(args, t.values(table, &rows[i], columns)...)
	}
	places := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
	_, err := t.changed("INSERT INTO "+table.Schema.Table+" ("+strings.Join(columns, ", ")+") VALUES "+
		strings.Join(slices.Repeat([]string{places}, len(rows)), ", "), args...)
	return err
}

// values gives what a row has in columns of its table.
func (t *txn) values(table *gorm.Statement, row any, columns []string) []any {
	of, out := reflect.ValueOf(row).Elem(), make([]any, len(columns))
	for i, name := range columns {
		out[i], _ = table.Schema.FieldsByDBName[name].ValueOf(t.Statement.Context, of)
	}
	return out
}

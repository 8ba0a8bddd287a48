package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"countersign/internal/audit"
	"countersign/internal/fault"
)

// Moved says how many rows of each table were copied, in the order of copying.
type Moved struct {
	Table string
	Rows  int64
}

// movedAtOnce is how many rows one statement inserts: few enough for the 65,535
// parameters that Postgres takes.
const movedAtOnce = 200

// MoveFrom fills this empty Postgres database with everything of a SQLite database
// that nobody serves: the caller holds its lock. It is one transaction, which also
// notes the move in the audit; a database that holds anything is refused. The queue's
// own rows stay behind: the sweep rings every run that is due.
func (s *Store) MoveFrom(ctx context.Context, from *Store, by audit.Entry) ([]Moved, error) {
	if from.dialect != SQLite || s.dialect != Postgres {
		return nil, fault.New(fault.Invalid, "The way leads from SQLite to Postgres alone.")
	}
	if err := from.VerifyAudit(ctx); err != nil {
		return nil, err
	}
	tables, err := from.tables(ctx)
	if err != nil {
		return nil, err
	}
	var out []Moved
	err = s.write.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := refuseFull(tx, tables); err != nil {
			return err
		}
		for _, table := range tables {
			n, err := from.copyTable(ctx, tx, table)
			if err != nil {
				return fmt.Errorf("copy %s: %w", table, err)
			}
			out = append(out, Moved{table, n})
		}
		t := &txn{DB: tx, store: s, now: s.now()}
		return t.audit([]audit.Entry{by})
	})
	if err != nil {
		return nil, translate(err)
	}
	return out, s.VerifyAudit(ctx)
}

// tables lists our tables, those that are referred to before those that refer.
func (s *Store) tables(ctx context.Context) ([]string, error) {
	var names []string
	err := s.read.WithContext(ctx).Raw(`SELECT name FROM sqlite_master WHERE type = 'table'
		AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE 'river\_%' ESCAPE '\' AND name NOT LIKE 'goose\_%' ESCAPE '\' ORDER BY name`).Scan(&names).Error
	if err != nil {
		return nil, translate(err)
	}
	parents := map[string][]string{}
	for _, name := range names {
		var refers []string
		if err := s.read.WithContext(ctx).Raw(`SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)`, name).Scan(&refers).Error; err != nil {
			return nil, translate(err)
		}
		parents[name] = refers
	}
	var ordered []string
	var place func(name string)
	place = func(name string) {
		if slices.Contains(ordered, name) {
			return
		}
		for _, p := range parents[name] {
			place(p)
		}
		ordered = append(ordered, name)
	}
	for _, name := range names {
		place(name)
	}
	return ordered, nil
}

// refuseFull refuses a database that holds anything of ours but what its migrations
// put there: the empty head of the audit, which the copy replaces.
func refuseFull(tx *gorm.DB, tables []string) error {
	if err := tx.Exec("DELETE FROM audit_head WHERE seq = 0").Error; err != nil {
		return err
	}
	for _, table := range tables {
		var n int64
		if err := tx.Table(table).Count(&n).Error; err != nil {
			return err
		}
		if n > 0 {
			return fault.New(fault.Conflict, "The database holds something already (%s): move into an empty one.", table)
		}
	}
	return nil
}

// copyTable copies all rows of one table.
func (s *Store) copyTable(ctx context.Context, to *gorm.DB, table string) (total int64, err error) {
	columns, err := booleans(to, table)
	if err != nil {
		return 0, err
	}
	rows, err := s.read.WithContext(ctx).Table(table).Rows()
	if err != nil {
		return 0, translate(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var batch []map[string]any
	for rows.Next() {
		row, err := readRow(rows, columns)
		if err != nil {
			return total, err
		}
		if batch = append(batch, row); len(batch) < movedAtOnce {
			continue
		}
		if err := to.Table(table).Create(&batch).Error; err != nil {
			return total, err
		}
		total, batch = total+int64(len(batch)), nil
	}
	if err := rows.Err(); err != nil {
		return total, translate(err)
	}
	if len(batch) == 0 {
		return total, nil
	}
	return total + int64(len(batch)), to.Table(table).Create(&batch).Error
}

// booleans gives the columns of a table, true for those that hold truth values.
func booleans(tx *gorm.DB, table string) (map[string]bool, error) {
	var list []struct {
		ColumnName string
		DataType   string
	}
	err := tx.Raw("SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?", table).Scan(&list).Error
	out := map[string]bool{}
	for _, c := range list {
		out[c.ColumnName] = strings.EqualFold(c.DataType, "boolean")
	}
	return out, err
}

// readRow reads one row of SQLite as Postgres takes it.
func readRow(rows *sql.Rows, columns map[string]bool) (map[string]any, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	row := make(map[string]any, len(names))
	for i, name := range names {
		boolean, known := columns[name]
		if !known {
			return nil, fmt.Errorf("the column %s is not in the new database", name)
		}
		row[name] = values[i]
		if boolean {
			row[name] = values[i] == int64(1) || values[i] == true
		}
	}
	return row, nil
}

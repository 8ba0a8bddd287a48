package store

import (
	"context"
	"strings"
)

// MigrateTo brings the schema to a version, for databases of earlier releases.
func (s *Store) MigrateTo(ctx context.Context, version int64) error {
	p, err := s.provider(ctx)
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// Tables lists our tables in the order in which they can be filled.
func (s *Store) Tables(ctx context.Context) ([]string, error) { return s.tables(ctx) }

// Plans gives the database's plan of each question that the sweeps ask each few seconds.
func (s *Store) Plans(ctx context.Context, now int64) (map[string]string, error) {
	explain := "EXPLAIN "
	if s.dialect == SQLite {
		explain = "EXPLAIN QUERY PLAN "
	}
	out := map[string]string{}
	for name, q := range map[string]struct {
		text string
		args []any
	}{
		"overdue":     {overdue, []any{now, 500}},
		"unreminded":  {unreminded, []any{[]int{0, 1}, now, now + 1, 1, now, 500}},
		"unescalated": {unescalated, []any{now, now, now, 500}},
	} {
		rows, err := s.read.WithContext(ctx).Raw(explain+q.text, q.args...).Rows()
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var lines []string
		for rows.Next() {
			var line string
			var skip any
			into := []any{&skip, &skip, &skip, &line}
			if s.dialect == Postgres {
				into = []any{&line}
			}
			if err := rows.Scan(into...); err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
		out[name] = strings.Join(lines, "\n")
	}
	return out, nil
}

// HoldWriter keeps SQLite's writer busy until free is called.
func (s *Store) HoldWriter(ctx context.Context) (free func(), err error) {
	return s.gate.leave, s.gate.enter(ctx, false)
}

// Letters counts what waits to be stored together, and how many wait for the writer with it.
func (s *Store) Letters() (letters, inLine int) {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return len(s.inbox.waiting), len(s.gate.inbox)
}

// Panic is a letter that cannot be stored.
func (s *Store) Panic(ctx context.Context) error {
	return s.receive(ctx, func(*txn) error { panic("unreadable") })
}

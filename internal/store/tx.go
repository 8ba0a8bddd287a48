package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
)

// tries is how often a transaction that lost a deadlock is begun anew.
const tries = 4

// txn is one transaction that writes, with what is to be told after its commit.
type txn struct {
	*gorm.DB
	store *Store
	now   time.Time
	rung  []string
	wish  bool
}

// transact runs fn in one transaction. Whatever fn returns as an error rolls
// everything back; fn may be called again after a deadlock, so it must keep its
// results in variables that it sets anew.
func (s *Store) transact(ctx context.Context, fn func(t *txn) error) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var t *txn
	var err error
	for range tries {
		t = &txn{store: s, now: s.now()}
		err = s.pass(ctx, func(db *gorm.DB) error {
			return db.Transaction(func(tx *gorm.DB) error {
				t.DB = tx
				return fn(t)
			})
		})
		if !errors.Is(err, errRepeat) {
			break
		}
	}
	if err != nil {
		return err
	}
	t.tell()
	return nil
}

// receive is transact for what people sent: it goes before what follows from it.
func (s *Store) receive(ctx context.Context, fn func(t *txn) error) error {
	if s.gate == nil {
		return s.transact(ctx, fn)
	}
	return s.post(ctx, fn)
}

// pass writes when its turn has come.
func (s *Store) pass(ctx context.Context, write func(db *gorm.DB) error) error {
	if err := s.gate.enter(ctx, false); err != nil {
		return translate(err)
	}
	defer s.gate.leave()
	return translate(write(s.write.WithContext(ctx)))
}

// tell wakes this process's own loops after the commit.
func (t *txn) tell() {
	if t.store.bell != nil {
		for _, run := range t.rung {
			t.store.bell.Rung(run)
		}
	}
	if t.wish && t.store.onWish != nil {
		t.store.onWish()
	}
}

// ring announces a run inside the transaction, once.
func (t *txn) ring(run string) error {
	if t.store.bell == nil || slices.Contains(t.rung, run) {
		return nil
	}
	tx, ok := t.Statement.ConnPool.(*sql.Tx)
	if !ok {
		return errors.New("ring outside of a transaction")
	}
	t.rung = append(t.rung, run)
	return t.store.bell.Ring(t.Statement.Context, tx, run)
}

// changed runs one statement and says how many rows it changed. It goes to the
// connection itself: every commit is made of a handful of these.
func (t *txn) changed(statement string, args ...any) (int64, error) {
	res, err := t.Statement.ConnPool.ExecContext(t.Statement.Context, t.placed(statement), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// row runs one statement that gives at most one row.
func (t *txn) row(statement string, args ...any) *sql.Row {
	return t.Statement.ConnPool.QueryRowContext(t.Statement.Context, t.placed(statement), args...)
}

// placed numbers the places of the arguments where the database wants that.
func (t *txn) placed(statement string) string {
	if t.store.dialect == SQLite {
		return statement
	}
	var b strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

// snapshot runs fn on one consistent state of the database, without taking the
// write lock.
func (s *Store) snapshot(ctx context.Context, fn func(tx *gorm.DB) error) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	opts := &sql.TxOptions{ReadOnly: true}
	if s.dialect == Postgres {
		opts.Isolation = sql.LevelRepeatableRead
	}
	return translate(s.read.WithContext(ctx).Transaction(fn, opts))
}

// exec runs one statement of its own and says how many rows it changed.
func (s *Store) exec(ctx context.Context, statement string, args ...any) (n int64, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	err = s.pass(ctx, func(db *gorm.DB) error {
		res := db.Exec(statement, args...)
		n = res.RowsAffected
		return res.Error
	})
	return n, err
}

// keep is exec for what people sent.
func (s *Store) keep(ctx context.Context, statement string, args ...any) (int64, error) {
	if s.gate == nil {
		return s.exec(ctx, statement, args...)
	}
	var n int64
	err := s.post(ctx, func(t *txn) (err error) {
		n, err = t.changed(statement, args...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// query runs one statement that writes and returns rows into dest.
func (s *Store) query(ctx context.Context, dest any, statement string, args ...any) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return s.pass(ctx, func(db *gorm.DB) error { return db.Raw(statement, args...).Scan(dest).Error })
}

// Package shop is the small shop that the demo's agent works for: customers, orders,
// refunds and reminders in one SQLite file, served over HTTP. It stands for a team's
// own service: it honours idempotency keys, refuses what makes no sense, and keeps a
// record of every request that was to change something.
package shop

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // the database/sql driver "sqlite3"
)

// File is the database's name in the shop's folder.
const File = "shop.db"

//go:embed schema.sql
var schema string

// Shop is an open shop. It is safe for use by several goroutines at once.
type Shop struct {
	db  *sql.DB
	now func() time.Time
}

// Open opens the shop in a folder and makes it, with its customers and orders, where
// there is none.
func Open(dir string, now func() time.Time) (*Shop, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("open shop: %w", err)
	}
	path := (&url.URL{Path: filepath.Join(dir, File)}).EscapedPath()
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
	if err != nil {
		return nil, fmt.Errorf("open shop: %w", err)
	}
	db.SetMaxOpenConns(1) // one fair queue of writers
	s := &Shop{db: db, now: now}
	if err := s.furnish(context.Background()); err != nil {
		db.Close()
		return nil, fmt.Errorf("open shop: %w", err)
	}
	return s, nil
}

// Close closes the database.
func (s *Shop) Close() error { return s.db.Close() }

// furnish makes the tables and fills them when there are no customers yet, in one transaction.
func (s *Shop) furnish(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	var customers int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM customers").Scan(&customers); err != nil {
		return err
	}
	if customers == 0 {
		if err := s.stock(ctx, tx); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// stock inserts the first customers and orders; the orders lie in the weeks before now.
func (s *Shop) stock(ctx context.Context, tx *sql.Tx) error {
	for _, c := range firstCustomers {
		if _, err := tx.ExecContext(ctx, "INSERT INTO customers (id, name, balance) VALUES (?, ?, ?)", c.id, c.name, c.balance); err != nil {
			return err
		}
	}
	for _, o := range firstOrders {
		at := s.now().UTC().AddDate(0, 0, -o.daysAgo).Format(time.RFC3339)
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id, customer_id, amount, status, created_at) VALUES (?, ?, ?, ?, ?)",
			o.id, o.customer, o.amount, o.status, at); err != nil {
			return err
		}
	}
	return nil
}

var firstCustomers = []struct {
	id      int
	name    string
	balance float64
}{
	{1, "张三", 42.5}, {2, "Ana", 250}, {3, "李四", 130}, {4, "Ben", 8.25},
}

var firstOrders = []struct {
	id, customer int
	amount       float64
	status       string
	daysAgo      int
}{
	{1, 1, 100, "delivered", 27}, {2, 2, 200, "delivered", 26}, {3, 3, 300, "delivered", 20}, {4, 4, 59.9, "delivered", 19},
	{5, 1, 20, "delivered", 13}, {6, 2, 75.5, "shipped", 6}, {7, 1, 120, "paid", 5}, {8, 4, 45, "paid", 3}, {9, 2, 1800, "paid", 2}, {10, 3, 15, "open", 1},
}

// Effect is one request that was to change something.
type Effect struct {
	ID      int64  // in the order of arrival
	At      string // RFC 3339, UTC
	Request string // method and path
	Key     string // idempotency key; empty when none was sent
	Outcome string // done, replayed or refused
}

// Effects lists every such request since the shop was made, the oldest first.
func (s *Shop) Effects(ctx context.Context) ([]Effect, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id, at, request, idempotency_key, outcome FROM effects ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("list effects: %w", err)
	}
	defer rows.Close()
	var all []Effect
	for rows.Next() {
		var e Effect
		if err := rows.Scan(&e.ID, &e.At, &e.Request, &e.Key, &e.Outcome); err != nil {
			return nil, fmt.Errorf("list effects: %w", err)
		}
		all = append(all, e)
	}
	return all, rows.Err()
}

package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"countersign/agent"
	"countersign/bot"
)

// deliveryRow is a row of deliveries.
type deliveryRow struct {
	Subject    string
	Channel    string
	ThreadTS   string
	Priority   int
	Version    int64
	Done       int64
	Since      int64
	ReadyAt    int64
	PostedTS   string
	Hash       string
	Intended   bool
	Gone       bool
	Attempts   int
	Failure    string
	LeaseOwner string
	LeaseEpoch int64
	LeaseUntil int64
	UpdatedAt  int64 `gorm:"autoUpdateTime:false"`
}

// TableName names the table.
func (deliveryRow) TableName() string { return "deliveries" }

func (w *deliveryRow) delivery() bot.Delivery {
	return bot.Delivery{
		Subject: w.Subject, Channel: w.Channel, ThreadTS: w.ThreadTS, Priority: w.Priority, Version: w.Version,
		Done: w.Done, PostedTS: w.PostedTS, Hash: w.Hash, Intended: w.Intended, Attempts: w.Attempts,
		Owner: w.LeaseOwner, Epoch: w.LeaseEpoch, Since: instant(w.Since),
	}
}

// Wish implements bot.Outbox.
func (s *Store) Wish(ctx context.Context, wishes []agent.Wish, now time.Time) error {
	return s.transact(ctx, func(t *txn) error {
		t.now = now
		return t.wishes(wishes)
	})
}

// A new wish raises the version. What was wanted before and not delivered yet keeps
// its age, its urgency and, after a failure, its time to try again; the place where it was posted
// never changes.
const (
	wishInto = `INSERT INTO deliveries (subject, channel, thread_ts, priority, version, done, since, ready_at,
	posted_ts, hash, intended, gone, attempts, failure, lease_owner, lease_epoch, lease_until, updated_at)
VALUES `
	wishRow = `(?, ?, ?, ?, 1, 0, ?, ?, '', '', ?, ?, 0, '', '', 0, 0, ?)`
	wishOn  = `
ON CONFLICT (subject) DO UPDATE SET
	version = deliveries.version + 1,
	priority = CASE WHEN deliveries.version > deliveries.done AND deliveries.priority < excluded.priority THEN deliveries.priority ELSE excluded.priority END,
	gone = excluded.gone,
	since = CASE WHEN deliveries.version > deliveries.done AND NOT deliveries.gone AND deliveries.since < excluded.since THEN deliveries.since ELSE excluded.since END,
	ready_at = CASE WHEN deliveries.version > deliveries.done AND NOT deliveries.gone
		AND (deliveries.attempts > 0 OR deliveries.ready_at < excluded.ready_at) THEN deliveries.ready_at ELSE excluded.ready_at END,
	updated_at = excluded.updated_at`
)

// wishesAtOnce is how many wishes one statement writes.
const wishesAtOnce = 200

// wishes writes wishes in the order of their subjects, so that two transactions
// never wait for each other.
func (t *txn) wishes(wishes []agent.Wish) error {
	now := micros(t.now)
	for some := range slices.Chunk(distinct(wishes), wishesAtOnce) {
		rows, args := make([]string, len(some)), make([]any, 0, 9*len(some))
		for i, w := range some {
			ready := now
			if !w.ReadyAt.IsZero() {
				ready = micros(w.ReadyAt)
			}
			rows[i], args = wishRow, append(args, w.Subject, w.Channel, w.ThreadTS, w.Priority, now, ready, false, false, now)
		}
		if _, err := t.changed(wishInto+strings.Join(rows, ", ")+wishOn, args...); err != nil {
			return err
		}
		t.wish = true
	}
	return nil
}

// distinct gives each subject once, as early and as urgent as anybody wants it.
func distinct(wishes []agent.Wish) []agent.Wish {
	sorted := slices.SortedStableFunc(slices.Values(wishes), func(a, b agent.Wish) int { return strings.Compare(a.Subject, b.Subject) })
	var out []agent.Wish
	for _, w := range sorted {
		if len(out) == 0 || out[len(out)-1].Subject != w.Subject {
			out = append(out, w)
			continue
		}
		same := &out[len(out)-1]
		same.Priority = min(same.Priority, w.Priority)
		if w.ReadyAt.Before(same.ReadyAt) {
			same.ReadyAt = w.ReadyAt
		}
	}
	return out
}

// Redraw implements bot.Outbox.
func (s *Store) Redraw(ctx context.Context, channel, ts string, now time.Time) error {
	at := micros(now)
	_, err := s.exec(ctx, `UPDATE deliveries SET hash = '', version = version + 1, since = ?, ready_at = ?, updated_at = ?
		WHERE channel = ? AND posted_ts = ? AND NOT gone`, at, at, at, channel, ts)
	return err
}

// ClaimDeliveries implements bot.Outbox.
func (s *Store) ClaimDeliveries(ctx context.Context, owner string, now, until time.Time, n int) ([]bot.Delivery, error) {
	skip := ""
	if s.dialect == Postgres {
		skip = " FOR UPDATE SKIP LOCKED" // two replicas take different rows instead of waiting for each other
	}
	// What nobody waits for has a pace of its own, and is left alone until then: claiming
	// it only to put it off would cost as much as there is of it.
	claim := `UPDATE deliveries SET lease_owner = ?, lease_epoch = lease_epoch + 1, lease_until = ?
		WHERE subject IN (SELECT subject FROM deliveries WHERE version > done AND NOT gone AND ready_at <= ?
			AND priority <= (SELECT CASE WHEN EXISTS (SELECT 1 FROM paces WHERE method = 'later' AND next_at > ?)
				THEN CAST(? AS BIGINT) ELSE CAST(? AS BIGINT) END)
			AND (lease_owner = '' OR lease_until <= ?) ORDER BY priority, since LIMIT ?` + skip + `) RETURNING *`
	var rows []deliveryRow
	at := micros(now)
	if err := s.query(ctx, &rows, claim, owner, micros(until), at, at, agent.PriorityHome, agent.PriorityLater, at, n); err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b deliveryRow) int {
		if a.Priority != b.Priority {
			return a.Priority - b.Priority
		}
		return int(a.Since - b.Since)
	})
	out := make([]bot.Delivery, len(rows))
	for i := range rows {
		out[i] = rows[i].delivery()
	}
	return out, nil
}

// Intend implements bot.Outbox; agent.ErrFenced when the delivery is somebody else's now.
func (s *Store) Intend(ctx context.Context, d bot.Delivery, now time.Time) error {
	n, err := s.exec(ctx, "UPDATE deliveries SET intended = ?, hash = ?, updated_at = ? WHERE subject = ? AND lease_owner = ? AND lease_epoch = ?",
		true, d.Hash, micros(now), d.Subject, d.Owner, d.Epoch)
	return fencedUnless(n, err)
}

// Delivered implements bot.Outbox; agent.ErrFenced when the delivery is somebody
// else's now. Only the version that was delivered counts as done: what was wanted
// meanwhile stays due.
func (s *Store) Delivered(ctx context.Context, d bot.Delivery, done bot.Receipt) error {
	columns := []column{{"lease_owner", ""}, {"lease_until", 0}, {"gone", done.Gone}, {"failure", clean(done.Error)}, {"updated_at", micros(done.At)}}
	switch {
	case done.Version > 0 && !done.RetryAt.IsZero(): // delivered, and it will look different then
		columns = append(columns, column{"done", done.Version - 1}, column{"attempts", 0})
	case done.Version > 0:
		columns = append(columns, column{"done", done.Version}, column{"attempts", 0})
	case done.Error != "": // what was only put off did not fail
		columns = append(columns, column{"attempts", d.Attempts + 1})
	}
	if !done.RetryAt.IsZero() && done.Version == 0 {
		columns = append(columns, column{"ready_at", micros(done.RetryAt)})
	}
	if done.Channel != "" {
		columns = append(columns, column{"thread_ts", ""})
	}
	for _, c := range []column{{"posted_ts", done.PostedTS}, {"hash", done.Hash}, {"channel", done.Channel}} {
		if c.value != "" {
			columns = append(columns, c)
		}
	}
	set, args := assignments(columns)
	if later := micros(done.RetryAt); done.Version > 0 && !done.RetryAt.IsZero() { // what was wanted meanwhile does not wait for that
		set += ", ready_at = CASE WHEN version > ? THEN ready_at ELSE ? END, since = CASE WHEN version > ? THEN since ELSE ? END"
		args = append(args, done.Version, later, done.Version, later)
	}
	n, err := s.receipt(ctx, d, done, "UPDATE deliveries SET "+set+" WHERE subject = ? AND lease_owner = ? AND lease_epoch = ?",
		append(args, d.Subject, d.Owner, d.Epoch))
	return fencedUnless(n, err)
}

func fencedUnless(changed int64, err error) error {
	if err == nil && changed != 1 {
		return agent.ErrFenced
	}
	return err
}

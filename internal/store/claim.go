package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"countersign/agent"
)

// unfinished is the condition of runs that have not ended, as the indexes have it.
const unfinished = "state NOT IN ('success', 'failed', 'cancelled')"

// due is the one test of whether a run has work and nobody at it, nor at another
// run of its thread: a thread's runs work one at a time. It takes the present
// three times.
const due = unfinished + " AND wake > seen AND ready_at <= ? AND (lease_owner = '' OR lease_until <= ?)" +
	" AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.installation = runs.installation AND o.channel = runs.channel" +
	" AND o.thread_ts = runs.thread_ts AND o.id <> runs.id AND o.lease_owner <> '' AND o.lease_until > ?)"

// Claim implements agent.Store. The lease's epoch is the store's to give.
func (s *Store) Claim(ctx context.Context, run string, lease agent.Lease, now time.Time) (*agent.Run, error) {
	const claim = "UPDATE runs SET lease_owner = ?, lease_epoch = lease_epoch + 1, lease_until = ?" +
		" WHERE id = ? AND " + due + " RETURNING *"
	var rows []runRow
	at := micros(now)
	err := s.transact(ctx, func(t *txn) error {
		if err := t.oneClaimInThread(run); err != nil {
			return err
		}
		rows = nil
		return t.Raw(claim, lease.Owner, micros(lease.Until), run, at, at, at).Scan(&rows).Error
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r, err := rows[0].run()
	return &r, err
}

// oneClaimInThread makes claims of one thread follow each other, so that each sees
// the lease of the one before. SQLite's writers do so anyway; Postgres would look
// at the thread's other runs as they were before both.
func (t *txn) oneClaimInThread(run string) error {
	if t.store.dialect == SQLite {
		return nil
	}
	return t.Exec("SELECT pg_advisory_xact_lock(hashtextextended(installation || '/' || channel || '/' || thread_ts, 0))"+
		" FROM runs WHERE id = ?", run).Error
}

// Due lists up to n runs that a claim would find, the longest waiting first.
func (s *Store) Due(ctx context.Context, now time.Time, n int) ([]string, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var ids []string
	at := micros(now)
	err := s.read.WithContext(ctx).
		Raw("SELECT id FROM runs WHERE "+due+" ORDER BY ready_at LIMIT ?", at, at, at, n).Scan(&ids).Error
	return ids, translate(err)
}

// Extend moves the end of the owner's leases, given by run with their epochs, and
// gives those that it moved. What has run out stays so: somebody may be about to take
// it over. Epoch 0 stands for whatever the owner claimed.
func (s *Store) Extend(ctx context.Context, owner string, leases map[string]int64, now, until time.Time) (map[string]int64, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	args := []any{micros(until), owner, micros(now)}
	for _, run := range slices.Sorted(maps.Keys(leases)) {
		least, most := leases[run], leases[run]
		if most == 0 {
			most = math.MaxInt64
		}
		args = append(args, run, least, most)
	}
	these := strings.Repeat(" OR id = ? AND lease_epoch BETWEEN ? AND ?", len(leases))[len(" OR "):]
	var rows []runRow
	err := s.query(ctx, &rows, "UPDATE runs SET lease_until = ? WHERE lease_owner = ? AND lease_until > ? AND ("+these+") RETURNING id, lease_epoch", args...)
	held := make(map[string]int64, len(rows))
	for _, r := range rows {
		held[r.ID] = r.LeaseEpoch
	}
	return held, err
}

// Release gives the owner's leases on runs back, so that others need not wait for
// their end. The runs are due from an instant on; when that is now, what has work is rung.
func (s *Store) Release(ctx context.Context, owner string, runs []string, at time.Time) error {
	if len(runs) == 0 {
		return nil
	}
	return s.transact(ctx, func(t *txn) error {
		const release = "UPDATE runs SET lease_owner = '', lease_until = 0," +
			" ready_at = CASE WHEN ready_at > ? THEN ready_at ELSE ? END" +
			" WHERE lease_owner = ? AND id IN ? RETURNING id, wake, seen, ready_at"
		var freed []runRow
		if err := t.Raw(release, micros(at), micros(at), owner, runs).Scan(&freed).Error; err != nil {
			return err
		}
		for _, r := range freed {
			if r.Wake > r.Seen && r.ReadyAt <= micros(t.now) {
				if err := t.ring(r.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// wake gives a run that has not ended work to do from an instant on, and rings it
// when that is now. It gives the raised wake, 0 when the run has ended or is missing.
// A run that is due earlier stays so.
func (t *txn) wake(run string, at time.Time) (int64, error) {
	const raise = "UPDATE runs SET ready_at = CASE WHEN wake > seen AND ready_at < ? THEN ready_at ELSE ? END," +
		" wake = wake + 1 WHERE id = ? AND " + unfinished + " RETURNING wake"
	var raised int64
	err := t.row(raise, micros(at), micros(at), run).Scan(&raised)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil || at.After(t.now) {
		return raised, err // of a later instant is the sweep's
	}
	return raised, t.ring(run)
}

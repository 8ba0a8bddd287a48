package store

import (
	"context"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/internal/audit"
)

// overdue reads what ends approvals. Its inner query costs what it finds, not what the
// table holds: the index has the state and the end.
const overdue = `SELECT a.*, r.digest, s.state AS step_state, u.channel AS run_channel, u.thread_ts AS run_ts
FROM (SELECT * FROM approvals WHERE state = 'pending' AND expires_at <= ? ORDER BY expires_at DESC LIMIT ?) a
JOIN revisions r ON r.approval = a.id AND r.n = a.revision
JOIN steps s ON s.run = a.run AND s.n = a.step
JOIN runs u ON u.id = a.run
ORDER BY a.expires_at DESC`

// overdueRow is an approval with the little that its end needs of its run.
type overdueRow struct {
	Approval   approvalRow `gorm:"embedded"`
	Digest     string
	StepState  string
	RunChannel string
	RunTS      string
}

// Overdue implements decisions.Store.
func (s *Store) Overdue(ctx context.Context, now time.Time, limit int) ([]decisions.Case, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var rows []overdueRow
	if err := s.read.WithContext(ctx).Raw(overdue, micros(now), limit).Scan(&rows).Error; err != nil {
		return nil, translate(err)
	}
	out := make([]decisions.Case, len(rows))
	for i := range rows {
		out[i] = rows[i].ending()
	}
	return out, nil
}

func (w *overdueRow) ending() decisions.Case {
	a := w.Approval.approval()
	a.Revisions = make([]approvals.Revision, a.Revision)
	a.Revisions[a.Revision-1] = approvals.Revision{N: a.Revision, Digest: w.Digest}
	return decisions.Case{
		Run:      agent.Run{ID: a.Run, Thread: agent.Thread{Channel: w.RunChannel, TS: w.RunTS}},
		Step:     agent.Step{Run: a.Run, N: a.Step, State: agent.StepState(w.StepState)},
		Approval: *a,
	}
}

// Expire implements decisions.Store. As everywhere the runs' rows come first and the
// audit last; each part is one statement for all approvals.
func (s *Store) Expire(ctx context.Context, ends []decisions.Change, gap time.Duration) (n int, err error) {
	err = s.transact(ctx, func(t *txn) error {
		n = 0
		ends, err := t.idle(ends)
		if err == nil {
			ends, err = t.expired(ends)
		}
		if err != nil || len(ends) == 0 {
			return err
		}
		n = len(ends)
		return t.ended(ends, gap)
	})
	return n, err
}

// idle takes the rows of the runs and leaves out those that somebody else has: a
// click or a worker is never waited for, and never waits for another's row in turn.
// SQLite has one writer.
func (t *txn) idle(ends []decisions.Change) ([]decisions.Change, error) {
	if t.store.dialect == SQLite || len(ends) == 0 {
		return ends, nil
	}
	runs := make([]string, len(ends))
	for i := range ends {
		runs[i] = ends[i].Run
	}
	var free []string
	err := t.Raw("SELECT id FROM runs WHERE id IN ? FOR UPDATE SKIP LOCKED", runs).Scan(&free).Error
	return only(ends, free, func(c *decisions.Change) string { return c.Run }), err
}

// expired is the compare-and-set of many: still pending, and still over.
func (t *txn) expired(ends []decisions.Change) ([]decisions.Change, error) {
	if len(ends) == 0 {
		return nil, nil
	}
	ids := make([]string, len(ends))
	for i := range ends {
		ids[i] = ends[i].Approval
	}
	at := micros(ends[0].At)
	var won []string
	err := t.Raw(`UPDATE approvals SET state = ?, version = version + 1, settled_at = ?
		WHERE id IN ? AND state = ? AND expires_at <= ? RETURNING id`,
		string(approvals.Expired), at, ids, string(approvals.Pending), at).Scan(&won).Error
	return only(ends, won, func(c *decisions.Change) string { return c.Approval }), err
}

// only keeps the changes whose key is among some.
func only(ends []decisions.Change, some []string, key func(*decisions.Change) string) []decisions.Change {
	in := make(map[string]bool, len(some))
	for _, s := range some {
		in[s] = true
	}
	var out []decisions.Change
	for i := range ends {
		if in[key(&ends[i])] {
			out = append(out, ends[i])
		}
	}
	return out
}

// ended writes everything beside the approvals themselves.
func (t *txn) ended(ends []decisions.Change, gap time.Duration) error {
	var wishes []agent.Wish
	var entries []audit.Entry
	for i := range ends {
		wishes, entries = append(wishes, ends[i].Wishes...), append(entries, ends[i].Audit...)
	}
	if err := t.wakeMany(ends, gap); err != nil {
		return err
	}
	if err := t.refuseSteps(ends); err != nil {
		return err
	}
	if err := t.wishes(wishes); err != nil {
		return err
	}
	return t.audit(entries)
}

// refuseSteps gives the steps that awaited their one result, the same for all.
func (t *txn) refuseSteps(ends []decisions.Change) error {
	var last *agent.StepChange
	var rows []string
	var keys []any
	for i := range ends {
		for j := range ends[i].Steps {
			last = &ends[i].Steps[j]
			rows, keys = append(rows, "(CAST(? AS TEXT), CAST(? AS BIGINT))"), append(keys, last.Step.Run, last.Step.N)
		}
	}
	if last == nil {
		return nil
	}
	args := append(keys, string(last.Step.State), clean(last.Step.Code), clean(last.Step.Observation), micros(last.Step.EndedAt), string(last.From))
	n, err := t.changed("WITH due (run, n) AS (VALUES "+strings.Join(rows, ", ")+`)
		UPDATE steps SET state = ?, code = ?, observation = ?, ended_at = ? FROM due
		WHERE steps.run = due.run AND steps.n = due.n AND steps.state = ?`, args...)
	if err == nil && n != int64(len(rows)) {
		err = agent.ErrSettled
	}
	return err
}

// wakeMany gives the runs work, each from its own instant on, and rings those that
// may begin now.
func (t *txn) wakeMany(ends []decisions.Change, gap time.Duration) error {
	slot, err := t.slots(ends, gap)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var rows []string
	var args []any
	for i := range ends {
		c := &ends[i]
		if !c.Wake || seen[c.Run] {
			continue
		}
		seen[c.Run] = true
		at := micros(c.ReadyAt)
		if at == 0 {
			at, slot = slot, slot+gap.Microseconds()
		}
		rows, args = append(rows, "(CAST(? AS TEXT), CAST(? AS BIGINT))"), append(args, c.Run, at)
	}
	if len(rows) == 0 {
		return nil
	}
	var now []string
	err = t.Raw("WITH due (run, at) AS (VALUES "+strings.Join(rows, ", ")+`)
		UPDATE runs SET ready_at = CASE WHEN wake > seen AND ready_at < due.at THEN ready_at ELSE due.at END, wake = wake + 1
		FROM due WHERE runs.id = due.run AND `+unfinished+" RETURNING CASE WHEN ready_at <= ? THEN id ELSE '' END", append(args, micros(t.now))...).Scan(&now).Error
	for _, run := range now {
		if err == nil && run != "" {
			err = t.ring(run)
		}
	}
	return err
}

// slots takes a place in time for every run that has none and gives the first: places
// are a gap apart, and one row, which all replicas share, says which are taken.
func (t *txn) slots(ends []decisions.Change, gap time.Duration) (int64, error) {
	n := int64(0)
	for i := range ends {
		if ends[i].ReadyAt.IsZero() {
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	now, took := micros(ends[0].At), n*gap.Microseconds()
	var next int64
	err := t.Raw(`INSERT INTO paces (method, channel, next_at) VALUES ('resume', '', ?)
		ON CONFLICT (method, channel) DO UPDATE SET next_at = CASE WHEN paces.next_at > ? THEN paces.next_at ELSE ? END + ?
		RETURNING next_at`, now+took, now, now, took).Scan(&next).Error
	return next - took, err
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/audit"
)

// Commit implements agent.Store. The run's row comes first: it is the fence, and
// it keeps everybody else who changes the run waiting; the audit comes last,
// because its one row is shared by all runs.
func (s *Store) Commit(ctx context.Context, f agent.Fence, c agent.Change) (int64, error) {
	if (c.Park || c.Yield) && f.Wake < 0 {
		return 0, errors.New("giving a lease back needs the wake that was loaded")
	}
	var wake int64
	err := s.transact(ctx, func(t *txn) (err error) {
		if wake, err = t.header(&f, &c); err != nil {
			return err
		}
		return errors.Join(err, t.change(&f, &c))
	})
	if errors.Is(err, errDuplicate) {
		err = errors.Join(agent.ErrSettled, err) // an approval of the step is open already
	}
	if err != nil {
		return 0, err
	}
	return wake, nil
}

func (t *txn) change(f *agent.Fence, c *agent.Change) error {
	var used []audit.Entry
	steps := []func() error{
		func() error { return t.limits(f, c) },
		func() (err error) { used, err = t.useGrants(f, c.Uses); return err },
		func() error { return t.insertTurn(c.Turn) },
		func() error { return t.insertSteps(c.NewSteps) },
		func() error { return t.moveSteps(c.Steps) },
		func() error { return t.moveApprovals(c.Approvals) },
		func() error { return t.openApprovals(c.Open) },
		func() error { return t.consume(f, c.Consumed) },
		func() error { return t.wishes(c.Wishes) },
		func() error { return t.ringYielded(f, c) },
		func() error { return t.audit(slices.Concat(c.Audit, used)) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// header writes the run's row under the fence and gives its wake.
func (t *txn) header(f *agent.Fence, c *agent.Change) (int64, error) {
	columns, err := headerColumns(f, c)
	if err != nil {
		return 0, err
	}
	set, args := assignments(columns)
	statement := "UPDATE runs SET " + set + " WHERE id = ? AND lease_owner = ? AND lease_epoch = ?"
	args = append(args, f.Run, f.Owner, f.Epoch)
	if f.Wake >= 0 {
		statement, args = statement+" AND wake = ?", append(args, f.Wake)
	}
	var wake int64
	err = t.row(statement+" RETURNING wake", args...).Scan(&wake)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, t.fenced(f)
	}
	return wake, err
}

// headerColumns gives what the change writes into the run's row.
func headerColumns(f *agent.Fence, c *agent.Change) ([]column, error) {
	out := []column{{"updated_at", micros(f.Now)}}
	ended := false
	if c.Run != nil {
		w, err := newRunRow(c.Run)
		if err != nil {
			return nil, err
		}
		ended = agent.RunMachine.Terminal(c.Run.State)
		switch {
		case !ended:
			w.EndedAt = 0
		case w.EndedAt == 0:
			w.EndedAt = micros(f.Now)
		}
		out = append(out, column{"state", w.State}, column{"halt", w.Halt},
			column{"closing", w.Closing}, column{"answer", w.Answer}, column{"limits", w.Limits}, column{"spent", w.Spent},
			column{"counters", w.Counters}, column{"plan", w.Plan}, column{"turns", w.Turns},
			column{"next_step", w.NextStep}, column{"input_by", w.InputBy}, column{"ended_at", w.EndedAt},
			column{"tokens", w.Tokens}, column{"cost", w.Cost}, column{"held_tokens", 0}, column{"held_cost", 0})
	}
	if c.System != "" {
		out = append(out, column{"system", clean(c.System)})
	}
	return append(out, leaseColumns(f, c, ended)...), nil
}

// leaseColumns gives the lease back or moves its end. What has ended is nobody's.
func leaseColumns(f *agent.Fence, c *agent.Change, ended bool) []column {
	var out []column
	if c.Park {
		out = append(out, column{"seen", f.Wake})
	}
	if c.Yield {
		out = append(out, column{"ready_at", micros(readyAt(f, c))})
	}
	switch {
	case c.Park || c.Yield || ended:
		out = append(out, column{"lease_owner", ""}, column{"lease_until", 0})
	case !f.Until.IsZero():
		out = append(out, column{"lease_until", micros(f.Until)})
	}
	return out
}

// fenced says why the fence did not hold.
func (t *txn) fenced(f *agent.Fence) error {
	var rows []runRow
	err := t.Raw("SELECT lease_owner, lease_epoch, wake FROM runs WHERE id = ?", f.Run).Scan(&rows).Error
	switch {
	case err != nil:
		return err
	case len(rows) == 0:
		return agent.ErrNotFound
	case rows[0].LeaseOwner != f.Owner || rows[0].LeaseEpoch != f.Epoch:
		return agent.ErrFenced
	}
	return agent.ErrMoved
}

func (t *txn) insertTurn(turn *agent.Turn) error {
	if turn == nil {
		return nil
	}
	row, err := newTurnRow(turn)
	if err != nil {
		return err
	}
	return insert(t, row)
}

func (t *txn) insertSteps(steps []agent.Step) error {
	if len(steps) == 0 {
		return nil
	}
	rows := make([]stepRow, len(steps))
	for i := range steps {
		var err error
		if rows[i], err = newStepRow(&steps[i]); err != nil {
			return err
		}
	}
	return insert(t, rows...)
}

// moveSteps compares and sets each step; the order of the numbers keeps two
// transactions from waiting for each other.
func (t *txn) moveSteps(changes []agent.StepChange) error {
	changes = slices.SortedFunc(slices.Values(changes), func(a, b agent.StepChange) int { return a.Step.N - b.Step.N })
	for i := range changes {
		if err := t.moveStep(&changes[i]); err != nil {
			return err
		}
		if err := t.attach(&changes[i].Step); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) moveStep(c *agent.StepChange) error {
	row, err := newStepRow(&c.Step)
	if err != nil {
		return err
	}
	set, args := assignments(row.outcome())
	n, err := t.changed("UPDATE steps SET "+set+" WHERE run = ? AND n = ? AND state = ? AND attempts = ? AND approval = ?",
		append(args, row.Run, row.N, string(c.From), c.Attempts, c.Approval)...)
	if err == nil && n != 1 {
		err = agent.ErrSettled
	}
	return err
}

func (t *txn) moveApprovals(changes []agent.ApprovalChange) error {
	changes = slices.SortedFunc(slices.Values(changes), func(a, b agent.ApprovalChange) int { return strings.Compare(a.ID, b.ID) })
	for _, c := range changes {
		statement := "UPDATE approvals SET state = ?, version = version + 1, settled_at = " + settledAt + " WHERE id = ? AND state = ?"
		at := micros(c.At)
		if c.At.IsZero() {
			at = micros(t.now)
		}
		args := []any{string(c.To), string(c.To), at, c.ID, string(c.From)}
		if c.Version >= 0 {
			statement, args = statement+" AND version = ?", append(args, c.Version)
		}
		if c.To == approvals.Redeemed {
			statement += nobodyLocked
		}
		n, err := t.changed(statement, args...)
		if err != nil {
			return err
		}
		if n != 1 {
			return t.unmoved(&c)
		}
	}
	return nil
}

// unmoved says why an approval was not moved.
func (t *txn) unmoved(c *agent.ApprovalChange) error {
	var n int64
	err := t.Raw("SELECT count(*) FROM approvals WHERE id = ? AND state = ? AND (version = ? OR ? < 0)", c.ID, string(c.From), c.Version, c.Version).Scan(&n).Error
	switch {
	case err != nil:
		return err
	case n == 1 && c.To == approvals.Redeemed:
		return agent.ErrHeld
	}
	return agent.ErrSettled
}

// nobodyLocked keeps an approval from being used between the commit that locks one of
// its approvers, or whose edit it is, and the one that voids what they decided.
const nobodyLocked = ` AND NOT EXISTS (SELECT 1 FROM decisions d JOIN locks l ON l.team = d.by_team AND l.user_id = d.by_user
	WHERE d.approval = approvals.id AND d.revision = approvals.revision AND NOT d.void)
	AND NOT EXISTS (SELECT 1 FROM locks l WHERE approvals.revision = 1 AND ' ' || approvals.shapers LIKE '% ' || l.team || '/' || l.user_id)`

// settledAt is when an approval left pending. It takes the new state and the present.
const settledAt = "CASE WHEN state = 'pending' AND ? <> 'pending' THEN ? ELSE settled_at END"

func (t *txn) openApprovals(open []approvals.Approval) error {
	for i := range open {
		a := &open[i]
		row := newApprovalRow(a)
		if err := insert(t, row); err != nil {
			return err
		}
		for j := range a.Revisions {
			if err := t.insertRevision(a.ID, &a.Revisions[j]); err != nil {
				return err
			}
		}
		for j := range a.Decisions { // carried over: numbered up to 0, before those to come
			d := newDecisionRow(a.ID, int64(j+1-len(a.Decisions)), &a.Decisions[j])
			if err := insert(t, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *txn) insertRevision(approval string, r *approvals.Revision) error {
	row, err := newRevisionRow(approval, r)
	if err != nil {
		return err
	}
	return insert(t, row)
}

func (t *txn) consume(f *agent.Fence, messages []agent.Consumed) error {
	for _, m := range messages {
		n, err := t.changed("UPDATE inbox SET turn = ?, consumed_at = ? WHERE id = ? AND run = ? AND consumed_at = 0",
			m.Turn, micros(f.Now), m.ID, f.Run)
		if err != nil {
			return err
		}
		if n != 1 {
			return agent.ErrSettled
		}
	}
	return nil
}

// ringYielded announces a run that was given back with work left. Work of a later
// instant is the sweep's.
func (t *txn) ringYielded(f *agent.Fence, c *agent.Change) error {
	if err := t.ringThread(f, c); err != nil {
		return err
	}
	if !c.Yield || readyAt(f, c).After(f.Now) {
		return nil
	}
	return t.ring(f.Run)
}

// ringThread announces the runs of the thread that could not work beside the one
// that gives its lease back here.
func (t *txn) ringThread(f *agent.Fence, c *agent.Change) error {
	if c.Run == nil || !c.Park && !c.Yield {
		return nil
	}
	var others []string
	err := t.Raw("SELECT id FROM runs WHERE installation = ? AND channel = ? AND thread_ts = ? AND id <> ? AND "+unfinished+
		" AND wake > seen AND ready_at <= ? AND lease_owner = '' ORDER BY created_at LIMIT 5",
		c.Run.Installation, c.Run.Channel, c.Run.TS, f.Run, micros(f.Now)).Scan(&others).Error
	for _, id := range others {
		err = errors.Join(err, t.ring(id))
	}
	return err
}

// readyAt is when a yielded run is due: at once, unless the change says later.
func readyAt(f *agent.Fence, c *agent.Change) time.Time {
	if c.Run == nil || c.Run.ReadyAt.Before(f.Now) {
		return f.Now
	}
	return c.Run.ReadyAt
}

package store

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// Case implements decisions.Store and bot.Views.
func (s *Store) Case(ctx context.Context, approval string) (*decisions.Case, error) {
	var out *decisions.Case
	err := s.snapshot(ctx, func(tx *gorm.DB) error {
		var rows []approvalRow
		if err := tx.Where("id = ?", approval).Limit(1).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == 0 {
			return agent.ErrNotFound
		}
		cases, err := loadCases(tx, rows)
		if err == nil {
			out = &cases[0]
		}
		return err
	})
	return out, err
}

// loadCases completes approvals with what they are about.
func loadCases(tx *gorm.DB, rows []approvalRow) ([]decisions.Case, error) {
	list, err := loadApprovals(tx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]decisions.Case, len(list))
	for i, a := range list {
		c, err := loadCase(tx, a.Run, a.Step)
		if err != nil {
			return nil, err
		}
		c.Approval = *a
		out[i] = *c
	}
	return out, nil
}

// loadCase reads what a call is judged by, but no approval of it.
func loadCase(tx *gorm.DB, run string, n int) (*decisions.Case, error) {
	r, err := loadRun(tx, run)
	if err != nil {
		return nil, err
	}
	var rows []stepRow
	if err := tx.Where("run = ? AND n = ?", run, n).Limit(1).Find(&rows).Error; err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, agent.ErrNotFound
	}
	step, err := rows[0].step()
	if err != nil {
		return nil, err
	}
	read, err := privateSources(tx, run)
	return &decisions.Case{Run: *r, Step: step, Read: read}, err
}

// privateSources names what private tools have read for a run.
func privateSources(tx *gorm.DB, run string) ([]string, error) {
	var rows []stepRow
	err := tx.Select("tool", "private", "attempts", "sources").Where("run = ? AND private AND (attempts > 0 OR sources LIKE '[%')", run).Order("n").Find(&rows).Error
	if err != nil {
		return nil, err
	}
	steps := make([]agent.Step, len(rows))
	for i := range rows {
		steps[i] = agent.Step{Tool: rows[i].Tool, Private: true, Attempts: rows[i].Attempts}
		if err := decode(rows[i].Sources, &steps[i].Sources); err != nil {
			return nil, err
		}
	}
	return agent.PrivateSources(steps), nil
}

// Step implements decisions.Store.
func (s *Store) Step(ctx context.Context, run string, step int) (*decisions.Case, error) {
	var c *decisions.Case
	err := s.snapshot(ctx, func(tx *gorm.DB) (err error) {
		c, err = loadCase(tx, run, step)
		return err
	})
	return c, err
}

// Record implements decisions.Store. The rows are taken in the order of every
// other transaction: the run, its steps, its approvals, the deliveries, the audit.
func (s *Store) Record(ctx context.Context, c decisions.Change) error {
	err := s.transact(ctx, func(t *txn) error { return t.record(&c) })
	if errors.Is(err, errDuplicate) {
		err = errors.Join(agent.ErrSettled, err) // an approval of the step, or the revision, is there already
	}
	return err
}

func (t *txn) record(c *decisions.Change) error {
	if err := t.wakeDecided(c); err != nil {
		return err
	}
	if err := t.goesOn(c); err != nil {
		return err
	}
	if err := t.free(c.By); err != nil {
		return err
	}
	if err := t.moveSteps(c.Steps); err != nil {
		return err
	}
	if err := t.verdict(c); err != nil {
		return err
	}
	if err := t.openApprovals(c.Open); err != nil {
		return err
	}
	if err := t.wishes(c.Wishes); err != nil {
		return err
	}
	entries := c.Audit
	if c.Decision != nil {
		var err error
		if entries, err = t.withCards(entries, c.Approval); err != nil {
			return err
		}
	}
	return t.audit(entries)
}

// goesOn takes the row of a run in which something is opened: in one that has ended
// nobody would ever close it.
func (t *txn) goesOn(c *decisions.Change) error {
	if len(c.Open) == 0 {
		return nil
	}
	n, err := t.changed("UPDATE runs SET wake = wake WHERE id = ? AND "+unfinished, c.Run)
	if err == nil && n == 0 {
		err = t.missing(c.Run)
	}
	return err
}

func (t *txn) wakeDecided(c *decisions.Change) error {
	if !c.Wake {
		return nil
	}
	at := c.ReadyAt
	if at.IsZero() {
		at = c.At
	}
	_, err := t.wake(c.Run, at)
	return err
}

// verdict moves the approval and stores its new revision and the decision.
func (t *txn) verdict(c *decisions.Change) error {
	if c.Approval == "" {
		return nil
	}
	if err := t.moveDecided(c); err != nil {
		return err
	}
	if c.Void {
		if _, err := t.changed("UPDATE decisions SET void = ? WHERE approval = ?", true, c.Approval); err != nil {
			return err
		}
	}
	if who := c.VoidOf; !who.Zero() {
		if _, err := t.changed("UPDATE decisions SET void = ? WHERE approval = ? AND by_team = ? AND by_user = ?", true, c.Approval, who.Team, who.User); err != nil {
			return err
		}
	}
	if c.Revision != nil {
		if err := t.insertRevision(c.Approval, c.Revision); err != nil {
			return err
		}
	}
	if c.Decision == nil {
		return nil
	}
	row := newDecisionRow(c.Approval, c.Version+1, c.Decision)
	return errors.Join(insert(t, row), t.openReview(c.Review))
}

// moveDecided is the one statement that makes one verdict win: the approval must
// be in the state and version that were read, and not be over.
func (t *txn) moveDecided(c *decisions.Change) error {
	statement := "UPDATE approvals SET state = ?, version = version + 1, settled_at = " + settledAt
	args := []any{string(c.To), string(c.To), micros(c.At)}
	if c.Revision != nil {
		statement, args = statement+", revision = ?, reminded = 0", append(args, c.Revision.N)
	}
	if c.From == approvals.Approved && c.To == approvals.Pending {
		statement = "UPDATE approvals SET state = ?, version = version + 1, settled_at = 0"
		args = args[:1]
	}
	if !c.ExpiresAt.IsZero() {
		statement, args = statement+", expires_at = ?", append(args, micros(c.ExpiresAt))
	}
	statement += " WHERE id = ? AND run = ? AND state = ? AND version = ?"
	args = append(args, c.Approval, c.Run, string(c.From), c.Version)
	if !c.LiveAt.IsZero() {
		statement, args = statement+" AND expires_at > ?", append(args, micros(c.LiveAt))
	}
	n, err := t.changed(statement, args...)
	if err == nil && n != 1 {
		err = agent.ErrSettled
	}
	return err
}

// Refuse implements decisions.Store.
func (s *Store) Refuse(ctx context.Context, entries []audit.Entry) error {
	return s.transact(ctx, func(t *txn) error {
		if len(entries) != 1 || entries[0].Kind != "click.refused" {
			return t.audit(entries)
		}
		entries, err := t.withCards(entries, entries[0].Approval)
		if err != nil {
			return err
		}
		return t.audit(entries)
	})
}

// Opened implements decisions.Store.
func (s *Store) Opened(ctx context.Context, approval string, revision int, who policy.Actor) (bool, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var n int64
	err := s.read.WithContext(ctx).Raw("SELECT count(*) FROM openings WHERE approval = ? AND revision = ? AND team = ? AND user_id = ?",
		approval, revision, who.Team, who.User).Scan(&n).Error
	return n > 0, translate(err)
}

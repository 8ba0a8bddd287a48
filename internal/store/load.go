package store

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/approvals"
)

// Load implements agent.Store and bot.Views: one consistent state of the run.
func (s *Store) Load(ctx context.Context, run string) (*agent.Work, error) {
	w := &agent.Work{}
	err := s.snapshot(ctx, func(tx *gorm.DB) error {
		r, err := loadRun(tx, run)
		if err != nil {
			return err
		}
		w.Run = *r
		if w.Turns, err = loadTurns(tx, run); err != nil {
			return err
		}
		if w.Steps, err = loadSteps(tx, run); err != nil {
			return err
		}
		if w.Inbox, err = loadMessages(tx.Where("run = ? AND consumed_at = 0", run)); err != nil {
			return err
		}
		if w.Approvals, err = loadOpen(tx, run, w.Steps); err != nil {
			return err
		}
		return errors.Join(loadPaid(tx, w), loadAsked(tx, w))
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// loadPaid finds what was paid for calls that were allowed and not made yet, or are being made.
func loadPaid(tx *gorm.DB, w *agent.Work) error {
	w.Paid = map[int]string{}
	for i := range w.Steps {
		s := &w.Steps[i]
		if !s.Effects || s.Approval != "" || s.State != agent.StepAllowed && s.State != agent.StepExecuting {
			continue
		}
		var budget string
		if err := tx.Raw("SELECT budget FROM budget_uses WHERE run = ? AND step = ? LIMIT 1", w.Run.ID, s.N).Scan(&budget).Error; err != nil {
			return err
		}
		w.Paid[s.N] = budget
	}
	return nil
}

// loadAsked finds when people could read what a run waits for.
func loadAsked(tx *gorm.DB, w *agent.Work) error {
	_, subject, waits := w.Words()
	if !waits {
		return nil
	}
	return tx.Raw("SELECT posted_ts FROM deliveries WHERE subject = ? AND NOT gone LIMIT 1", subject).Scan(&w.Asked).Error
}

func loadRun(tx *gorm.DB, id string) (*agent.Run, error) {
	var rows []runRow
	if err := tx.Where("id = ?", id).Limit(1).Find(&rows).Error; err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, agent.ErrNotFound
	}
	r, err := rows[0].run()
	return &r, err
}

func loadTurns(tx *gorm.DB, run string) ([]agent.Turn, error) {
	var rows []turnRow
	if err := tx.Where("run = ?", run).Order("n").Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make([]agent.Turn, len(rows))
	for i := range rows {
		var err error
		if out[i], err = rows[i].turn(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func loadSteps(tx *gorm.DB, run string) ([]agent.Step, error) {
	var rows []stepRow
	if err := tx.Where("run = ?", run).Order("n").Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make([]agent.Step, len(rows))
	for i := range rows {
		var err error
		if out[i], err = rows[i].step(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func loadMessages(which *gorm.DB) ([]agent.Message, error) {
	var rows []inboxRow
	if err := which.Order("n").Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make([]agent.Message, len(rows))
	for i := range rows {
		out[i] = rows[i].message()
	}
	return out, nil
}

// loadOpen reads the approvals of the steps that have no result yet.
func loadOpen(tx *gorm.DB, run string, steps []agent.Step) (map[string]*approvals.Approval, error) {
	var numbers []int
	for _, s := range steps {
		if !s.State.Settled() {
			numbers = append(numbers, s.N)
		}
	}
	out := map[string]*approvals.Approval{}
	if len(numbers) == 0 {
		return out, nil
	}
	var rows []approvalRow
	if err := tx.Where("run = ? AND step IN ?", run, numbers).Find(&rows).Error; err != nil {
		return nil, err
	}
	list, err := loadApprovals(tx, rows)
	for _, a := range list {
		out[a.ID] = a
	}
	return out, err
}

// loadApprovals completes approvals with their revisions and decisions, in the
// order of the rows.
func loadApprovals(tx *gorm.DB, rows []approvalRow) ([]*approvals.Approval, error) {
	list, byID, ids := make([]*approvals.Approval, len(rows)), map[string]*approvals.Approval{}, make([]string, len(rows))
	for i := range rows {
		list[i] = rows[i].approval()
		byID[rows[i].ID], ids[i] = list[i], rows[i].ID
	}
	if len(rows) == 0 {
		return list, nil
	}
	var revisions []revisionRow
	if err := tx.Where("approval IN ?", ids).Order("approval, n").Find(&revisions).Error; err != nil {
		return nil, err
	}
	for i := range revisions {
		r, err := revisions[i].revision()
		if err != nil {
			return nil, err
		}
		a := byID[revisions[i].Approval]
		a.Revisions = append(a.Revisions, r)
	}
	var decisions []decisionRow
	if err := tx.Where("approval IN ?", ids).Order("approval, n").Find(&decisions).Error; err != nil {
		return nil, err
	}
	for i := range decisions {
		a := byID[decisions[i].Approval]
		a.Decisions = append(a.Decisions, decisions[i].decision())
	}
	return list, errors.Join(loadReviews(tx, ids, byID), loadGrants(tx, ids, byID))
}

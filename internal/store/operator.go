package store

import (
	"context"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot"
	"countersign/internal/audit"
	"countersign/internal/record"
)

// Order gives a run work from outside of its conversation: a message for it, or
// with none only the ring, together with the entry that says who did it.
// agent.ErrSettled says that the run has ended, agent.ErrNotFound that there is none.
func (s *Store) Order(ctx context.Context, run string, m *agent.Message, e audit.Entry) error {
	return s.transact(ctx, func(t *txn) error {
		wake, err := t.ordered(run, m)
		if err != nil {
			return err
		}
		if wake == 0 {
			return t.missing(run)
		}
		return t.audit([]audit.Entry{e})
	})
}

func (t *txn) ordered(run string, m *agent.Message) (int64, error) {
	if m == nil {
		return t.wake(run, t.now)
	}
	return t.arrive(m)
}

// Installations lists the workspaces that have runs here.
func (s *Store) Installations(ctx context.Context) ([]string, error) {
	return s.ids(ctx, "SELECT DISTINCT installation FROM runs ORDER BY installation")
}

// Cases lists approvals of every installation, those that end first first: the
// pending ones, or with all the latest that were opened, newest first.
func (s *Store) Cases(ctx context.Context, all bool, n int) ([]decisions.Case, error) {
	var out []decisions.Case
	err := s.snapshot(ctx, func(tx *gorm.DB) error {
		list := tx.Order("opened_at DESC, id DESC")
		if !all {
			list = tx.Where("state = ?", string(approvals.Pending)).Order("expires_at, id")
		}
		var rows []approvalRow
		err := list.Limit(n).Find(&rows).Error
		if err == nil {
			out, err = loadCases(tx, rows)
		}
		return err
	})
	return out, err
}

// Whole reads everything that is kept about a run: agent.ErrNotFound when there is none.
func (s *Store) Whole(ctx context.Context, run string) (*record.Whole, error) {
	w := &record.Whole{}
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
		return loadRest(tx, w)
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// loadRest reads what is about a run beside its turns and steps.
func loadRest(tx *gorm.DB, w *record.Whole) error {
	var inbox []inboxRow
	if err := tx.Where("run = ?", w.Run.ID).Order("n").Find(&inbox).Error; err != nil {
		return err
	}
	for i := range inbox {
		w.Inbox = append(w.Inbox, inbox[i].message())
	}
	var rows []approvalRow
	if err := tx.Where("run = ?", w.Run.ID).Order("step, opened_at, id").Find(&rows).Error; err != nil {
		return err
	}
	list, err := loadApprovals(tx, rows)
	if err != nil {
		return err
	}
	for _, a := range list {
		w.Approvals = append(w.Approvals, *a)
	}
	if w.Deliveries, err = loadDeliveries(tx, w); err != nil {
		return err
	}
	var entries []auditRow
	if err := tx.Where("run = ?", w.Run.ID).Order("seq").Find(&entries).Error; err != nil {
		return err
	}
	for i := range entries {
		w.Audit = append(w.Audit, entries[i].entry())
	}
	return nil
}

// loadDeliveries reads where a run and its approvals were shown.
func loadDeliveries(tx *gorm.DB, w *record.Whole) ([]bot.Delivery, error) {
	find := tx.Where("subject LIKE ?", "run/"+w.Run.ID+"/%")
	for _, a := range w.Approvals {
		find = find.Or("subject LIKE ?", "approval/"+a.ID+"/%")
	}
	var rows []deliveryRow
	if err := find.Order("subject").Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make([]bot.Delivery, len(rows))
	for i := range rows {
		out[i] = rows[i].delivery()
	}
	return out, nil
}

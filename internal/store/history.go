package store

import (
	"context"
	"time"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/internal/audit"
)

// History is everything that is kept of a run.
type History struct {
	Run       agent.Run
	Turns     []agent.Turn
	Steps     []agent.Step
	Messages  []agent.Message // every one that reached it, consumed or not
	Approvals []approvals.Approval
	Audit     []audit.Entry
}

// History reads everything of a run: agent.ErrNotFound when there is none.
func (s *Store) History(ctx context.Context, run string) (*History, error) {
	h := &History{}
	err := s.snapshot(ctx, func(tx *gorm.DB) error {
		r, err := loadRun(tx, run)
		if err != nil {
			return err
		}
		h.Run = *r
		if h.Turns, err = loadTurns(tx, run); err != nil {
			return err
		}
		if h.Steps, err = loadSteps(tx, run); err != nil {
			return err
		}
		if h.Messages, err = loadMessages(tx.Where("run = ?", run)); err != nil {
			return err
		}
		if h.Approvals, err = approvalsOf(tx, run); err != nil {
			return err
		}
		h.Audit, err = entries(tx.Where("run = ?", run))
		return err
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

func approvalsOf(tx *gorm.DB, run string) ([]approvals.Approval, error) {
	var rows []approvalRow
	if err := tx.Where("run = ?", run).Order("step, opened_at, id").Find(&rows).Error; err != nil {
		return nil, err
	}
	list, err := loadApprovals(tx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]approvals.Approval, len(list))
	for i, a := range list {
		out[i] = *a
	}
	return out, nil
}

// Approvals lists the latest approvals with what they are about, newest first;
// pendingOnly leaves out those that are settled.
func (s *Store) Approvals(ctx context.Context, pendingOnly bool, n int) ([]decisions.Case, error) {
	var out []decisions.Case
	err := s.snapshot(ctx, func(tx *gorm.DB) error {
		q := tx.Order("opened_at DESC, id DESC").Limit(n)
		if pendingOnly {
			q = q.Where("state = ?", string(approvals.Pending))
		}
		var rows []approvalRow
		err := q.Find(&rows).Error
		if err != nil {
			return err
		}
		out, err = loadCases(tx, rows)
		return err
	})
	return out, err
}

// Forget removes what only serves to know a repetition, when it is older than an
// instant: keys of events, and clicks that have ended. It says how many rows went.
func (s *Store) Forget(ctx context.Context, before time.Time) (int64, error) {
	keys, err := s.exec(ctx, "DELETE FROM event_keys WHERE at < ?", micros(before))
	if err != nil {
		return 0, err
	}
	clicks, err := s.exec(ctx, "DELETE FROM clicks WHERE ended_at > 0 AND at < ?", micros(before))
	return keys + clicks, err
}

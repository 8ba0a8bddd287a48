package store

import (
	"context"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
)

// cases reads approvals with what they are about.
func (s *Store) cases(ctx context.Context, find func(tx *gorm.DB) *gorm.DB) ([]decisions.Case, error) {
	var out []decisions.Case
	err := s.snapshot(ctx, func(tx *gorm.DB) error {
		var rows []approvalRow
		err := find(tx).Find(&rows).Error
		if err != nil {
			return err
		}
		out, err = loadCases(tx, rows)
		return err
	})
	return out, err
}

const ofInstallation = "run IN (SELECT id FROM runs WHERE installation = ?)"

// Waiting implements bot.Views.
func (s *Store) Waiting(ctx context.Context, installation string, n int) ([]decisions.Case, error) {
	return s.cases(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Where("state = ? AND "+ofInstallation, string(approvals.Pending), installation).Order("expires_at, id").Limit(n)
	})
}

// Bundle implements bot.Marks.
func (s *Store) Bundle(ctx context.Context, run string, first int) ([]decisions.Case, error) {
	return s.cases(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Where("run = ? AND bundle = ?", run, first).Order("step, opened_at, id")
	})
}

// Unreviewed implements bot.After.
func (s *Store) Unreviewed(ctx context.Context, installation string, n int) ([]decisions.Case, error) {
	return s.cases(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Where("id IN (SELECT approval FROM reviews WHERE state = 'open') AND "+ofInstallation, installation).Order("opened_at, id").Limit(n)
	})
}

// Granting implements bot.After.
func (s *Store) Granting(ctx context.Context, installation string, giver policy.Actor, n int) ([]decisions.Case, error) {
	return s.cases(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Where("id IN (SELECT approval FROM grants WHERE state = 'open' AND giver_team = ? AND giver_user = ?) AND "+ofInstallation,
			giver.Team, giver.User, installation).Order("opened_at, id").Limit(n)
	})
}

// RunsOf implements bot.Views.
func (s *Store) RunsOf(ctx context.Context, installation string, who policy.Actor, n int) ([]agent.Run, error) {
	return s.runs(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Where("installation = ? AND asker_team = ? AND asker_user = ?", installation, who.Team, who.User).
			Order("created_at DESC, id DESC").Limit(n)
	})
}

// OpenRuns implements bot.Views.
func (s *Store) OpenRuns(ctx context.Context, t agent.Thread) ([]agent.Run, error) {
	return s.runs(ctx, func(tx *gorm.DB) *gorm.DB {
		return inThread(tx, t).Where(unfinished).Order("created_at, id")
	})
}

// Unfinished implements bot.Views.
func (s *Store) Unfinished(ctx context.Context, installation string, n int) ([]agent.Run, error) {
	return s.runs(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Where("installation = ?", installation).Where(unfinished).Order("created_at, id").Limit(n)
	})
}

// Runs lists the latest runs of every thread, newest first; unfinishedOnly leaves
// out those that have ended.
func (s *Store) Runs(ctx context.Context, unfinishedOnly bool, n int) ([]agent.Run, error) {
	return s.runs(ctx, func(tx *gorm.DB) *gorm.DB {
		if unfinishedOnly {
			tx = tx.Where(unfinished)
		}
		return tx.Order("created_at DESC, id DESC").Limit(n)
	})
}

func inThread(tx *gorm.DB, t agent.Thread) *gorm.DB {
	return tx.Where("installation = ? AND channel = ? AND thread_ts = ?", t.Installation, t.Channel, t.TS)
}

func (s *Store) runs(ctx context.Context, where func(*gorm.DB) *gorm.DB) ([]agent.Run, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var rows []runRow
	if err := where(s.read.WithContext(ctx)).Find(&rows).Error; err != nil {
		return nil, translate(err)
	}
	out := make([]agent.Run, len(rows))
	for i := range rows {
		var err error
		if out[i], err = rows[i].run(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

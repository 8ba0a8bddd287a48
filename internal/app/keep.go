package app

import (
	"context"
	"time"

	"countersign/internal/schedule"
)

// forgetAfter is how long is kept what only serves to know a repetition: longer than
// Slack sends anything again and than a run usually waits.
const forgetAfter = 30 * 24 * time.Hour

// keepEvery is how often retention looks: a day late is early enough, and an hour
// never finds much.
const keepEvery = time.Hour

func (a *edition) keepJob() schedule.Job {
	return schedule.Job{Name: "retention", Every: keepEvery, Run: a.retain}
}

// retain deletes what the settings do not keep.
func (a *edition) retain(ctx context.Context) error {
	now := a.now()
	forgotten, err := a.store.Forget(ctx, now.Add(-forgetAfter))
	if err != nil {
		return err
	}
	runs, err := a.deleteRuns(ctx, now)
	if err != nil {
		return err
	}
	var entries int64
	if keep := a.cfg.Retention.Audit; keep > 0 {
		if entries, err = a.store.ForgetAudit(ctx, now.Add(-keep)); err != nil {
			return err
		}
	}
	if forgotten+runs+entries > 0 {
		a.log.InfoContext(ctx, "retention", "runs", runs, "audit_entries", entries, "keys", forgotten)
	}
	return nil
}

// deleteRuns deletes in batches, with others' writes in between.
func (a *edition) deleteRuns(ctx context.Context, now time.Time) (total int64, err error) {
	keep := a.cfg.Retention.Runs
	if keep <= 0 {
		return 0, nil
	}
	for ctx.Err() == nil {
		n, err := a.store.DeleteRuns(ctx, now.Add(-keep))
		if total += n; err != nil || n == 0 {
			return total, err
		}
	}
	return total, ctx.Err()
}

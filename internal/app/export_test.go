package app

import "context"

// Fire fires every schedule, as the clock does.
func (a *App) Fire(ctx context.Context) error {
	for _, s := range a.cfg.Schedules {
		if err := a.fire(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

package app

import "context"

// Fire fires every schedule, as the clock does.
func (a *App) Fire(ctx context.Context) error {
	e := a.live()
	for _, s := range e.cfg.Schedules {
		if err := e.fire(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

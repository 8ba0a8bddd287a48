package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"countersign/internal/app"
)

// obey reads the configuration anew at every SIGHUP, until the context ends. What
// cannot be taken over leaves everything as it was.
func (e *env) obey(ctx context.Context, a *app.App) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			e.reload(ctx, a)
		}
	}
}

func (e *env) reload(ctx context.Context, a *app.App) {
	cfg, err := e.load()
	if err == nil {
		err = cfg.ServeProblems()
	}
	var out app.Reloaded
	if err == nil {
		out, err = a.Reload(ctx, cfg)
	}
	if err != nil {
		e.log.Error("the configuration was not taken over; the old one stands", "error", sentence(err))
		return
	}
	for _, d := range out.Taken {
		e.log.Info("a setting was taken over", "setting", d.Key)
	}
	for _, d := range out.Restart {
		e.log.Warn("a setting changed that takes a restart", "setting", d.Key)
	}
	e.log.Info("the configuration was read again", "taken", len(out.Taken), "restart", len(out.Restart))
}

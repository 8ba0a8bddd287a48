package main

import (
	"countersign/internal/app"
)

type serveCmd struct{}

// Run serves until it is told to stop.
func (*serveCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	if err := cfg.ServeProblems(); err != nil {
		return err
	}
	for _, w := range cfg.Warnings() {
		e.log.Warn(w.String())
	}
	a, err := app.New(e.ctx, cfg, app.Options{Logger: e.log})
	if err != nil {
		return err
	}
	e.log.Info("serving", "database", databaseKind(cfg), "http", cfg.HTTP.Addr)
	return a.Run(e.ctx)
}

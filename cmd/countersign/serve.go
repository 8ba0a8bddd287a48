package main

import (
	"context"
	"time"

	"countersign/internal/app"
	"countersign/internal/config"
	"countersign/internal/doctor"
	"countersign/internal/manifest"
	"countersign/internal/tracing"
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
		e.log.Warn("the configuration", "warning", w.String())
	}
	traces, flush, err := tracing.Open(e.ctx, e.lookup, version)
	if err != nil {
		return err
	}
	defer e.end(flush)
	a, err := app.New(e.ctx, cfg, app.Options{Logger: e.log, Traces: traces})
	if err != nil {
		return err
	}
	e.log.Info("serving", "database", databaseKind(cfg), "http", cfg.HTTP.Addr)
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		e.examineBriefly(cfg)
	}()
	go e.obey(e.ctx, a)
	err = a.Run(e.ctx)
	<-checked
	return err
}

// examineBriefly warns of what is broken, beside the start: what is optional
// never keeps the bot from serving.
func (e *env) examineBriefly(cfg *config.Config) {
	ctx, cancel := context.WithTimeout(e.ctx, briefly)
	defer cancel()
	m, err := manifest.For(cfg, "")
	if err != nil {
		e.log.Warn("the set-up cannot be examined", "error", err)
		return
	}
	for _, f := range doctor.Examine(ctx, &doctor.Subject{
		Config: cfg, Slack: app.Survey(cfg, e.now), Scopes: m.ScopeNames(), Now: e.now, Brief: true,
	}) {
		if f.Level != doctor.OK && f.Area != "config" && ctx.Err() == nil {
			e.log.Warn("the set-up", "area", f.Area, "finding", f.Text, "fix", f.Fix)
		}
	}
}

// end sends what is left of the traces.
func (e *env) end(flush func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), flushTimeout)
	defer cancel()
	if err := flush(ctx); err != nil {
		e.log.Warn("the last traces could not be sent", "error", err)
	}
}

// flushTimeout is how long a stop waits for the collector.
const flushTimeout = 3 * time.Second

// briefly is how long the checks beside the start may take.
const briefly = 20 * time.Second

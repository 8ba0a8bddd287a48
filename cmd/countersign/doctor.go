package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"countersign/internal/app"
	"countersign/internal/config"
	"countersign/internal/doctor"
	"countersign/internal/fault"
	"countersign/internal/manifest"
	"countersign/internal/queue"
	"countersign/tools"
)

type doctorCmd struct{}

// Run examines everything and prints what it finds, with the fix where something
// is broken.
func (*doctorCmd) Run(e *env) error {
	cfg, err := e.load()
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			e.report(doctor.Finding{Level: doctor.Broken, Area: "config", Text: p.String(), Fix: "Correct that setting; `countersign config check` reads it again."})
		}
		return fault.New(fault.Invalid, "The configuration has %s; the rest was not looked at.", count(len(problems), "problem"))
	}
	if err != nil {
		return err
	}
	s, done, err := e.subject(cfg)
	if err != nil {
		return err
	}
	defer done()
	broken := 0
	for _, f := range doctor.Examine(e.ctx, s) {
		e.report(f)
		if f.Level == doctor.Broken {
			broken++
		}
	}
	if broken > 0 {
		return fault.New(fault.Invalid, "%s broken.", isAre(broken))
	}
	return nil
}

func isAre(n int) string {
	if n == 1 {
		return "1 thing is"
	}
	return fmt.Sprintf("%d things are", n)
}

func (e *env) report(f doctor.Finding) {
	p := &page{}
	fmt.Fprintf(e.out, "%-8s %-9s %s\n", f.Level, f.Area, p.say(f.Text))
	if f.Fix != "" {
		fmt.Fprintf(e.out, "%-18s %s\n", "", p.say(f.Fix))
	}
}

// subject is what the doctor examines: everything that the configuration gives.
func (e *env) subject(cfg *config.Config) (*doctor.Subject, func(), error) {
	m, err := manifest.For(cfg, "")
	if err != nil {
		return nil, nil, err
	}
	opt := app.Options{Logger: e.log, Now: e.now}
	s := &doctor.Subject{
		Config: cfg, Scopes: m.ScopeNames(), Events: m.EventNames(), Now: e.now, MaxSkew: queue.DefaultLease / 4, Running: running(e.ctx, cfg.HTTP.Addr),
		Database: func(ctx context.Context) (doctor.Database, error) {
			return app.Examine(ctx, cfg, opt)
		},
	}
	if !cfg.Slack.BotToken.IsZero() {
		s.Slack = app.Survey(cfg, e.now)
	}
	if !cfg.Model.Key.IsZero() || cfg.Model.BaseURL != "" {
		s.Model = app.Model(cfg, opt)
	}
	var parts *app.Parts
	s.Tools = func(ctx context.Context) (_ *tools.Registry, err error) {
		if parts, err = app.NewParts(ctx, cfg, opt); err != nil {
			return nil, err
		}
		s.Absent = parts.Absent
		return parts.Tools, nil
	}
	done := func() {
		if parts != nil {
			if err := parts.Close(); err != nil {
				e.log.Warn("close the tools", "error", err)
			}
		}
	}
	return s, done, nil
}

// running asks our own listener whether somebody serves here, and gives what they
// say of themselves; empty: nobody does.
func running(ctx context.Context, addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return ""
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 500))
	ours := answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusServiceUnavailable
	if err != nil || !ours || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
		return ""
	}
	return strings.TrimSpace(string(text))
}

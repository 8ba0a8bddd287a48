package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent"
	"countersign/internal/app"
	"countersign/internal/audit"
	"countersign/internal/fault"
	"countersign/internal/id"
	"countersign/internal/record"
)

type runsCmd struct {
	List   runsListCmd   `cmd:"" help:"List runs, the newest first."`
	Show   runsShowCmd   `cmd:"" help:"Show a run: its steps, their arguments and outcomes, its approvals."`
	Cancel runsCancelCmd `cmd:"" help:"Stop a run. A tool that is running is not interrupted; its outcome is recorded first."`
	Resume runsResumeCmd `cmd:"" help:"Wake a run now, whatever it waits for; what it waits for stays open."`
	Cost   runsCostCmd   `cmd:"" help:"What runs cost, by user, channel or tool."`
	Export runsExportCmd `cmd:"" help:"Print everything of a run as JSON, whole outputs included."`
}

type runsListCmd struct {
	All bool `help:"Also those that have ended."`
	N   int  `short:"n" default:"50" help:"At most so many."`
}

// Run lists runs.
func (c *runsListCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		runs, err := o.Store.Runs(e.ctx, !c.All, c.N)
		if err != nil {
			return err
		}
		p, now := page{mask: o.Mask}, e.now()
		return list(e, runs, "no runs", "RUN\tSTATE\tHALT\tASKER\tAGE\tREQUEST", func(r *agent.Run) string {
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", r.ID, r.State, dash(string(r.Halt)), r.Asker.User, span(now.Sub(r.CreatedAt)), p.short(r.Request, 60))
		})
	})
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type runsCancelCmd struct {
	ID string `arg:"" help:"The run."`
}

// Run asks the run to stop; whoever works on it next obeys.
func (c *runsCancelCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		m := agent.Message{ID: id.New("m", e.now()), Run: c.ID, Kind: agent.Stop, Name: via(), Text: "stop", At: e.now()}
		if err := order(e, o, c.ID, &m, "run.stop"); err != nil {
			return err
		}
		fmt.Fprintf(e.out, "Run %s is told to stop.\n", c.ID)
		return nil
	})
}

type runsResumeCmd struct {
	ID string `arg:"" help:"The run."`
}

// Run gives the run work.
func (c *runsResumeCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		if err := order(e, o, c.ID, nil, "run.resume"); err != nil {
			return err
		}
		fmt.Fprintf(e.out, "Run %s is woken.\n", c.ID)
		return nil
	})
}

// order gives a run work and records by whom.
func order(e *env, o *app.Operator, run string, m *agent.Message, kind string) error {
	err := o.Store.Order(e.ctx, run, m, audit.Entry{At: e.now(), Kind: kind, Run: run, Via: via(), Data: "{}"})
	return runFault(err, run)
}

// runFault says in one sentence why nothing can be done with a run.
func runFault(err error, run string) error {
	switch {
	case errors.Is(err, agent.ErrNotFound):
		return fault.Wrap(err, fault.NotFound, "There is no run %q.", run)
	case errors.Is(err, agent.ErrSettled):
		return fault.Wrap(err, fault.Conflict, "Run %s has ended.", run)
	}
	return err
}

type runsExportCmd struct {
	ID  string `arg:"" help:"The run."`
	Raw bool   `help:"Do not mask secrets."`
}

// Run prints everything of a run.
func (c *runsExportCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		w, err := o.Store.Whole(e.ctx, c.ID)
		if err != nil {
			return runFault(err, c.ID)
		}
		mask := func(s string) string {
			masked, _ := o.Mask.Mask(s)
			return masked
		}
		if c.Raw {
			mask = nil
		}
		text, err := record.JSON(w, mask)
		if err != nil {
			return err
		}
		if !json.Valid(text) {
			return fault.New(fault.Internal, "Run %s cannot be written as JSON.", c.ID)
		}
		_, err = e.out.Write(text)
		return err
	})
}

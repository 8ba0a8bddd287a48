package main

import (
	"errors"
	"fmt"
	"strings"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/internal/app"
	"countersign/internal/fault"
)

type approvalsCmd struct {
	List    approvalsListCmd   `cmd:"" help:"List what waits to be countersigned, what expires first first."`
	Show    approvalsShowCmd   `cmd:"" help:"Show an approval: the full arguments, the effect, who may decide and who did."`
	Decide  approvalsDecideCmd `cmd:"" help:"Approve or reject (approvals.cli must be true); the same rules hold as for a click."`
	Reviews reviewsCmd         `cmd:"" help:"List what one person approved alone in an emergency and nobody else has looked at yet."`
	Enroll  enrollCmd          `cmd:"" help:"Give a person a second proof for their decisions (approvals.step_up: totp)."`
	Locked  lockedCmd          `cmd:"" help:"List the people whose decisions do not count: disowned ones, or too many wrong codes."`
	Unlock  unlockCmd          `cmd:"" help:"Let a locked person's decisions count again."`
}

type approvalsListCmd struct {
	All bool `help:"Also those that are settled, the newest first."`
	N   int  `short:"n" default:"50" help:"At most so many."`
}

// Run lists approvals.
func (c *approvalsListCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		cases, err := o.Store.Cases(e.ctx, c.All, c.N)
		if err != nil {
			return err
		}
		p, now := page{mask: o.Mask}, e.now()
		return list(e, cases, "no approvals", "APPROVAL\tSTATE\tTOOL\tASKER\tENDS\tARGUMENTS", func(c *decisions.Case) string {
			a, ends := &c.Approval, "-"
			if a.State == approvals.Pending {
				ends = "in " + span(max(a.ExpiresAt.Sub(now), 0))
			}
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", a.ID, a.State, p.say(a.Tool), a.Requester.User, ends, p.short(string(a.Current().Args), 60))
		})
	})
}

type approvalsShowCmd struct {
	ID string `arg:"" help:"The approval."`
}

// Run shows an approval.
func (c *approvalsShowCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		found, err := o.Store.Case(e.ctx, c.ID)
		if err != nil {
			return approvalFault(err, c.ID)
		}
		p := &page{mask: o.Mask}
		p.approval(e, found)
		_, err = fmt.Fprint(e.out, p.out.String())
		return err
	})
}

func approvalFault(err error, approval string) error {
	if errors.Is(err, agent.ErrNotFound) {
		return fault.Wrap(err, fault.NotFound, "There is no approval %q.", approval)
	}
	return err
}

// approval prints everything that somebody must know who decides.
func (p *page) approval(e *env, c *decisions.Case) {
	a := &c.Approval
	p.line("approval", a.ID)
	p.line("state", p.state(e, a))
	p.line("run", fmt.Sprintf("%s, step %d", a.Run, a.Step))
	p.line("asker", c.Run.Asker.User+" of "+c.Run.Asker.Team)
	p.line("request", p.short(c.Run.Request, 500))
	p.line("tool", fmt.Sprintf("%s, %s risk", p.say(a.Tool), a.Risk))
	p.line("thought", p.short(c.Step.Thought, 300))
	p.line("again", p.say(a.Why))
	p.line("revision", fmt.Sprintf("%d, digest %s", a.Revision, a.Current().Digest))
	p.line("needs", requirement(a.Current().Requirement))
	fmt.Fprintln(&p.out, "arguments")
	p.block("  ", string(a.Current().Args))
	p.effect(a.Current())
	for _, d := range a.Decisions {
		p.line("decision", p.decision(d))
	}
}

func (p *page) state(e *env, a *approvals.Approval) string {
	if a.State == approvals.Pending {
		return fmt.Sprintf("pending, until %s (%s)", instant(a.ExpiresAt), span(max(a.ExpiresAt.Sub(e.now()), 0)))
	}
	return fmt.Sprintf("%s, %s", a.State, instant(a.SettledAt))
}

func (p *page) effect(r *approvals.Revision) {
	if r.Preview == nil {
		return
	}
	fmt.Fprintln(&p.out, "effect")
	for _, text := range []string{r.Preview.Untried, r.Preview.Summary, r.Preview.Detail} {
		if text != "" {
			p.block("  ", text)
		}
	}
}

type approvalsDecideCmd struct {
	ID      string `arg:"" help:"The approval."`
	Verdict string `arg:"" enum:"approve,reject" help:"approve or reject."`
	By      string `required:"" placeholder:"USER_ID" help:"Slack id of the person who decides; their roles count."`
	Reason  string `placeholder:"TEXT" help:"Why; the asker and the model are told."`
	Code    string `placeholder:"CODE" help:"The person's one-time code, where approving takes one."`
	Yes     bool   `help:"Do not ask whether it is meant."`
}

// Run lets a verdict in through the door that clicks go through.
func (c *approvalsDecideCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	if !cfg.Approvals.CLI {
		return fault.New(fault.Forbidden, "Deciding on the command line is switched off: set approvals.cli to true, or decide on the card in Slack.")
	}
	return e.operate(func(o *app.Operator) error {
		found, err := o.Store.Case(e.ctx, c.ID)
		if err != nil {
			return approvalFault(err, c.ID)
		}
		p := &page{} // who decides sees everything, as in the form that shows all
		p.approval(e, found)
		fmt.Fprint(e.out, p.out.String())
		if !c.Yes && c.Reason == "" && !e.meant(c) {
			return fault.New(fault.Invalid, "Nothing was decided.")
		}
		return c.decide(e, o, found)
	})
}

// meant asks on the terminal; anything but yes is no.
func (e *env) meant(c *approvalsDecideCmd) bool {
	fmt.Fprintf(e.out, "\n%s this as %s? Type yes: ", strings.ToUpper(c.Verdict[:1])+c.Verdict[1:], c.By)
	var said string
	_, err := fmt.Fscanln(e.in, &said)
	return err == nil && strings.EqualFold(said, "yes")
}

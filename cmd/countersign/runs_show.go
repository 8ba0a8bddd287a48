package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/app"
	"countersign/internal/record"
)

type runsShowCmd struct {
	ID string `arg:"" help:"The run."`
}

// Run shows a run as people read it.
func (c *runsShowCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		w, err := o.Store.Whole(e.ctx, c.ID)
		if err != nil {
			return runFault(err, c.ID)
		}
		p := &page{mask: o.Mask}
		p.header(e, &w.Run)
		for i := range w.Steps {
			p.step(&w.Steps[i])
			for j := range w.Approvals {
				if w.Approvals[j].Step == w.Steps[i].N {
					p.approvalLine(&w.Approvals[j])
				}
			}
		}
		p.waiting(w)
		_, err = fmt.Fprint(e.out, p.out.String())
		return err
	})
}

func (p *page) header(e *env, r *agent.Run) {
	p.line("run", r.ID)
	state := string(r.State)
	if r.Halt != agent.HaltNone {
		state += " (" + string(r.Halt) + ")"
	}
	p.line("state", state)
	p.line("asker", r.Asker.User+" of "+r.Asker.Team)
	p.line("thread", r.Channel+" "+r.TS)
	p.line("asked", fmt.Sprintf("%s, %s ago", instant(r.CreatedAt), span(e.now().Sub(r.CreatedAt))))
	if !r.EndedAt.IsZero() {
		p.line("ended", fmt.Sprintf("%s, after %s", instant(r.EndedAt), span(r.EndedAt.Sub(r.CreatedAt))))
	}
	p.line("worked by", worker(e, r))
	p.line("request", p.short(r.Request, 500))
	p.line("used", fmt.Sprintf("%d of %d steps, %d of %d tokens, %s of %s working time", r.Spent.Steps, r.Limits.MaxSteps,
		r.Spent.Prompt+r.Spent.Completion, r.Limits.MaxTokens, span(r.Spent.Active), r.Limits.MaxActive))
	p.line("answer", p.short(r.Answer, 2000))
}

func worker(e *env, r *agent.Run) string {
	if r.Lease.Owner == "" || !e.now().Before(r.Lease.Until) {
		return ""
	}
	return r.Lease.Owner
}

func (p *page) step(s *agent.Step) {
	fmt.Fprintf(&p.out, "\nstep %d: %s, %s risk, %s", s.N, p.say(s.Tool), s.Risk, s.State)
	if s.Code != "" {
		fmt.Fprintf(&p.out, " (%s)", p.say(s.Code))
	}
	p.out.WriteByte('\n')
	p.field("thought", s.Thought)
	args := s.Proposed
	if args == nil {
		args = json.RawMessage(s.Raw)
	}
	p.field("arguments", string(args))
	if s.Executed != nil && string(s.Executed) != string(args) {
		p.field("executed", string(s.Executed))
	}
	p.field("question", s.Question)
	p.field("proposed", instant(s.ProposedAt))
	if !s.StartedAt.IsZero() {
		started := instant(s.StartedAt)
		if !s.EndedAt.IsZero() {
			started += ", took " + span(s.EndedAt.Sub(s.StartedAt))
		}
		if s.Attempts > 1 {
			started += ", tried " + strconv.Itoa(s.Attempts) + " times"
		}
		p.field("started", started)
	}
	if s.Grant != "" {
		p.field("grant", fmt.Sprintf("%s, standing, of %s", s.Grant, s.GrantBy.User))
	}
	if s.Observation != "" { // what is cut may be half of a secret, which nothing would mask
		fmt.Fprintf(&p.out, "  %-10s %s\n", "outcome", cut(p.say(s.Observation), 500))
	}
}

// field prints one fact of a step; nothing without a value.
func (p *page) field(label, value string) {
	if value != "" {
		fmt.Fprintf(&p.out, "  %-10s %s\n", label, p.say(value))
	}
}

func cut(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes]) + "… (cut; `runs export` has all of it)"
	}
	return s
}

func (p *page) approvalLine(a *approvals.Approval) {
	said := fmt.Sprintf("%s, %s, revision %d", a.ID, a.State, a.Revision)
	if a.State == approvals.Pending {
		said += ", until " + instant(a.ExpiresAt)
	}
	fmt.Fprintf(&p.out, "  %-10s %s\n", "approval", said)
	for _, d := range a.Decisions {
		fmt.Fprintf(&p.out, "  %-10s %s\n", "", p.decision(d))
	}
}

func (p *page) decision(d approvals.Decision) string {
	said := fmt.Sprintf("%s by %s, %s, through %s", d.Verdict, d.By.User, instant(d.At), p.say(d.Via))
	if d.Glass {
		said += ", alone in an emergency"
	}
	if d.Void {
		said += ", void"
	}
	if d.Reason != "" {
		said += ": " + p.short(d.Reason, 300)
	}
	return said
}

// waiting says what the run waits for, when it does.
func (p *page) waiting(w *record.Whole) {
	if !w.Run.InputBy.IsZero() && w.Run.EndedAt.IsZero() {
		fmt.Fprintf(&p.out, "\nwaits for a person's word until %s\n", instant(w.Run.InputBy))
	}
	for _, m := range w.Inbox {
		who := m.From.User
		if who == "" {
			who = p.say(m.Name)
		}
		fmt.Fprintf(&p.out, "\n%s by %s, %s: %s\n", m.Kind, who, instant(m.At), p.short(m.Text, 300))
	}
}

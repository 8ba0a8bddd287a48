package card

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
	"countersign/bot/slacktext"
)

// Progress draws the one message that tells how a run is going. When the run has
// ended it is one line, with the steps folded away below it.
func (r *Renderer) Progress(w *agent.Work, at Where) Message {
	p := r.pen(at.Lang)
	m := Message{Meta: Meta{Subject: agent.ProgressSubject(w.Run.ID), Run: w.Run.ID}}
	m.Text = p.say("progress.text." + string(w.Run.State))
	if over(&w.Run) {
		m.Blocks = p.ended(w, at)
		return m
	}
	said := p.say("progress." + string(w.Run.State))
	if t := w.Run.Spent.Active + max(at.Now.Sub(w.Run.UpdatedAt), 0); t >= longWork && w.Run.State != agent.WaitingApproval && w.Run.State != agent.WaitingInput {
		said += " · " + p.took(t)
	}
	m.Blocks = append(m.Blocks, section(said))
	m.Blocks = append(m.Blocks, p.plan(w, at.Now)...)
	if waits := p.waits(w); len(waits) > 0 {
		m.Blocks = append(m.Blocks, note(strings.Join(waits, "\n")))
	}
	m.Blocks = append(m.Blocks, actions("run", button("run_stop", p.say("button.stop"), Button{Run: w.Run.ID})))
	return m
}

// longWork is after how long people want to know how long it has been.
const longWork = 10 * time.Second

func over(r *agent.Run) bool { return agent.RunMachine.Terminal(r.State) }

// plan draws the plan that the model keeps, with the latest steps below it, or the
// steps alone.
func (p pen) plan(w *agent.Work, now time.Time) []slack.Block {
	if len(w.Run.Plan) == 0 {
		return rich(p.steps(w, mostSteps, now)...)
	}
	steps := rich(p.steps(w, 4, now)...)
	items := w.Run.Plan[:min(len(w.Run.Plan), 20)]
	if p.r.ReadPrivate(w) {
		return append([]slack.Block{note(p.planCount(items))}, steps...)
	}
	if p.r.Plain {
		return append(rich(p.planLines(items)...), steps...)
	}
	tasks := make([]*slack.TaskCardBlock, len(items))
	for i, item := range items {
		title := slacktext.Truncate(some(p.sentence(item.Title, maxPlanTitle)), maxPlanTitle)
		tasks[i] = slack.NewTaskCardBlock(fmt.Sprintf("item-%d", i+1), title).WithStatus(status(item.Status))
	}
	return append([]slack.Block{slack.NewPlanBlock(p.say("progress.plan")).WithTasks(tasks...)}, steps...)
}

// planCount is all that the channel sees of the plan of a run that read something private.
func (p pen) planCount(items []agent.PlanItem) string {
	done := 0
	for _, item := range items {
		if status(item.Status) == slack.TaskCardStatusComplete {
			done++
		}
	}
	return p.say("progress.plan.count", "done", grouped(done), "n", grouped(len(items)))
}

func status(s string) slack.TaskCardStatus {
	switch t := slack.TaskCardStatus(s); t {
	case slack.TaskCardStatusInProgress, slack.TaskCardStatusComplete, slack.TaskCardStatusError:
		return t
	}
	return slack.TaskCardStatusPending
}

func (p pen) planLines(items []agent.PlanItem) []slack.RichTextElement {
	var out []slack.RichTextElement
	for _, item := range items {
		mark := "◻️"
		switch status(item.Status) {
		case slack.TaskCardStatusComplete:
			mark = "✅"
		case slack.TaskCardStatusInProgress:
			mark = "⏳"
		case slack.TaskCardStatusError:
			mark = "⚠️"
		}
		out = append(out, line(text(mark+" "+p.sentence(item.Title, maxPlanTitle))))
	}
	return out
}

// mostWaits bounds how many things that are waited for a message names.
const mostWaits = 8

// waits says, line by line, who is waited for and for what.
func (p pen) waits(w *agent.Work) []string {
	var out []string
	for i := range w.Steps {
		if said := p.waitsFor(w, &w.Steps[i]); said != "" && len(out) < mostWaits {
			out = append(out, said)
		}
	}
	if w.Run.State == agent.WaitingInput && w.Run.Closing != agent.HaltNone {
		out = append(out, p.say("wait.limit", "asker", person(w.Run.Asker), "when", moment(w.Run.InputBy)))
	}
	return out
}

func (p pen) waitsFor(w *agent.Work, s *agent.Step) string {
	a := w.Approvals[s.Approval]
	switch {
	case a != nil && a.State == approvals.Pending:
		needs := a.Current().Requirement
		return p.say("wait.approval", "tool", code(s.Tool), "roles", p.roles(needs.Approvers),
			"have", grouped(a.Approvals()), "need", grouped(needs.Quorum), "when", moment(a.ExpiresAt))
	case s.State == agent.StepAsking:
		return p.say("wait.answer", "asker", person(w.Run.Asker))
	case s.State == agent.StepUncertain:
		return p.say("wait.uncertain", "tool", code(s.Tool))
	}
	return ""
}

// ended is one line, and the steps for whoever wants to know.
func (p pen) ended(w *agent.Work, at Where) []slack.Block {
	said := p.total(w)
	steps := p.steps(w, mostSteps, at.Now)
	if len(steps) == 0 {
		return []slack.Block{note(said)}
	}
	if p.r.Plain {
		return append([]slack.Block{note(said)}, rich(steps...)...)
	}
	folded := slack.NewContainerBlock(rich(steps...)...).WithTitle(plain(said, maxHeading)).WithCollapsible(true, true)
	return []slack.Block{folded}
}

// total is the run in one line: how it ended, how long it worked, how much it used.
func (p pen) total(w *agent.Work) string {
	r := &w.Run
	said := []string{p.say("ended."+string(r.State), "time", p.took(worked(r)))}
	if n := len(visible(w.Steps)); n > 0 {
		said = append(said, p.count("steps", n))
	}
	if used := (llm.Usage{Prompt: r.Spent.Prompt, Completion: r.Spent.Completion}).Total(); used > 0 {
		said = append(said, p.say("tokens", "n", grouped(used)))
	}
	if r.Spent.Cost > 0 && p.r.Currency != "" {
		said = append(said, p.say("cost", "amount", money(r.Spent.Cost), "currency", p.r.Currency))
	}
	return strings.Join(said, " · ")
}

// money writes millionths of a currency with as many digits as matter.
func money(micro int64) string {
	amount := float64(micro) / 1e6
	switch {
	case amount >= 1:
		return strconv.FormatFloat(amount, 'f', 2, 64)
	case amount >= 0.01:
		return strconv.FormatFloat(amount, 'f', 3, 64)
	}
	return strconv.FormatFloat(amount, 'f', 5, 64)
}

// worked is how long a run worked; waiting for people does not count.
func worked(r *agent.Run) time.Duration {
	if r.Spent.Active > 0 || r.EndedAt.IsZero() {
		return r.Spent.Active
	}
	return r.EndedAt.Sub(r.CreatedAt)
}

package card

import (
	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/bot/slacktext"
)

// Question draws what a step asks a person: the model's question to the asker, or
// what became of a call whose outcome nobody knows.
func (r *Renderer) Question(w *agent.Work, step int, at Where) Message {
	p := r.pen(at.Lang)
	m := Message{Meta: Meta{Subject: agent.QuestionSubject(w.Run.ID, step), Run: w.Run.ID}}
	s := stepOf(w, step)
	switch {
	case s == nil:
		m.Text = p.say("question.gone")
		m.Blocks = []slack.Block{section(m.Text)}
	case s.Question != "":
		m.Text, m.Blocks = p.question(w, s, at)
	default:
		m.Text, m.Blocks = p.uncertain(w, s, at)
	}
	return m
}

func stepOf(w *agent.Work, n int) *agent.Step {
	for i := range w.Steps {
		if w.Steps[i].N == n {
			return &w.Steps[i]
		}
	}
	return nil
}

// question asks the asker. Where the run had read something private, the thread is told
// so, and the question itself is for the asker alone.
func (p pen) question(w *agent.Work, s *agent.Step, at Where) (string, []slack.Block) {
	key, hushed := "question.over", "question.over.private"
	switch s.State {
	case agent.StepAsking:
		key, hushed = "question.asking", "question.asking.private"
	case agent.StepAnswered:
		key, hushed = "question.answered", "question.answered.private"
	}
	if at.Hush {
		return p.say("question.text"), []slack.Block{section(p.say(hushed, "asker", person(w.Run.Asker)))}
	}
	out := []slack.Block{section(p.say(key, "asker", person(w.Run.Asker)))}
	out = append(out, rich(quote(p.prose(s.Question, maxPiece)))...)
	if s.State == agent.StepAsking {
		how := p.say("question.how")
		if at.Alone {
			thread, _ := linked(at.Link, p.say("question.thread"))
			how = p.say("question.how.private", "thread", thread, "channel", channel(w.Run.Channel))
		}
		if !w.Run.InputBy.IsZero() {
			how += p.say("gap") + p.say("question.until", "when", moment(w.Run.InputBy))
		}
		out = append(out, note(how))
	}
	return p.say("question.text"), out
}

// uncertain asks people who may countersign the call what became of it.
func (p pen) uncertain(w *agent.Work, s *agent.Step, at Where) (string, []slack.Block) {
	words := p.say("uncertain.text", "tool", p.toolName(s.Tool))
	fallback := slacktext.TruncateEscaped(words, maxFallback)
	if s.State != agent.StepUncertain {
		return fallback, p.found(w, s)
	}
	out := []slack.Block{section(p.say("uncertain.ask", "tool", code(s.Tool), "when", moment(s.StartedAt)))}
	if !p.r.private(s.Tool, s) {
		out = append(out, p.ran(s)...)
	}
	if a := w.Approvals[s.Approval]; a != nil && a.Open() {
		return fallback, append(out, note(p.say("uncertain.again")))
	}
	return fallback, append(out, p.findings(w, s, at)...)
}

// ran are the arguments with which the call was made.
func (p pen) ran(s *agent.Step) []slack.Block {
	args, err := p.arguments(s.Executed)
	if err != nil || len(args) == 0 {
		return nil
	}
	return rich(p.sheet(headOf(args, maxArgs, maxArgLines, maxArgCount))...)
}

// findings are the three ways to settle it. Running the call again is offered only
// once the first one cannot be running any more, and while there is a run to make it.
func (p pen) findings(w *agent.Work, s *agent.Step, at Where) []slack.Block {
	value := Button{Run: w.Run.ID, Step: s.N, Revision: s.Attempts}
	buttons := []slack.BlockElement{button("uncertain_happened", p.say("button.happened"), value)}
	said := p.say("uncertain.who.asker", "asker", person(w.Run.Asker))
	if a := w.Approvals[s.Approval]; a != nil {
		said = p.say("uncertain.who", "roles", p.roles(a.Current().Requirement.Approvers))
	}
	switch safe := p.safe(s); {
	case over(&w.Run): // it can only be said what became of the call
	case at.Now.Before(safe):
		said += p.say("gap") + p.say("uncertain.safe", "when", moment(safe))
	default:
		buttons = append(buttons, button("uncertain_run", p.say("button.rerun"), value))
	}
	buttons = append(buttons, button("uncertain_stop", p.say("button.giveup"), value).WithStyle(slack.StyleDanger))
	return []slack.Block{note(said), actions("uncertain", buttons...)}
}

// found says how an uncertain call was settled.
func (p pen) found(w *agent.Work, s *agent.Step) []slack.Block {
	key := "uncertain.settled"
	switch {
	case s.State == agent.StepExecuting:
		key = "uncertain.rerun"
	case s.Code == agent.CodeStopped:
		key = "uncertain.stopped"
	case s.State == agent.StepSucceeded && !reran(w, s):
		key = "uncertain.happened"
	}
	return []slack.Block{section(p.say(key, "tool", code(s.Tool)))}
}

// reran says that the call was made more than once.
func reran(w *agent.Work, s *agent.Step) bool {
	a := w.Approvals[s.Approval]
	return s.Attempts > 1 || a != nil && a.Again != "" && a.State == approvals.Redeemed
}

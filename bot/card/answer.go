package card

import (
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/bot/slacktext"
)

// Answer draws the answer, and under it our own line that says what the run
// changed. The line is drawn from the rows; no model can write it.
func (r *Renderer) Answer(w *agent.Work, at Where) Message {
	p := r.pen(at.Lang)
	m := Message{Meta: Meta{Subject: agent.AnswerSubject(w.Run.ID), Run: w.Run.ID}}
	own, canned := p.canned(&w.Run)
	if canned {
		m.Text, m.Blocks = own.Text, own.Blocks
	} else {
		m.Text, m.Blocks, m.Files = p.answer(&w.Run)
		if w.Run.Counters.Cut {
			m.Blocks = append(m.Blocks, note(p.say("answer.cut")))
		}
	}
	p.results(&m, w.Run.Answer, at.Results)
	m.Blocks = append(m.Blocks, slack.NewDividerBlock())
	m.Blocks = append(m.Blocks, rich(p.changed(w, at)...)...)
	if w.Run.State == agent.WaitingInput && w.Run.Closing != agent.HaltNone {
		m.Blocks = append(m.Blocks, p.goOn(&w.Run)...)
	}
	return m
}

// answer renders the model's words. What does not fit one message is attached whole.
func (p pen) answer(r *agent.Run) (string, []slack.Block, []File) {
	words := p.mask(r.Answer)
	posts := slacktext.Render(words)
	if len(posts) == 0 {
		return p.say("answer.empty"), []slack.Block{section(p.say("answer.empty"))}, nil
	}
	first := posts[0]
	blocks := append([]slack.Block{}, first.Blocks...)
	if len(posts) == 1 {
		return first.Text, blocks, nil
	}
	file := File{Name: "answer.md", Title: p.say("answer.file"), Content: []byte(words)}
	return first.Text, append(blocks, note(p.say("answer.more"))), []File{file}
}

// canned draws the answers that no model wrote: refusals and the honest summaries
// of runs that could not go on.
func (p pen) canned(r *agent.Run) (Message, bool) {
	head, rest, _ := strings.Cut(r.Answer, "\n")
	kind, detail, ok := strings.Cut(head, ":")
	var said, why string
	switch {
	case r.Answer == "" && r.State == agent.Cancelled:
		said = p.say("answer.stopped")
	case r.Answer == "":
		said = p.say("answer.empty")
	case ok && kind == "refused" && r.Halt == agent.HaltDenied && r.State == agent.Cancelled:
		said = p.refusal(detail, "", nil)
	case ok && kind == "error" && r.Halt == agent.HaltError:
		cause, message, _ := strings.Cut(detail, ":")
		said, why = p.say(trouble(cause)), p.sentence(message, maxReason)
	case ok && kind == "stopped" && (r.Closing != agent.HaltNone || r.State == agent.Failed):
		said = p.halted(r)
	default:
		return Message{}, false
	}
	m := Message{Text: said, Blocks: []slack.Block{section(said)}}
	if why != "" {
		m.Blocks = append(m.Blocks, rich(quote(why))...)
	}
	if done := p.prose(rest, 2500); done != "" {
		m.Blocks = append(m.Blocks, rich(line(bold(p.say("answer.sofar"))), line(text(done)))...)
	}
	return m, true
}

// trouble is the sentence for a kind of trouble with the model, or with Slack.
func trouble(kind string) string {
	switch kind {
	case "unknown_asker", "quota", "overflow", "bad_request", "config", "malformed":
		return "error." + kind
	}
	return "error.overloaded"
}

// halted says which limit ended the work.
func (p pen) halted(r *agent.Run) string {
	h := r.Closing
	if h == agent.HaltNone {
		h = r.Halt
	}
	l := r.Limits
	switch h {
	case agent.HaltMaxSteps:
		return p.say("halt.max_steps", "n", grouped(l.MaxSteps))
	case agent.HaltTokens:
		return p.say("halt.token_budget", "n", grouped(l.MaxTokens))
	case agent.HaltTime:
		return p.say("halt.time_budget", "time", p.took(l.MaxActive))
	case agent.HaltCost:
		return p.say("halt.cost_budget")
	case agent.HaltLoop:
		return p.say("halt.loop")
	case agent.HaltDenied:
		return p.say("halt.denied")
	case agent.HaltUncertain:
		return p.say("halt.uncertain")
	case agent.HaltInput:
		return p.say("halt.input_required")
	}
	return p.say("halt.error")
}

// mostEffects bounds how many changes stand under an answer; the record has them all.
const mostEffects = 12

// changed is our own line: what the run changed, and by whose approval.
func (p pen) changed(w *agent.Work, at Where) []slack.RichTextElement {
	var out []slack.RichTextElement
	n, unknown := 0, 0
	for i := range w.Steps {
		s := &w.Steps[i]
		switch {
		case s.State == agent.StepUncertain:
			unknown++
		case s.Effects && s.State == agent.StepSucceeded || s.State == agent.StepSucceeded && s.Effect != "":
			n++
			if n <= mostEffects {
				out = append(out, line(append([]slack.RichTextSectionElement{bold(p.say("changed")), text(" ")}, p.change(s, at)...)...))
			}
		}
	}
	if n > mostEffects {
		out = append(out, line(text(p.say("more", "n", grouped(n-mostEffects)))))
	}
	if unknown > 0 {
		out = append(out, line(bold(p.count("changed.unknown", unknown))))
	}
	if len(out) == 0 {
		out = append(out, line(bold(p.say("changed.nothing"))))
	}
	return out
}

func (p pen) change(s *agent.Step, at Where) []slack.RichTextSectionElement {
	what := p.sentence(p.l.Effect(s.Effect), 200)
	if what == "" || p.r.private(s.Tool, s) {
		what = p.toolName(s.Tool)
	}
	parts := []slack.RichTextSectionElement{text(what)}
	if s.Proposed != nil && s.Executed != nil && string(s.Proposed) != string(s.Executed) {
		parts = append(parts, text(p.say("changed.edited")))
	}
	for i, who := range at.Approvers[s.Approval] {
		if i == 0 {
			parts = append(parts, text(p.say("changed.by")))
		} else {
			parts = append(parts, text(p.say("comma")))
		}
		if !userID.MatchString(who.User) {
			parts = append(parts, text(p.toolName(who.User)))
			continue
		}
		parts = append(parts, slack.NewRichTextSectionUserElement(who.User, nil))
	}
	return append(parts, p.underGrant(s)...)
}

// underGrant says by whose standing grant a call ran without a card.
func (p pen) underGrant(s *agent.Step) []slack.RichTextSectionElement {
	if s.Grant == "" {
		return nil
	}
	parts := []slack.RichTextSectionElement{text(p.say("changed.grant"))}
	if !userID.MatchString(s.GrantBy.User) {
		return append(parts, text(p.toolName(s.GrantBy.User)))
	}
	return append(parts, slack.NewRichTextSectionUserElement(s.GrantBy.User, nil))
}

// goOn asks the asker of a run that reached a limit whether it may go on.
func (p pen) goOn(r *agent.Run) []slack.Block {
	value := Button{Run: r.ID}
	return []slack.Block{
		section(p.halted(r) + p.say("gap") + p.say("continue.ask", "asker", person(r.Asker), "when", moment(r.InputBy))),
		actions(fmt.Sprintf("continue-%d", r.Turns),
			button("run_continue", p.say("button.continue"), value).WithStyle(slack.StylePrimary),
			button("run_stop", p.say("button.stop"), value)),
	}
}

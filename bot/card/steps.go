package card

import (
	"encoding/json"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/bot/slacktext"
)

// mostSteps bounds how many steps a message lists; the record has them all.
const mostSteps = 12

// visible are the steps that people care about; the plan is shown as a plan.
func visible(steps []agent.Step) []*agent.Step {
	var out []*agent.Step
	for i := range steps {
		if steps[i].Tool != agent.UpdatePlan {
			out = append(out, &steps[i])
		}
	}
	return out
}

// steps lists the latest steps: what was done, why, what came of it, how long it took.
func (p pen) steps(w *agent.Work, most int, now time.Time) []slack.RichTextElement {
	all := visible(w.Steps)
	var out []slack.RichTextElement
	if hidden := len(all) - most; hidden > 0 {
		out = append(out, line(text(p.count("steps.earlier", hidden))))
		all = all[hidden:]
	}
	for _, s := range all {
		out = append(out, p.step(s, now, p.r.private(s.Tool, s) || p.r.privateBefore(w, s.N)))
	}
	return out
}

// step is one line about a call. Of a private one, and of everything that came after
// it, only the tool is told: the model's words may repeat what it read.
func (p pen) step(s *agent.Step, now time.Time, private bool) slack.RichTextElement {
	parts := []slack.RichTextSectionElement{text(icon(s.State) + " "), coded(p.toolName(s.Tool))}
	if private {
		parts = append(parts, text(" "+p.say("step.private")))
	} else if what := p.what(s); what != "" {
		parts = append(parts, text(" "), coded(what))
	}
	if why := p.sentence(s.Thought, 140); why != "" && !private {
		parts = append(parts, text(" — "+why))
	}
	result := p.say("step." + string(s.State))
	if s.State.Settled() && !private && s.Summary != "" {
		result = p.cameOf(s, 140)
	}
	if running(s) && !private && s.Summary != "" {
		result += ": " + p.sentence(s.Summary, 140)
	}
	if t := elapsed(s, now); t > 0 {
		result += " · " + p.took(t)
	}
	parts = append(parts, text("\n      "+result))
	return line(append(parts, p.underGrant(s)...)...)
}

// cameOf is a settled step's outcome: of what failed or was refused in the reader's words.
func (p pen) cameOf(s *agent.Step, most int) string {
	said := p.sentence(s.Summary, most)
	if s.State == agent.StepSucceeded {
		return said
	}
	return p.l.Failure(s.Code, said)
}

// what is a glimpse of a call's arguments.
func (p pen) what(s *agent.Step) string {
	raw := s.Executed
	if raw == nil {
		raw = s.Proposed
	}
	ms, err := members(raw)
	if err != nil {
		return ""
	}
	said := ""
	for i, m := range ms {
		var v string
		if m.raw[0] != '"' || json.Unmarshal(m.raw, &v) != nil {
			v = string(m.raw)
		}
		if p.secretByName(m.name, v, 0) {
			v = slacktext.Masked
		}
		if i > 0 {
			said += ", "
		}
		said += v
		if len(said) > 400 {
			break
		}
	}
	drawn, _ := p.draw(oneLine(said))
	return slacktext.Truncate(drawn, 70)
}

func elapsed(s *agent.Step, now time.Time) time.Duration {
	switch {
	case s.StartedAt.IsZero():
		return 0
	case s.State == agent.StepExecuting:
		return now.Sub(s.StartedAt)
	case s.EndedAt.IsZero():
		return 0
	}
	return s.EndedAt.Sub(s.StartedAt)
}

func icon(s agent.StepState) string {
	switch s {
	case agent.StepSucceeded:
		return "✅"
	case agent.StepFailed:
		return "⚠️"
	case agent.StepRefused:
		return "🚫"
	case agent.StepAwaiting:
		return "🔏"
	case agent.StepAsking, agent.StepAnswered:
		return "💬"
	case agent.StepUncertain:
		return "❔"
	case agent.StepCancelled:
		return "⏹️"
	}
	return "⏳"
}

// running says whether the call may be under way: one without effects is made while its
// step is allowed.
func running(s *agent.Step) bool {
	return s.State == agent.StepAllowed || s.State == agent.StepExecuting
}

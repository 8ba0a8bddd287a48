package card

import (
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
)

// mostDecisions bounds how many decisions a card lists; the record has them all.
const mostDecisions = 12

// settled is a card on which nothing can be pressed any more: what was decided
// by whom, on which arguments, and what came of it.
func (p pen) settled(c *decisions.Case) []slack.Block {
	a := &c.Approval
	out := []slack.Block{section(p.say("card.title."+ended(c), "tool", code(a.Tool), "risk", p.risk(a.Risk)))}
	if p.r.private(a.Tool, &c.Step) {
		out = append(out, section(p.privately(c)))
	} else {
		out = append(out, p.asked(c, maxReason)...)
		out = append(out, p.again(c)...)
		out = append(out, p.changes(c)...)
		out = append(out, p.call(c)...)
	}
	out = append(out, p.verdicts(c)...)
	return append(out, p.outcome(c)...)
}

// ended names the state of a card for people: of what a newer card would have taken the
// place of, had the call still been possible, it says that it is not.
func ended(c *decisions.Case) string {
	if c.Approval.State == approvals.Superseded && c.Step.Approval == c.Approval.ID {
		return "withdrawn"
	}
	return string(c.Approval.State)
}

// verdicts says who decided what and when, with the reasons that were given.
func (p pen) verdicts(c *decisions.Case) []slack.Block {
	a := &c.Approval
	private := p.r.private(a.Tool, &c.Step)
	shown := a.Decisions[max(0, len(a.Decisions)-mostDecisions):]
	var out []slack.Block
	var lines []string
	flush := func() {
		if len(lines) > 0 {
			out = append(out, section(strings.Join(lines, "\n")))
		}
		lines = nil
	}
	for _, d := range shown {
		if !tells(a, d) {
			continue
		}
		lines = append(lines, p.verdict(d))
		if d.Reason != "" && !private && d.Verdict != approvals.Edit {
			flush()
			out = append(out, rich(quote(p.prose(d.Reason, maxReason)))...)
		}
	}
	flush()
	return out
}

// tells says that a decision is not told elsewhere on the card already.
func tells(a *approvals.Approval, d approvals.Decision) bool {
	switch d.Verdict {
	case approvals.Expire:
		return false
	case approvals.Edit:
		return a.Current().Requirement.EditApproves && !d.Void && d.Revision == a.Revision
	}
	return true
}

func (p pen) verdict(d approvals.Decision) string {
	key := "verdict." + string(d.Verdict)
	said := p.say(key, "who", person(d.By), "when", moment(d.At))
	if d.Glass {
		said = p.say("verdict.glass", "who", person(d.By), "when", moment(d.At))
	}
	if account, byCommand := strings.CutPrefix(d.Via, "cli"); byCommand {
		said += " " + p.say("verdict.cli")
		if account = strings.TrimPrefix(account, ", "); account != "" {
			said += " " + code(account) // of the machine, whoever it claims to be in Slack
		}
	}
	if d.Void {
		said += " " + p.say("verdict.void")
	}
	return said
}

// outcome is what came of the call that this card let run, or of the request.
func (p pen) outcome(c *decisions.Case) []slack.Block {
	a, s := &c.Approval, &c.Step
	if a.State != approvals.Approved && a.State != approvals.Redeemed {
		return []slack.Block{note(p.say("card.end."+ended(c), "when", moment(a.SettledAt)))}
	}
	if s.Approval != a.ID { // asked about once more since
		return []slack.Block{note(p.say("outcome.uncertain"))}
	}
	key := "outcome.starting"
	switch s.State {
	case agent.StepExecuting, agent.StepSucceeded, agent.StepFailed, agent.StepUncertain, agent.StepRefused, agent.StepCancelled:
		if a.State == approvals.Redeemed {
			key = "outcome." + string(s.State)
		}
	}
	out := []slack.Block{section(p.say(key))}
	if p.r.private(a.Tool, s) || s.Summary == "" || !s.State.Settled() {
		return out
	}
	return append(out, rich(quote(p.cameOf(s, maxReason)))...)
}

// changes are the arguments before the last edit, who changed them and why; the
// new ones stand right below.
func (p pen) changes(c *decisions.Case) []slack.Block {
	a := &c.Approval
	if a.Revision < 2 {
		return nil
	}
	var out []slack.Block
	for _, r := range a.Revisions[max(1, a.Revision-3):a.Revision] {
		out = append(out, note(p.say("card.changedby", "who", person(r.By), "when", moment(r.At))))
		if why := p.prose(r.Reason, 200); why != "" {
			out = append(out, rich(quote(why))...)
		}
	}
	before, err := p.arguments(a.Revisions[a.Revision-2].Args)
	now, failed := p.arguments(a.Current().Args)
	if err != nil || failed != nil {
		return out
	}
	changed := onlyChanged(before, now)
	old := headOf(changed, maxBefore, maxBeforeLines, maxArgCount)
	elements := []slack.RichTextElement{line(bold(p.say("card.before")))}
	if added := added(before, now); len(old) == 0 && len(added) > 0 {
		elements = append(elements, line(text(p.say("card.before.none"))))
	}
	elements = append(elements, p.sheet(old)...)
	if n := len(old); n < len(changed) || n > 0 && old[n-1].shown != changed[n-1].shown {
		elements = append(elements, line(text("…")))
	}
	return append(out, rich(elements...)...)
}

// onlyChanged are the arguments of before that are not the same now.
func onlyChanged(before, now []argument) []argument {
	same := map[string]string{}
	for _, a := range now {
		same[a.name] = string(a.raw)
	}
	var out []argument
	for _, a := range before {
		if raw, there := same[a.name]; !there || raw != string(a.raw) {
			a.warned = nil
			out = append(out, a)
		}
	}
	return out
}

func added(before, now []argument) []argument { return onlyChanged(now, before) }

// approvers are the people whose approval of the current revision stands.
func approvers(a *approvals.Approval) []policy.Actor {
	var out []policy.Actor
	seen := map[policy.Actor]bool{}
	for _, d := range a.Decisions {
		counts := d.Verdict == approvals.Approve || d.Verdict == approvals.Edit && a.Current().Requirement.EditApproves
		if counts && !d.Void && d.Revision == a.Revision && !seen[d.By] {
			seen[d.By] = true
			out = append(out, d.By)
		}
	}
	return out
}

// people mentions up to ten people.
func (p pen) people(who []policy.Actor) string {
	shown := make([]string, 0, len(who))
	for _, a := range who[:min(len(who), 10)] {
		shown = append(shown, person(a))
	}
	said := p.list(shown)
	if more := len(who) - len(shown); more > 0 {
		said += " " + p.say("more", "n", grouped(more))
	}
	return said
}

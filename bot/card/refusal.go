package card

import (
	"strings"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/slacktext"
)

// Refusal is one private sentence, in mrkdwn, that says why something did not
// count. Codes are keys of the catalogue.
func (r *Renderer) Refusal(lang, code, detail string, c *decisions.Case) string {
	return slacktext.Truncate(r.pen(lang).refusal(code, detail, c), maxSection)
}

func (p pen) refusal(reason, detail string, c *decisions.Case) string {
	switch reason {
	case "settled":
		return p.whatHappened(detail, c)
	case "not_approver":
		return p.say(reason, "role", p.roles(strings.Split(detail, " or ")))
	case "claimed":
		if detail != "" {
			return p.say(reason, "who", person(policy.Actor{User: detail}))
		}
		return p.say("claimed.lost")
	case "bad_edit", "cannot_rerun", "withdrawn":
		detail = p.failure(detail)
		return p.say(reason, "detail", codeUpTo(p.mask(detail), 500))
	}
	if p.l.Has(reason) {
		return p.say(reason)
	}
	return p.say("refused")
}

// failure reads a failure as the door tells it, "code at /pointer: message", for people.
func (p pen) failure(said string) string {
	head, message, ok := strings.Cut(said, ": ")
	code, _, _ := strings.Cut(head, " at /")
	if !ok || strings.ContainsAny(code, " \n") {
		return said
	}
	return p.l.Failure(code, message)
}

// whatHappened says what became of something that was settled meanwhile: by whom
// and when, where a person settled it.
func (p pen) whatHappened(state string, c *decisions.Case) string {
	if c == nil {
		return p.settledStep(state)
	}
	a := &c.Approval
	if state == "" || a.State != approvals.Pending {
		state = string(a.State)
	}
	var last *approvals.Decision
	for i := range a.Decisions {
		if !a.Decisions[i].Void && a.Decisions[i].Verdict != approvals.Expire {
			last = &a.Decisions[i]
		}
	}
	switch s := approvals.State(state); s {
	case approvals.Approved, approvals.Redeemed, approvals.Lapsed, approvals.Rejected, approvals.Answered:
		if last != nil {
			return p.say("settled."+state, "who", person(last.By), "when", moment(last.At))
		}
	case approvals.Expired, approvals.Cancelled:
		return p.say("settled." + state)
	case approvals.Superseded:
		return p.say("settled." + ended(c))
	}
	return p.say("settled")
}

// settledStep is for a call whose outcome was not known, settled by somebody else.
func (p pen) settledStep(state string) string {
	if key := "settled.step." + state; p.l.Has(key) {
		return p.say(key)
	}
	return p.say("settled")
}

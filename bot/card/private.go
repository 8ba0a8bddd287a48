package card

import (
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
)

// Told tells a person what was decided in their name, with the button that says it
// was not them. It is false when nothing was.
func (r *Renderer) Told(c *decisions.Case, who policy.Actor, w Where) (Message, bool) {
	p, a := r.pen(w.Lang), &c.Approval
	var lines []string
	for _, d := range a.Decisions {
		if d.By == who {
			lines = append(lines, p.verdict(d))
		}
	}
	for i := range a.Grants {
		if a.Grants[i].Giver == who {
			lines = append(lines, p.granted(&a.Grants[i]))
		}
	}
	if len(lines) == 0 {
		return Message{}, false
	}
	m := Message{Text: p.say("told.text"), Meta: Meta{Run: a.Run, Approval: a.ID, Revision: a.Revision}}
	head := p.say("told.head", "tool", code(a.Tool), "risk", p.risk(a.Risk))
	m.Blocks = []slack.Block{section(head + "\n" + strings.Join(lines[max(0, len(lines)-mostDecisions):], "\n")), note(p.place(c, w))}
	if w.Locked {
		m.Blocks = append(m.Blocks, section(p.say("told.locked")))
		return m, true
	}
	b := button("decision_disown", p.say("button.disown"), value(a)).WithStyle(slack.StyleDanger)
	b.WithConfirm(slack.NewConfirmationBlockObject(plain(p.say("confirm.title"), 100), plain(p.say("confirm.disown"), 300),
		plain(p.say("button.disown"), 30), plain(p.say("button.back"), 30)))
	m.Blocks = append(m.Blocks, actions("told", b))
	return m, true
}

// Asked tells somebody who may decide that a card waits, or that it waits no more.
// No value of the call is in it: the card has them.
func (r *Renderer) Asked(c *decisions.Case, reminder bool, w Where) Message {
	p, a := r.pen(w.Lang), &c.Approval
	m := Message{Text: p.say("card.text."+ended(c), "tool", p.toolName(a.Tool)), Meta: Meta{Run: a.Run, Approval: a.ID, Revision: a.Revision}}
	if a.State != approvals.Pending {
		m.Blocks = []slack.Block{section(p.say("card.title."+ended(c), "tool", code(a.Tool), "risk", p.risk(a.Risk))), note(p.place(c, w))}
		return m
	}
	said := p.title(c)
	if reminder {
		said = p.say("asked.again") + "\n" + said
	}
	said += "\n" + p.say("home.from", "asker", person(c.Run.Asker)) + " · " + p.say("card.expires", "when", moment(a.ExpiresAt))
	if a.Claimed(w.Now) {
		said += "\n" + p.say("card.claimed", "who", person(a.Claimer), "when", moment(a.ClaimUntil))
	}
	row := []slack.BlockElement{button("approval_show", p.say("button.show"), value(a)).WithStyle(slack.StylePrimary), button("approval_claim", p.say("button.claim"), value(a))}
	m.Blocks = []slack.Block{section(said), note(p.place(c, w)), actions("asked", append(row, p.extend(a)...)...)}
	return m
}

// Locked tells a person that their decisions do not count.
func (r *Renderer) Locked(lang string) Message {
	p := r.pen(lang)
	return Message{Text: p.say("locked"), Blocks: []slack.Block{section(p.say("locked"))}}
}

// place is where the card is.
func (p pen) place(c *decisions.Case, w Where) string {
	if link, ok := linked(w.Link, p.say("place.card")); ok {
		return p.say("place.link", "link", link, "channel", channel(c.Run.Channel))
	}
	return p.say("place", "channel", channel(c.Run.Channel))
}

// linked puts an address behind a label, which stands alone where there is none.
func linked(address, label string) (text string, ok bool) {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return label, false
	}
	return "<" + strings.NewReplacer("<", "", ">", "", "|", "").Replace(address) + "|" + label + ">", true
}

// value is what every button about an approval carries.
func value(a *approvals.Approval) Button {
	return Button{Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Run: a.Run, Step: a.Step}
}

// meanwhile says what happened to a card that waits: who is at it, that it was said
// again, that the same call was refused before.
func (p pen) meanwhile(c *decisions.Case, w Where) []slack.Block {
	var out []slack.Block
	if like := w.Rejected; like != nil {
		out = append(out, section(p.say("card.like", "when", moment(like.Approval.SettledAt))))
		for _, d := range like.Approval.Decisions {
			if d.Verdict != approvals.Reject || d.Void {
				continue
			}
			out = append(out, note(p.verdict(d)))
			if d.Reason != "" && !p.r.private(like.Approval.Tool, &like.Step) {
				out = append(out, rich(quote(p.prose(d.Reason, maxReason)))...)
			}
		}
	}
	a := &c.Approval
	if a.Claimed(w.Now) {
		out = append(out, note(p.say("card.claimed", "who", person(a.Claimer), "when", moment(a.ClaimUntil))))
	}
	if a.Reminded > 0 {
		out = append(out, note(p.say("card.reminded", "when", moment(a.ExpiresAt))))
	}
	return out
}

// witness is the record's last word on a settled card: whoever rewrites the record
// has to change every card in Slack too.
func (p pen) witness(w Where) []slack.Block {
	if w.Head == "" {
		return nil
	}
	return []slack.Block{note(p.say("card.witness", "head", code(w.Head)))}
}

// askAgain lets the asker of an expired request ask once more.
func (p pen) askAgain(c *decisions.Case) []slack.Block {
	if c.Approval.State != approvals.Expired {
		return nil
	}
	return []slack.Block{actions("again", button("approval_again", p.say("button.again"), value(&c.Approval)))}
}

// codeInput asks for a one-time code, where one is needed.
func (p pen) codeInput(needed bool) []slack.Block {
	if !needed {
		return nil
	}
	input := slack.NewPlainTextInputBlockElement(nil, "value").WithMinLength(6).WithMaxLength(12)
	return []slack.Block{slack.NewInputBlock("code", plain(p.say("code.label"), maxLabel), plain(p.say("code.hint"), maxLabel), input)}
}

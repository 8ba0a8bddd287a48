package card

import (
	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/approvals/decisions"
)

// GlassModal is ShowModal for somebody who acts alone in an emergency: everything,
// and below it the reason and the code without which it does not count.
func (r *Renderer) GlassModal(c *decisions.Case, lang string) (slack.ModalViewRequest, bool) {
	p := r.pen(lang)
	blocks, ok := p.shown(c)
	if !ok {
		return slack.ModalViewRequest{}, false
	}
	blocks = append(blocks, section(p.say("glass.intro", "roles", p.roles(c.Approval.Needs().BreakGlass))), p.reasonInput("glass.reason", "glass.hint", false))
	blocks = append(blocks, p.codeInput(true)...)
	v := p.modal("modal.glass", "button.glass", "glass_modal", blocks...)
	v.PrivateMetadata = about(c)
	return v, viewFits(v)
}

// Review draws the card on which others look at what one person approved alone. No
// value of the call is in it: the approval's own card has them.
func (r *Renderer) Review(c *decisions.Case, w Where) Message {
	p, a := r.pen(w.Lang), &c.Approval
	v := a.Review
	m := Message{Text: p.say("review.text", "tool", p.toolName(a.Tool)), Meta: Meta{Subject: approvals.ReviewSubject(a.ID, a.Channel), Run: a.Run, Approval: a.ID, Revision: a.Revision}}
	m.Blocks = []slack.Block{section(p.say("review.title", "who", person(v.Actor), "tool", code(a.Tool), "risk", p.risk(a.Risk), "when", moment(v.OpenedAt)))}
	for _, d := range a.Decisions {
		if d.Glass && d.By == v.Actor && !p.r.private(a.Tool, &c.Step) {
			m.Blocks = append(m.Blocks, rich(quote(p.prose(d.Reason, maxReason)))...)
		}
	}
	m.Blocks = append(m.Blocks, note(p.place(c, w)))
	if v.State == approvals.ReviewOpen {
		return p.reviewOpen(m, a)
	}
	said := p.say("review.reviewed", "who", person(v.By), "when", moment(v.At))
	if v.State == approvals.ReviewConcern {
		said = p.say("review.concern", "who", person(v.By), "when", moment(v.At))
	}
	m.Blocks = append(m.Blocks, section(said))
	if v.Text != "" && !p.r.private(a.Tool, &c.Step) {
		m.Blocks = append(m.Blocks, rich(quote(p.prose(v.Text, maxReason)))...)
	}
	return m
}

func (p pen) reviewOpen(m Message, a *approvals.Approval) Message {
	m.Blocks = append(m.Blocks, note(p.say("review.open", "roles", p.roles(a.Needs().Approvers), "who", person(a.Review.Actor))),
		p.reviewButtons("review", a))
	return m
}

func (p pen) reviewButtons(block string, a *approvals.Approval) slack.Block {
	return actions(block, button("review_ok", p.say("button.reviewed"), value(a)).WithStyle(slack.StylePrimary),
		button("review_concern", p.say("button.concern"), value(a)).WithStyle(slack.StyleDanger))
}

// ReviewModal asks for the words that go with a look at what one person did alone. A
// concern needs some.
func (r *Renderer) ReviewModal(c *decisions.Case, concern bool, lang string) slack.ModalViewRequest {
	p := r.pen(lang)
	title, submit, callback := "modal.review", "button.reviewed", "review_ok_modal"
	if concern {
		title, submit, callback = "modal.concern", "button.concern", "review_concern_modal"
	}
	who := person(c.Approval.Review.Actor)
	return p.modal(title, submit, callback,
		section(p.say("review.intro", "who", who, "tool", code(c.Approval.Tool))), p.reasonInput("review.words", "review.hint", !concern))
}

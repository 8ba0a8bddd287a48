package card

import (
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/approvals/decisions"
)

// Together are those of a bundle that one press may still decide.
func Together(cases []decisions.Case) []*decisions.Case {
	var out []*decisions.Case
	for i := range cases {
		if a := &cases[i].Approval; a.State == approvals.Pending && a.Current().Requirement.Batch {
			out = append(out, &cases[i])
		}
	}
	return out
}

// Bundle draws the message about calls that one press may decide together. It has no
// value of any call: the form behind its button shows all of them.
func (r *Renderer) Bundle(cases []decisions.Case, w Where) Message {
	p, live := r.pen(w.Lang), Together(cases)
	a := &cases[0].Approval
	m := Message{Text: p.say("bundle.over"), Meta: Meta{Subject: approvals.BundleSubject(a.Run, a.Bundle, a.Channel), Run: a.Run}}
	if len(live) < 2 {
		m.Blocks = []slack.Block{note(m.Text)}
		return m
	}
	m.Text = p.count("bundle.text", len(live))
	lines := []string{"*" + m.Text + "*"}
	for _, c := range live {
		lines = append(lines, p.say("bundle.call", "tool", code(c.Approval.Tool), "n", grouped(c.Approval.Step)))
	}
	value := Button{Run: a.Run, Step: a.Bundle}
	m.Blocks = []slack.Block{
		section(strings.Join(lines, "\n")), note(p.say("card.needs", "roles", p.roles(live[0].Approval.Needs().Approvers)) + p.say("gap") + p.say("bundle.each")),
		actions("bundle", button("bundle_approve", p.say("button.bundle"), value).WithStyle(slack.StylePrimary),
			button("bundle_reject", p.say("button.bundle.reject"), value).WithStyle(slack.StyleDanger)),
	}
	return m
}

// BundleModal shows everything of every call that one press may decide, secrets
// included; Approve stands under the last of it. It is false when that fits no modal:
// then each call is decided on its own card.
func (r *Renderer) BundleModal(live []*decisions.Case, lang string) (slack.ModalViewRequest, bool) {
	p := r.pen(lang)
	p.bare = true
	blocks, code := p.asked(live[0], maxPiece), false
	for i, c := range live {
		whole, ok := p.whole(c)
		if !ok {
			return slack.ModalViewRequest{}, false
		}
		blocks = append(blocks, slack.NewDividerBlock(), section(fmt.Sprintf("*%d/%d* · %s", i+1, len(live), p.title(c))))
		blocks = append(blocks, whole...)
		blocks = append(blocks, note(p.needs(c, Where{})))
		code = code || c.Approval.Current().Requirement.StepUp != ""
	}
	blocks = append(blocks, section(p.count("show.bundle", len(live))))
	blocks = append(blocks, p.codeInput(code)...)
	v := p.modal("modal.bundle", "button.approve", "bundle_approve_modal", blocks...)
	return v, viewFits(v) && len(r.BundleMeta(live, ModalMeta{})) < maxPrivate-metaRoom
}

// metaRoom is kept for where the form was opened.
const metaRoom = 300

// BundleRejectModal asks for the one reason to reject all of them.
func (r *Renderer) BundleRejectModal(live []*decisions.Case, lang string) slack.ModalViewRequest {
	p := r.pen(lang)
	return p.modal("modal.reject", "button.reject", "bundle_reject_modal",
		section(p.count("reject.bundle", len(live))), p.reasonInput("reject.reason", "reject.hint", true))
}

// BundleMeta is the private data of a form that decides these calls together.
func (r *Renderer) BundleMeta(live []*decisions.Case, meta ModalMeta) string {
	for _, c := range live {
		a := &c.Approval
		meta.Calls = append(meta.Calls, Button{Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest})
	}
	return encode(meta)
}

// NotCounted is a call that a press for several did not decide.
type NotCounted struct {
	Case    *decisions.Case // nil: it is no longer known
	Refused string
	Detail  string
}

// BundleRefusal tells a person privately which calls their one press did not decide, and why.
func (r *Renderer) BundleRefusal(lang string, all int, not []NotCounted) string {
	p := r.pen(lang)
	lines := []string{p.say("bundle.part", "n", grouped(all-len(not)), "all", grouped(all))}
	for _, x := range not {
		why := p.refusal(x.Refused, x.Detail, x.Case)
		if x.Case == nil {
			lines = append(lines, "• "+why)
			continue
		}
		lines = append(lines, p.say("bundle.call", "tool", code(x.Case.Approval.Tool), "n", grouped(x.Case.Approval.Step))+p.say("colon")+why)
	}
	return strings.Join(lines, "\n")
}

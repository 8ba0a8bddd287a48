package card

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot/slacktext"
)

// modal makes a modal. Without a submit label it can only be closed.
func (p pen) modal(title, submit, callback string, blocks ...slack.Block) slack.ModalViewRequest {
	v := slack.ModalViewRequest{
		Type: slack.VTModal, Title: plain(p.say(title), maxViewTitle), Close: plain(p.say("button.close"), maxViewTitle),
		CallbackID: callback, Blocks: slack.Blocks{BlockSet: blocks},
	}
	if submit != "" {
		v.Submit = plain(p.say(submit), maxViewTitle)
	}
	return v
}

// about is the private data of a modal about an approval. The sender adds where it was opened.
func about(c *decisions.Case) string {
	a := &c.Approval
	return encode(ModalMeta{Button: Button{Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Run: a.Run, Step: a.Step}})
}

// Loading is the modal that is opened at once and filled later.
func (r *Renderer) Loading(lang, callbackID string) slack.ModalViewRequest {
	p := r.pen(lang)
	return p.modal("modal.loading", "", callbackID, section(p.say("modal.wait")))
}

// Note is a modal that says one thing: why a form is not shown. Codes are those of Refusal.
func (r *Renderer) Note(lang, code, detail string, c *decisions.Case) slack.ModalViewRequest {
	p := r.pen(lang)
	return p.modal("modal.note", "", "note", section(p.refusal(code, detail, c)))
}

// RejectModal asks for the reason, which may be left out.
func (r *Renderer) RejectModal(c *decisions.Case, lang string) slack.ModalViewRequest {
	p := r.pen(lang)
	v := p.modal("modal.reject", "button.reject", "approval_reject_modal",
		section(p.say("reject.intro", "tool", code(c.Approval.Tool), "asker", person(c.Run.Asker))),
		p.reasonInput("reject.reason", "reject.hint", true))
	v.PrivateMetadata = about(c)
	return v
}

// RespondModal asks for the answer that the model gets in the tool's place.
func (r *Renderer) RespondModal(c *decisions.Case, lang string) slack.ModalViewRequest {
	p := r.pen(lang)
	v := p.modal("modal.respond", "button.send", "approval_respond_modal",
		section(p.say("respond.intro", "tool", code(c.Approval.Tool))),
		p.reasonInput("respond.text", "respond.hint", false))
	v.PrivateMetadata = about(c)
	return v
}

func (p pen) reasonInput(label, hint string, optional bool) slack.Block {
	input := slack.NewPlainTextInputBlockElement(nil, "value").WithMultiline(true).WithMaxLength(maxInput)
	b := slack.NewInputBlock("reason", plain(p.say(label), maxLabel), plain(p.say(hint), maxLabel), input)
	b.Optional = optional
	return b
}

// SettledModal says what happened to an approval meanwhile, and keeps what the
// person had typed. It travels in an acknowledgement and is small enough for that.
func (r *Renderer) SettledModal(c *decisions.Case, typed map[string]string, lang string) slack.ModalViewRequest {
	p := r.pen(lang)
	said := p.say("unknown")
	if c != nil {
		said = p.say("stale")
		if c.Approval.State != approvals.Pending {
			said = p.whatHappened("", c)
		}
	}
	for limit := maxInput; ; limit /= 2 {
		v := p.modal("modal.settled", "", "settled", append([]slack.Block{section(said)}, p.typed(typed, limit)...)...)
		raw, err := json.Marshal(v)
		if err == nil && len(raw) <= maxAck || limit < 16 {
			return v
		}
	}
}

// mostTyped bounds how many typed values are shown again.
const mostTyped = 30

// typed shows what was typed, to be copied.
func (p pen) typed(typed map[string]string, limit int) []slack.Block {
	var out []slack.RichTextElement
	for _, name := range slices.Sorted(maps.Keys(typed)) {
		if typed[name] == "" || len(out) >= 2*mostTyped || limit < 16 {
			continue
		}
		label, _ := p.draw(name)
		value := slacktext.Truncate(strings.ToValidUTF8(typed[name], "\uFFFD"), limit)
		out = append(out, line(bold(slacktext.Truncate(oneLine(label), 100))), preformatted(value))
	}
	if len(out) == 0 {
		return nil
	}
	return append([]slack.Block{note(p.say("modal.typed"))}, rich(out...)...)
}

package card

import (
	"encoding/json"

	"github.com/slack-go/slack"

	"countersign/approvals/decisions"
	"countersign/bot/slacktext"
	"countersign/tools"
)

// ShowModal shows everything that is countersigned, secrets included, to one
// person; Approve stands under the last of it. It is false when it fits no modal:
// then nobody can approve the call. Ask Guarded who may see it.
func (r *Renderer) ShowModal(c *decisions.Case, lang string) (slack.ModalViewRequest, bool) {
	p := r.pen(lang)
	blocks, ok := p.shown(c)
	if !ok {
		return slack.ModalViewRequest{}, false
	}
	blocks = append(blocks, note(p.say("show.approve")+"\n"+p.needs(c, Where{})))
	blocks = append(blocks, p.codeInput(c.Approval.Current().Requirement.StepUp != "")...)
	v := p.modal("modal.show", "button.approve", "approval_show_modal", blocks...)
	v.PrivateMetadata = about(c)
	return v, viewFits(v)
}

// Opened is what ShowModal and its kin show of a call, as text with secrets masked: for
// the record. The text of the form itself could not be masked any more, because there
// long values stand broken over lines, and below their names.
func (r *Renderer) Opened(c *decisions.Case, lang string) string {
	blocks, _ := r.pen(lang).everything(c)
	return Shown(blocks)
}

// shown is everything that a form shows before somebody approves, secrets included.
func (p pen) shown(c *decisions.Case) ([]slack.Block, bool) {
	p.bare = true
	return p.everything(c)
}

func (p pen) everything(c *decisions.Case) ([]slack.Block, bool) {
	whole, ok := p.whole(c)
	if !ok {
		return nil, false
	}
	blocks := append([]slack.Block{section(p.title(c))}, p.asked(c, maxPiece)...)
	return append(blocks, whole...), true
}

// whole is everything of a call that is countersigned; false when it cannot be shown.
func (p pen) whole(c *decisions.Case) ([]slack.Block, bool) {
	args, err := p.arguments(c.Approval.Current().Args)
	if err != nil {
		return nil, false
	}
	for _, a := range args {
		if slacktext.Units(a.label) > maxPiece/2 {
			return nil, false
		}
	}
	blocks := append(p.again(c), p.changes(c)...)
	blocks = append(blocks, p.wholeEffect(c.Approval.Current().Preview)...)
	blocks = append(blocks, p.reason(c)...)
	head := line(bold(p.say("card.call")), text(" "), coded(p.toolName(c.Approval.Tool)))
	sheet := p.sheet(args)
	if len(args) == 0 {
		sheet = append(sheet, line(text(p.say("card.noargs"))))
	}
	return append(blocks, rich(append([]slack.RichTextElement{head}, sheet...)...)...), true
}

// wholeEffect is the preview without a cut.
func (p pen) wholeEffect(v *tools.Preview) []slack.Block {
	if v == nil {
		return p.effect(v)
	}
	summary, _ := p.draw(v.Summary)
	out := []slack.RichTextElement{line(bold(p.say("card.effect")))}
	for _, piece := range pieces(wrap(summary)) {
		out = append(out, line(text(piece)))
	}
	if v.Untried != "" {
		for _, piece := range slacktext.Split(calm(p.untried(v)), maxPiece) {
			out = append(out, line(text("⚠️ "+piece)))
		}
	}
	for _, piece := range pieces(p.detail(v)) {
		out = append(out, preformatted(piece))
	}
	return rich(out...)
}

func viewFits(v slack.ModalViewRequest) bool {
	raw, err := json.Marshal(v)
	return err == nil && len(raw) <= maxView && len(v.Blocks.BlockSet) <= maxViewBlocks
}

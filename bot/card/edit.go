package card

import (
	"encoding/json"

	"github.com/slack-go/slack"

	"countersign/approvals/decisions"
	"countersign/bot/slacktext"
)

// EditModal has one input per argument, each of the kind that its schema asks
// for. It is false when a form cannot give the arguments back as they are: too
// long, too many, or with characters that inputs do not keep. Ask Guarded who
// may see it: inputs hold the real values.
func (r *Renderer) EditModal(c *decisions.Case, lang string) (slack.ModalViewRequest, bool) {
	p := r.pen(lang)
	a := &c.Approval
	fields, ok := p.fields(a.Tool, a.Current().Args)
	if !ok || len(fields) == 0 {
		return slack.ModalViewRequest{}, false
	}
	needs := a.Current().Requirement
	intro, submit := "edit.intro", "button.save"
	switch {
	case needs.EditApproves && needs.Quorum <= 1:
		intro, submit = "edit.intro.approves", "button.saveapprove"
	case needs.EditApproves:
		intro = "edit.intro.counts"
	}
	blocks := []slack.Block{section(p.say(intro, "tool", code(a.Tool)))}
	for i := range fields {
		blocks = append(blocks, p.inputs(&fields[i])...)
	}
	blocks = append(blocks, p.reasonInput("edit.reason", "edit.reason.hint", true))
	blocks = append(blocks, p.codeInput(needs.StepUp != "" && needs.EditApproves)...)
	v := p.modal("modal.edit", submit, "approval_edit_modal", blocks...)
	v.PrivateMetadata = about(c)
	return v, viewFits(v)
}

func (p pen) inputs(f *field) []slack.Block {
	if f.widget == choiceWidget {
		return []slack.Block{p.input(f, 0, p.choice(f))}
	}
	out := make([]slack.Block, len(f.parts))
	for i := range f.parts {
		out[i] = p.input(f, i, p.element(f, i))
	}
	return out
}

func (p pen) input(f *field, part int, element slack.BlockElement) slack.Block {
	var hint *slack.TextBlockObject
	if said := p.hint(f); said != "" && part == 0 {
		hint = plain(said, 500)
	}
	b := slack.NewInputBlock(f.blockID(part), plain(f.label(part), maxLabel), hint, element)
	b.Optional = part > 0 || !f.required || f.widget == textWidget && f.parts[0] == ""
	return b
}

// hint is what the schema says of an argument, and how it is written.
func (p pen) hint(f *field) string {
	said := p.sentence(f.description, 300)
	if f.widget == jsonWidget {
		said = joined(said, p.say("edit.json.hint"))
	}
	if len(f.current) > 0 && (f.widget == textWidget || f.widget == jsonWidget) && len(slacktext.Inspect(initial(textWidget, f.current))) > 0 {
		said = joined(said, p.say("edit.hidden.hint"))
	}
	return said
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + " · " + b
}

func (p pen) element(f *field, part int) slack.BlockElement {
	value := f.parts[part]
	switch f.widget {
	case numberWidget:
		e := slack.NewNumberInputBlockElement(nil, "value", !f.integer)
		e.InitialValue = value
		return e
	case dateWidget:
		e := slack.NewDatePickerBlockElement("value")
		e.InitialDate = value
		return e
	}
	e := slack.NewPlainTextInputBlockElement(nil, "value").WithMultiline(f.long).WithMaxLength(maxInput)
	e.InitialValue = value
	return e
}

// choice is a menu. The values of its options are JSON, so that text and numbers
// that look alike stay apart.
func (p pen) choice(f *field) slack.BlockElement {
	var options []*slack.OptionBlockObject
	var chosen *slack.OptionBlockObject
	if !f.required {
		options = append(options, slack.NewOptionBlockObject(leftOut, plain(p.say("edit.leftout"), maxButton), nil))
	}
	for _, c := range f.choices {
		o := slack.NewOptionBlockObject(string(c), plain(p.choiceText(c), maxButton), nil)
		if string(c) == string(f.current) {
			chosen = o
		}
		options = append(options, o)
	}
	if chosen == nil && !f.required {
		chosen = options[0]
	}
	e := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, nil, "value", options...)
	e.InitialOption = chosen
	return e
}

func (p pen) choiceText(c json.RawMessage) string {
	var s string
	switch {
	case string(c) == "true":
		return p.say("yes")
	case string(c) == "false":
		return p.say("no")
	case json.Unmarshal(c, &s) == nil && string(c) != "null":
		return slacktext.Draw(s)
	}
	return string(c)
}

package card

import (
	"github.com/slack-go/slack"

	"countersign/bot/slacktext"
)

// section is a paragraph of our own words in mrkdwn. Nothing of it is linked
// that is not marked as a link.
func section(text string) slack.Block {
	return slack.NewSectionBlock(mrkdwn(text, maxSection), nil, nil)
}

// note is a small grey line of our own words in mrkdwn.
func note(text string) slack.Block {
	return slack.NewContextBlock("", mrkdwn(text, maxContext))
}

func mrkdwn(text string, limit int) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.MarkdownType, some(slacktext.Truncate(text, limit)), false, true)
}

// plain is text in which nothing is interpreted.
func plain(text string, limit int) *slack.TextBlockObject {
	off := false
	return &slack.TextBlockObject{Type: slack.PlainTextType, Text: some(slacktext.Truncate(text, limit)), Emoji: &off}
}

// some replaces an empty text, which Slack refuses.
func some(text string) string {
	if text == "" {
		return "—"
	}
	return text
}

// text is a piece of rich text in which nothing is interpreted.
func text(s string) slack.RichTextSectionElement {
	return slack.NewRichTextSectionTextElement(some(s), nil)
}

func bold(s string) slack.RichTextSectionElement {
	return slack.NewRichTextSectionTextElement(some(s), &slack.RichTextSectionTextStyle{Bold: true})
}

func coded(s string) slack.RichTextSectionElement {
	return slack.NewRichTextSectionTextElement(some(s), &slack.RichTextSectionTextStyle{Code: true})
}

// line is one paragraph of rich text.
func line(elements ...slack.RichTextSectionElement) slack.RichTextElement {
	return slack.NewRichTextSection(elements...)
}

func quote(s string) slack.RichTextElement {
	return &slack.RichTextQuote{Type: slack.RTEQuote, Elements: []slack.RichTextSectionElement{text(s)}}
}

func preformatted(s string) slack.RichTextElement {
	return &slack.RichTextPreformatted{Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{text(s)}}
}

// rich packs elements into rich text blocks, none of which is very long.
func rich(elements ...slack.RichTextElement) []slack.Block {
	var out []slack.Block
	var page []slack.RichTextElement
	used := 0
	for _, e := range elements {
		n := unitsOf(e)
		if used > 0 && used+n > maxPiece {
			out, page, used = append(out, slack.NewRichTextBlock("", page...)), nil, 0
		}
		page, used = append(page, e), used+n
	}
	if len(page) > 0 {
		out = append(out, slack.NewRichTextBlock("", page...))
	}
	return out
}

func unitsOf(e slack.RichTextElement) int {
	var parts []slack.RichTextSectionElement
	switch e := e.(type) {
	case *slack.RichTextSection:
		parts = e.Elements
	case *slack.RichTextQuote:
		parts = e.Elements
	case *slack.RichTextPreformatted:
		parts = e.Elements
	}
	n := 0
	for _, p := range parts {
		if t, ok := p.(*slack.RichTextSectionTextElement); ok {
			n += slacktext.Units(t.Text)
		}
	}
	return n
}

func button(action, label string, b Button) *slack.ButtonBlockElement {
	return slack.NewButtonBlockElement(action, encode(b), plain(label, maxButton))
}

func actions(id string, elements ...slack.BlockElement) slack.Block {
	return slack.NewActionBlock(id, elements...)
}

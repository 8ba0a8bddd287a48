package slacktext

import (
	"fmt"
	"strings"

	"github.com/slack-go/slack"
)

// flatten renders an element as inline elements, for places that allow only
// those and for the plain text of a message.
func flatten(e slack.RichTextElement) []slack.RichTextSectionElement {
	switch e := e.(type) {
	case *slack.RichTextSection:
		return e.Elements
	case *slack.RichTextQuote:
		return e.Elements
	case *slack.RichTextPreformatted:
		s := span{}
		s.text(shown(e.Elements), slack.RichTextSectionTextStyle{Code: true})
		return s.elements
	case *slack.RichTextList:
		return flattenList(e)
	}
	return nil
}

func flattenList(list *slack.RichTextList) []slack.RichTextSectionElement {
	var s span
	for i, item := range list.Elements {
		bullet := "• "
		if list.Style == slack.RTEListOrdered {
			bullet = fmt.Sprintf("%d. ", list.Offset+i+1)
		}
		if i > 0 {
			bullet = "\n" + strings.Repeat("  ", list.Indent) + bullet
		} else {
			bullet = strings.Repeat("  ", list.Indent) + bullet
		}
		s.text(bullet, slack.RichTextSectionTextStyle{})
		s.elements = append(s.elements, flatten(item)...)
	}
	return s.elements
}

// shown returns what people read of inline elements.
func shown(elements []slack.RichTextSectionElement) string {
	var out strings.Builder
	for _, e := range elements {
		out.WriteString(shownOne(e))
	}
	return out.String()
}

func shownOne(e slack.RichTextSectionElement) string {
	switch e := e.(type) {
	case *slack.RichTextSectionTextElement:
		return e.Text
	case *slack.RichTextSectionLinkElement:
		if e.Text != "" {
			return e.Text
		}
		return e.URL
	}
	return ""
}

// plainText returns what people read of elements, one per line.
func plainText(elements []slack.RichTextElement) string {
	lines := make([]string, len(elements))
	for i, e := range elements {
		lines[i] = shown(flatten(e))
	}
	return strings.Join(lines, "\n")
}

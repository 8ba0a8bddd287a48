package slacktext

import "github.com/slack-go/slack"

// Limits of what Render produces, in units.
const (
	// maxPost bounds the text of one message's blocks. Slack refuses a message
	// at about 13,200 characters of block text (observed, not documented).
	maxPost = 8000
	// maxFallback bounds the plain text of a message, escaping included;
	// chat.update refuses 4,000 and more.
	maxFallback = 3900
	// maxMarkdown bounds the input; what is longer is cut with a mark.
	maxMarkdown = 40_000
)

// Post is one message to send.
type Post struct {
	// Text is the fallback for notifications and screen readers, escaped.
	Text string
	// Blocks is the content: one rich_text block.
	Blocks []slack.Block
}

// Render turns the model's Markdown into messages, usually one. Nothing in it
// notifies anybody, every link shows its target, and no image is fetched. The
// sender must still switch off link previews: Slack's crawler would carry the
// address, and what is hidden in it, to its host.
func Render(markdown string) []Post {
	source := []byte(Truncate(markdown, maxMarkdown))
	l := layout{source: source}
	l.blocks(parseMarkdown(source))
	return posts(l.elements, maxPost)
}

// posts packs elements into messages of at most limit units.
func posts(elements []slack.RichTextElement, limit int) []Post {
	var out []Post
	var page []slack.RichTextElement
	used := 0
	flush := func() {
		if len(page) > 0 {
			out = append(out, newPost(page))
		}
		page, used = nil, 0
	}
	for _, whole := range elements {
		for _, e := range splitElement(whole, limit) {
			size := Units(shown(flatten(e)))
			if used > 0 && used+size > limit {
				flush()
			}
			page, used = append(page, e), used+size
		}
	}
	flush()
	return out
}

func newPost(elements []slack.RichTextElement) Post {
	text := TruncateEscaped(trim(plainText(elements)), maxFallback)
	if text == "" {
		text = "—" // Slack refuses messages without text in notifications
	}
	return Post{Text: text, Blocks: []slack.Block{slack.NewRichTextBlock("", elements...)}}
}

// splitElement cuts an element that is longer than limit into elements of the
// same kind.
func splitElement(e slack.RichTextElement, limit int) []slack.RichTextElement {
	if Units(shown(flatten(e))) <= limit {
		return []slack.RichTextElement{e}
	}
	var out []slack.RichTextElement
	switch e := e.(type) {
	case *slack.RichTextList:
		return splitList(e, limit)
	case *slack.RichTextPreformatted:
		for _, part := range splitInline(e.Elements, limit) {
			out = append(out, &slack.RichTextPreformatted{Type: e.Type, Elements: part, Language: e.Language})
		}
	case *slack.RichTextQuote:
		for _, part := range splitInline(e.Elements, limit) {
			out = append(out, &slack.RichTextQuote{Type: e.Type, Elements: part})
		}
	case *slack.RichTextSection:
		for _, part := range splitInline(e.Elements, limit) {
			out = append(out, slack.NewRichTextSection(part...))
		}
	}
	return out
}

// splitList cuts a list between items; an item that is too long for itself
// goes on as a paragraph.
func splitList(list *slack.RichTextList, limit int) []slack.RichTextElement {
	var out []slack.RichTextElement
	var current *slack.RichTextList
	used := 0
	for i, item := range list.Elements {
		parts := splitInline(flatten(item), limit/2)
		size := Units(shown(parts[0])) + 2*list.Indent + 8 // 8: the bullet
		if current == nil || used+size > limit {
			current = slack.NewRichTextList(list.Style, list.Indent)
			if list.Style == slack.RTEListOrdered {
				current.Offset = list.Offset + i
			}
			out, used = append(out, current), 0
		}
		current.Elements = append(current.Elements, slack.NewRichTextSection(parts[0]...))
		used += size
		for _, rest := range parts[1:] {
			out, current = append(out, slack.NewRichTextSection(rest...)), nil
		}
	}
	return out
}

// splitInline cuts inline elements into parts of at most limit units, at the
// places that Split prefers. Links stay whole. It returns at least one part.
func splitInline(elements []slack.RichTextSectionElement, limit int) [][]slack.RichTextSectionElement {
	var parts [][]slack.RichTextSectionElement
	for {
		text := shown(elements)
		if Units(text) <= limit {
			return append(parts, elements)
		}
		head, tail := cutInline(elements, cutPoint(text, limit))
		parts = append(parts, head)
		if len(tail) == 0 {
			return parts
		}
		elements = tail
	}
}

// cutInline cuts at the given offset of the shown text. A cut inside a link
// moves in front of it, or behind it if nothing stands in front.
func cutInline(elements []slack.RichTextSectionElement, at int) (head, tail []slack.RichTextSectionElement) {
	for i, e := range elements {
		size := len(shownOne(e))
		if size <= at {
			at -= size
			continue
		}
		head, tail = elements[:i:i], elements[i:]
		text, isText := e.(*slack.RichTextSectionTextElement)
		switch {
		case at == 0:
		case isText:
			head = append(head, slack.NewRichTextSectionTextElement(text.Text[:at], text.Style))
			rest := slack.NewRichTextSectionTextElement(text.Text[at:], text.Style)
			tail = append([]slack.RichTextSectionElement{rest}, elements[i+1:]...)
		case i == 0:
			head, tail = elements[:1:1], elements[1:]
		}
		return head, tail
	}
	return elements, nil
}

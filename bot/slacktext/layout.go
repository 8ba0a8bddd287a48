package slacktext

import (
	"strings"

	"github.com/slack-go/slack"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// maxIndent is how deep lists are shown; deeper ones stay at this level.
const maxIndent = 5

// layout turns Markdown blocks into rich text elements, in order.
type layout struct {
	source   []byte
	elements []slack.RichTextElement
}

func (l *layout) blocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		l.block(n)
	}
}

func (l *layout) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		l.paragraph(l.inline(n, slack.RichTextSectionTextStyle{Bold: true}))
	case *ast.List:
		l.list(n, 0)
	case *ast.FencedCodeBlock:
		l.code(linesOf(n, l.source), string(n.Language(l.source)))
	case *ast.CodeBlock:
		l.code(linesOf(n, l.source), "")
	case *ast.Blockquote:
		l.quote(n)
	case *ast.ThematicBreak:
		l.paragraph(textOnly("———"))
	case *ast.HTMLBlock:
		html := linesOf(n, l.source)
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(l.source))
		}
		l.paragraph(textOnly(strings.TrimSuffix(html, "\n")))
	case *extast.Table:
		l.table(n)
	default:
		l.paragraph(l.inline(n, slack.RichTextSectionTextStyle{}))
	}
}

// inline renders the inline content of a block.
func (l *layout) inline(n ast.Node, style slack.RichTextSectionTextStyle) []slack.RichTextSectionElement {
	s := span{source: l.source}
	s.children(n, style)
	return s.elements
}

func textOnly(text string) []slack.RichTextSectionElement {
	var s span
	s.text(text, slack.RichTextSectionTextStyle{})
	return s.elements
}

// paragraph appends a section, or continues the last one: Slack shows no gap
// between sections, so paragraphs are divided by an empty line in one of them.
func (l *layout) paragraph(elements []slack.RichTextSectionElement) {
	if len(elements) == 0 {
		return
	}
	if n := len(l.elements); n > 0 {
		if last, ok := l.elements[n-1].(*slack.RichTextSection); ok {
			s := span{elements: last.Elements}
			s.text("\n\n", slack.RichTextSectionTextStyle{})
			last.Elements = append(s.elements, elements...)
			return
		}
	}
	l.elements = append(l.elements, slack.NewRichTextSection(elements...))
}

// code appends a code block, exactly as written.
func (l *layout) code(code, language string) {
	code = soften(strings.TrimSuffix(code, "\n"))
	if code == "" {
		return
	}
	l.elements = append(l.elements, &slack.RichTextPreformatted{
		Type:     slack.RTEPreformatted,
		Elements: []slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(code, nil)},
		Language: languageName(language),
	})
}

// languageName passes on a plain word only; the fence's info string is free
// text.
func languageName(s string) string {
	for _, r := range s {
		if r < '0' || r > 'z' || r > '9' && r < 'A' || r > 'Z' && r < 'a' {
			return ""
		}
	}
	return Truncate(strings.ToLower(s), 20)
}

// quote appends a quotation. Slack allows only inline content in it, so blocks
// inside become lines.
func (l *layout) quote(n ast.Node) {
	inner := layout{source: l.source}
	inner.blocks(n)
	var s span
	for i, e := range inner.elements {
		if i > 0 {
			s.text("\n", slack.RichTextSectionTextStyle{})
		}
		s.elements = append(s.elements, flatten(e)...)
	}
	if len(s.elements) > 0 {
		l.elements = append(l.elements, &slack.RichTextQuote{Type: slack.RTEQuote, Elements: s.elements})
	}
}

// list appends one level of a list; deeper levels and blocks interrupt it.
func (l *layout) list(n *ast.List, indent int) {
	style := slack.RTEListBullet
	if n.IsOrdered() {
		style = slack.RTEListOrdered
	}
	number := max(n.Start-1, 0)
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		section := slack.NewRichTextSection()
		list := l.openList(style, min(indent, maxIndent), number)
		list.Elements = append(list.Elements, section)
		number++
		l.itemBlocks(item, section, indent)
	}
}

// openList returns the list that the next item belongs to: the last element if
// it is the same level of the same list, else a new one that counts on.
func (l *layout) openList(style slack.RichTextListElementType, indent, number int) *slack.RichTextList {
	if style == slack.RTEListBullet {
		number = 0
	}
	last := l.lastList()
	if last != nil && last.Style == style && last.Indent == indent &&
		(style == slack.RTEListBullet || last.Offset+len(last.Elements) == number) {
		return last
	}
	list := slack.NewRichTextList(style, indent)
	list.Offset = number
	l.elements = append(l.elements, list)
	return list
}

func (l *layout) lastList() *slack.RichTextList {
	if n := len(l.elements); n > 0 {
		list, _ := l.elements[n-1].(*slack.RichTextList)
		return list
	}
	return nil
}

// itemBlocks fills one item: the paragraphs that it begins with go into
// section, everything else behind it.
func (l *layout) itemBlocks(item ast.Node, section *slack.RichTextSection, indent int) {
	b := item.FirstChild()
	s := span{source: l.source}
	for ; b != nil && (b.Kind() == ast.KindTextBlock || b.Kind() == ast.KindParagraph); b = b.NextSibling() {
		if len(s.elements) > 0 {
			s.text("\n", slack.RichTextSectionTextStyle{})
		}
		s.children(b, slack.RichTextSectionTextStyle{})
	}
	if len(s.elements) == 0 {
		s.text(" ", slack.RichTextSectionTextStyle{})
	}
	section.Elements = s.elements
	for ; b != nil; b = b.NextSibling() {
		if list, ok := b.(*ast.List); ok {
			l.list(list, indent+1)
		} else {
			l.block(b)
		}
	}
}

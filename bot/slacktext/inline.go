package slacktext

import (
	"strings"

	"github.com/slack-go/slack"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// span collects the inline elements of one paragraph, cell or list item.
type span struct {
	source   []byte
	elements []slack.RichTextSectionElement
}

// maxMerge is how many bytes an element may have to grow further; it keeps the
// cost of merging linear.
const maxMerge = 2000

// text appends text, and turns web addresses in it into links.
func (s *span) text(text string, style slack.RichTextSectionTextStyle) {
	text = soften(text)
	for !style.Code {
		at, end := findURL(text)
		if at < 0 {
			break
		}
		s.literal(text[:at], style)
		s.address(text[at:end], style)
		text = text[end:]
	}
	s.literal(text, style)
}

// literal appends text as it is; neighbours of one style become one element.
// Elements may be shared, so they are replaced rather than changed.
func (s *span) literal(text string, style slack.RichTextSectionTextStyle) {
	if text == "" {
		return
	}
	p := pointer(style)
	if last, ok := s.last(); ok && sameStyle(last.Style, p) && len(last.Text) < maxMerge {
		s.elements[len(s.elements)-1] = slack.NewRichTextSectionTextElement(last.Text+text, p)
		return
	}
	s.elements = append(s.elements, slack.NewRichTextSectionTextElement(text, p))
}

func pointer(style slack.RichTextSectionTextStyle) *slack.RichTextSectionTextStyle {
	if style == (slack.RichTextSectionTextStyle{}) {
		return nil
	}
	return &style
}

func (s *span) last() (*slack.RichTextSectionTextElement, bool) {
	if len(s.elements) == 0 {
		return nil, false
	}
	e, ok := s.elements[len(s.elements)-1].(*slack.RichTextSectionTextElement)
	return e, ok
}

func sameStyle(a, b *slack.RichTextSectionTextStyle) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// link appends a link that shows where it leads. A label that says something
// else stands before it as plain text.
func (s *span) link(url, label string, style slack.RichTextSectionTextStyle) {
	if label = strings.TrimSpace(label); label == "" || sameTarget(label, url) {
		s.address(url, style)
		return
	}
	s.text(label+" (", style)
	s.address(url, style)
	s.literal(")", style)
}

// address appends a bare address: clickable if it is safe to be.
func (s *span) address(url string, style slack.RichTextSectionTextStyle) {
	target, ok := clickable(url)
	if !ok {
		s.literal(soften(url), style)
		return
	}
	shown := ""
	if scheme := mailto(target); scheme != "" {
		shown = target[len(scheme):]
	}
	s.elements = append(s.elements, slack.NewRichTextSectionLinkElement(target, shown, pointer(style)))
}

// children appends the inline children of n.
func (s *span) children(n ast.Node, style slack.RichTextSectionTextStyle) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		s.node(c, style)
	}
}

// node appends one inline node.
func (s *span) node(n ast.Node, style slack.RichTextSectionTextStyle) {
	switch n := n.(type) {
	case *ast.Text:
		s.markdownText(n, style)
	case *ast.String:
		s.text(string(n.Value), style)
	case *ast.CodeSpan:
		style.Code = true
		s.text(plain(n, s.source), style)
	case *ast.Emphasis:
		style.Bold = style.Bold || n.Level == 2
		style.Italic = style.Italic || n.Level == 1
		s.children(n, style)
	case *extast.Strikethrough:
		style.Strike = true
		s.children(n, style)
	case *extast.TaskCheckBox:
		s.text(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked], style)
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			s.text(string(segment.Value(s.source)), style)
		}
	default:
		s.linkNode(n, style)
	}
}

// linkNode appends the kinds of links. An image is a link: Slack would fetch
// it, and the request alone can carry data out.
func (s *span) linkNode(n ast.Node, style slack.RichTextSectionTextStyle) {
	switch n := n.(type) {
	case *ast.Link:
		s.link(literal(n.Destination), plain(n, s.source), style)
	case *ast.Image:
		s.link(literal(n.Destination), plain(n, s.source), style)
	case *slackLink:
		s.link(n.url, n.label, style)
	case *ast.AutoLink:
		url := string(n.URL(s.source))
		if n.AutoLinkType == ast.AutoLinkEmail && mailto(url) == "" {
			url = "mailto:" + url
		}
		s.link(url, "", style)
	default:
		s.children(n, style)
	}
}

func (s *span) markdownText(n *ast.Text, style slack.RichTextSectionTextStyle) {
	value := n.Segment.Value(s.source)
	if n.IsRaw() {
		s.text(string(value), style)
	} else {
		s.text(literal(value), style)
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		s.text("\n", style)
	}
}

// plain returns the text below n without any style.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			if c.IsRaw() || n.Kind() == ast.KindCodeSpan {
				out.Write(c.Segment.Value(source))
			} else {
				out.WriteString(literal(c.Segment.Value(source)))
			}
			if c.SoftLineBreak() || c.HardLineBreak() {
				out.WriteString(" ")
			}
		case *ast.AutoLink:
			out.Write(c.Label(source))
		case *slackLink:
			out.WriteString(c.url)
		default:
			out.WriteString(plain(c, source))
		}
	}
	return out.String()
}

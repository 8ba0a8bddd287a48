package slacktext

import (
	"bytes"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// parseMarkdown parses what models write: CommonMark with tables, strike
// through, task lists and bare links, plus two things of this place: links in
// Slack's own form, and emphasis that touches Chinese punctuation.
func parseMarkdown(source []byte) ast.Node {
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList),
		goldmark.WithParserOptions(parser.WithInlineParsers(
			util.Prioritized(slackLinkParser{}, 250), // before autolinks at 300
			util.Prioritized(emphasisParser{}, 450),  // before emphasis at 500
		)),
	)
	return md.Parser().Parse(text.NewReader(source))
}

// slackLink is a link as Slack writes it: <url|label>.
type slackLink struct {
	ast.BaseInline
	url, label string
}

var kindSlackLink = ast.NewNodeKind("SlackLink")

// Kind implements ast.Node.
func (*slackLink) Kind() ast.NodeKind { return kindSlackLink }

// Dump implements ast.Node.
func (n *slackLink) Dump(source []byte, level int) {
	ast.DumpHelper(n, source, level, map[string]string{"url": n.url, "label": n.label}, nil)
}

// slackLinkParser finds slackLinks. Models have seen Slack messages and mix
// both forms.
type slackLinkParser struct{}

// Trigger implements parser.InlineParser.
func (slackLinkParser) Trigger() []byte { return []byte{'<'} }

// Parse implements parser.InlineParser.
func (slackLinkParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	end := bytes.IndexByte(line, '>')
	if end < 0 {
		return nil
	}
	url, label, found := bytes.Cut(line[1:end], []byte("|"))
	if !found || bytes.ContainsAny(url, " \t<") || !bytes.Contains(url, []byte(":")) {
		return nil
	}
	block.Advance(end + 1)
	return &slackLink{url: unescape(string(url)), label: unescape(string(label))}
}

// emphasisParser is CommonMark's, except that beside Chinese, Japanese and
// Korean characters a delimiter needs no space: these scripts use none, so
// **余额：**50 would otherwise keep its asterisks.
type emphasisParser struct{}

// Trigger implements parser.InlineParser.
func (emphasisParser) Trigger() []byte { return []byte{'*'} }

// Parse implements parser.InlineParser.
func (emphasisParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, emphasisProcessor{})
	if d == nil {
		return nil
	}
	after := rune(' ')
	if d.OriginalLength < len(line) {
		after = util.ToRune(line, d.OriginalLength)
	}
	if isEastAsian(before) || isEastAsian(after) {
		d.CanOpen = d.CanOpen || !unicode.IsSpace(after)
		d.CanClose = d.CanClose || !unicode.IsSpace(before)
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

type emphasisProcessor struct{}

// IsDelimiter implements parser.DelimiterProcessor.
func (emphasisProcessor) IsDelimiter(b byte) bool { return b == '*' }

// CanOpenCloser implements parser.DelimiterProcessor.
func (emphasisProcessor) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch implements parser.DelimiterProcessor.
func (emphasisProcessor) OnMatch(consumes int) ast.Node { return ast.NewEmphasis(consumes) }

// isEastAsian reports whether r is a letter or a punctuation mark of a script
// that is written without spaces between words.
func isEastAsian(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
		r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF
}

// literal resolves Markdown's escapes and entities.
func literal(source []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(source))))
}

// linesOf returns the raw lines of a block.
func linesOf(n ast.Node, source []byte) string {
	var buf bytes.Buffer
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		buf.Write(line.Value(source))
	}
	return buf.String()
}

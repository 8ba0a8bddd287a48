package slacktext

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// node is any part of a rich_text block; which fields it has depends on Type.
type node struct {
	Type     string `json:"type"`
	Elements []node `json:"elements"`
	Text     any    `json:"text"`
	URL      string `json:"url"`
	User     string `json:"user_id"`
	Channel  string `json:"channel_id"`
	Group    string `json:"usergroup_id"`
	Name     string `json:"name"`
	Unicode  string `json:"unicode"`
	Range    string `json:"range"`
	Fallback string `json:"fallback"`
	Value    string `json:"value"`
	Style    any    `json:"style"`
	Indent   int    `json:"indent"`
	Offset   int    `json:"offset"`
}

// text returns the node's text, which in other blocks may be an object.
func (n node) text() string {
	s, _ := n.Text.(string)
	return s
}

// readBlocks reads rich_text blocks; false if there is anything else, which
// happens in messages of apps and after changes on Slack's side.
func (r Reader) readBlocks(raw json.RawMessage) ([]part, bool) {
	var blocks []node
	if json.Unmarshal(raw, &blocks) != nil || len(blocks) == 0 {
		return nil, false
	}
	b := blockReader{Reader: r}
	for _, block := range blocks {
		if block.Type != "rich_text" {
			return nil, false
		}
		for _, e := range block.Elements {
			b.element(e)
		}
	}
	return b.parts, !b.unknown && len(b.parts) > 0
}

// blockReader collects parts; unknown is set by what it cannot read.
type blockReader struct {
	Reader
	parts   []part
	unknown bool
}

func (b *blockReader) add(text string) { b.parts = append(b.parts, part{text: text}) }

// element reads one section, list, quote or code block.
func (b *blockReader) element(e node) {
	b.startLine()
	switch e.Type {
	case "rich_text_section":
		b.inline(e.Elements)
	case "rich_text_quote":
		b.add(prefixLines("> ", b.render(e.Elements)))
	case "rich_text_preformatted":
		code := b.render(e.Elements)
		fence := fenceFor(code)
		b.add(fence + "\n" + code + "\n" + fence)
	case "rich_text_list":
		b.list(e)
	default:
		b.unknown = true
	}
}

// startLine begins a new line unless the text is at the start of one.
func (b *blockReader) startLine() {
	if n := len(b.parts); n > 0 && (b.parts[n-1].self || !strings.HasSuffix(b.parts[n-1].text, "\n")) {
		b.add("\n")
	}
}

// list reads one level of a list; Slack flattens levels into several lists.
func (b *blockReader) list(e node) {
	for i, item := range e.Elements {
		b.startLine()
		bullet := "- "
		if e.Style == "ordered" {
			bullet = fmt.Sprintf("%d. ", e.Offset+i+1)
		}
		b.add(strings.Repeat("  ", min(max(e.Indent, 0), 8)) + bullet)
		b.inline(item.Elements)
	}
}

// render reads inline elements into one string, mentions included.
func (b *blockReader) render(elements []node) string {
	inner := blockReader{Reader: b.Reader}
	inner.inline(elements)
	b.unknown = b.unknown || inner.unknown
	var out strings.Builder
	for _, p := range inner.parts {
		out.WriteString(p.text)
	}
	return out.String()
}

func (b *blockReader) inline(elements []node) {
	for _, e := range elements {
		b.one(e)
	}
}

// one reads an inline element. Its text is not escaped.
func (b *blockReader) one(e node) {
	switch e.Type {
	case "text":
		_, isString := e.Text.(string)
		b.unknown = b.unknown || !isString
		b.add(styled(e))
	case "link":
		b.add(link(e.URL, e.text()))
	case "user":
		b.parts = append(b.parts, b.mention("@", e.User, ""))
	case "channel":
		b.parts = append(b.parts, b.mention("#", e.Channel, ""))
	case "usergroup":
		b.parts = append(b.parts, b.mention("@", e.Group, ""))
	case "broadcast":
		b.add("@" + e.Range)
	case "emoji":
		b.add(emoji(e))
	case "date":
		b.add(e.Fallback)
	case "color":
		b.add(e.Value)
	default:
		b.unknown = true
	}
}

// styled keeps the one style that carries meaning for the model.
func styled(e node) string {
	style, _ := e.Style.(map[string]any)
	if code, _ := style["code"].(bool); code && !strings.Contains(e.text(), "`") {
		return "`" + e.text() + "`"
	}
	return e.text()
}

// emoji returns the character if Slack names its code points, else its name.
func emoji(e node) string {
	var out strings.Builder
	for _, code := range strings.Split(e.Unicode, "-") {
		n, err := strconv.ParseUint(code, 16, 21)
		if err != nil {
			return ":" + e.Name + ":"
		}
		out.WriteRune(rune(n))
	}
	return out.String()
}

// fenceFor returns a fence that code does not contain.
func fenceFor(code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence
}

func prefixLines(prefix, s string) string {
	return prefix + strings.ReplaceAll(s, "\n", "\n"+prefix)
}

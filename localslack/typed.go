package localslack

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// typedText is a message as a person typed it, in the two forms in which Slack
// passes it on: escaped text and a rich_text block.
type typedText struct {
	text   string
	blocks []any
}

// element is one rich_text element.
type element = map[string]any

// names resolves what people write after @ and #; longer names win.
type names struct {
	people   []Person
	groups   []Usergroup
	channels []Channel
}

// writeAsPerson turns what was typed into what Slack stores: the three special
// characters are escaped, so that no one can type a control sequence, and
// mentions, channels and links become elements.
func writeAsPerson(typed string, n names) typedText {
	var out typedText
	var text strings.Builder
	var section []any
	flush := func() {
		if len(section) > 0 {
			out.blocks = append(out.blocks, element{"type": "rich_text_section", "elements": section})
			section = nil
		}
	}
	for i, part := range strings.Split(typed, "```") {
		if i%2 == 1 && i < strings.Count(typed, "```") {
			flush()
			code := strings.TrimPrefix(strings.TrimSuffix(part, "\n"), "\n")
			out.blocks = append(out.blocks, element{"type": "rich_text_preformatted", "elements": []any{element{"type": "text", "text": code}}})
			text.WriteString("```" + escape(part) + "```")
			continue
		}
		if i > 0 && i%2 == 1 {
			part = "```" + part // an opening without its end is text
		}
		for _, e := range n.inline(part) {
			section = append(section, e)
			text.WriteString(plainForm(e))
		}
	}
	flush()
	out.text = text.String()
	return out
}

var inlinePattern = regexp.MustCompile("`[^`\n]+`|https?://[^\\s<>|`]+|[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\\.[A-Za-z0-9.-]*[A-Za-z0-9]|[@#]")

// inline cuts a run of text into elements.
func (n names) inline(s string) []any {
	var out []any
	from := 0
	plain := func(to int) {
		if to > from {
			out = append(out, element{"type": "text", "text": s[from:to]})
		}
	}
	for at := 0; at < len(s); {
		loc := inlinePattern.FindStringIndex(s[at:])
		if loc == nil {
			break
		}
		start, end := at+loc[0], at+loc[1]
		e, size := n.element(s[start:end], s[end:])
		if e == nil {
			at = end
			continue
		}
		plain(start)
		out = append(out, e)
		from, at = end+size, end+size
	}
	plain(len(s))
	return out
}

// element reads one find; rest is what follows it and size how much of that it
// takes.
func (n names) element(found, rest string) (e element, size int) {
	switch {
	case found == "@":
		return n.mention(rest)
	case found == "#":
		return n.channel(rest)
	case found[0] == '`':
		return element{"type": "text", "text": strings.Trim(found, "`"), "style": element{"code": true}}, 0
	case strings.HasPrefix(found, "http"):
		return element{"type": "link", "url": found}, 0
	}
	return element{"type": "link", "url": "mailto:" + found, "text": found}, 0
}

func (n names) mention(rest string) (element, int) {
	type target struct {
		name string
		e    element
	}
	var all []target
	for _, p := range n.people {
		all = append(all, target{p.Name, element{"type": "user", "user_id": p.ID}}, target{p.RealName, element{"type": "user", "user_id": p.ID}})
	}
	for _, g := range n.groups {
		all = append(all, target{g.Handle, element{"type": "usergroup", "usergroup_id": g.ID}})
	}
	for _, word := range []string{"here", "channel", "everyone"} {
		all = append(all, target{word, element{"type": "broadcast", "range": word}})
	}
	slices.SortStableFunc(all, func(a, b target) int { return len(b.name) - len(a.name) })
	for _, t := range all {
		if startsWithName(rest, t.name) {
			return t.e, len(t.name)
		}
	}
	return nil, 0
}

func (n names) channel(rest string) (element, int) {
	var best element
	size := 0
	for _, c := range n.channels {
		if len(c.Name) > size && startsWithName(rest, c.Name) {
			best, size = element{"type": "channel", "channel_id": c.ID}, len(c.Name)
		}
	}
	return best, size
}

// startsWithName reports whether s begins with the name as a whole word. A
// name that ends outside ASCII ends itself: Chinese has no spaces.
func startsWithName(s, name string) bool {
	if name == "" || len(s) < len(name) || !strings.EqualFold(s[:len(name)], name) {
		return false
	}
	if name[len(name)-1] >= utf8.RuneSelf || len(s) == len(name) {
		return true
	}
	next := s[len(name)]
	return next >= utf8.RuneSelf || !isHandleByte(next)
}

func isHandleByte(b byte) bool {
	return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// plainForm is an element as it stands in the message's text.
func plainForm(e any) string {
	el, _ := e.(element)
	str := func(k string) string { s, _ := el[k].(string); return s }
	switch str("type") {
	case "user":
		return "<@" + str("user_id") + ">"
	case "usergroup":
		return "<!subteam^" + str("usergroup_id") + ">"
	case "broadcast":
		return "<!" + str("range") + ">"
	case "channel":
		return "<#" + str("channel_id") + "|>"
	case "link":
		if t := str("text"); t != "" {
			return "<" + escape(str("url")) + "|" + escape(t) + ">"
		}
		return "<" + escape(str("url")) + ">"
	}
	if el["style"] != nil {
		return "`" + escape(str("text")) + "`"
	}
	return escape(str("text"))
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escape writes the three characters that Slack's text gives a meaning.
func escape(s string) string { return escaper.Replace(s) }

// controlSequence finds what an app's text makes Slack interpret. The form of a date
// may hold spaces.
var controlSequence = regexp.MustCompile(`<(!date\^[0-9]+\^[^<>|]+|[@#!][^<>\s|]+|(?:https?|mailto|tel):[^<>\s|]+)(\|[^<>]*)?>`)

// storeText is an app's text as Slack keeps it: sequences stay, characters
// that belong to none are escaped.
func storeText(s string) string {
	var out strings.Builder
	from := 0
	for _, loc := range controlSequence.FindAllStringIndex(s, -1) {
		out.WriteString(escapeStray(s[from:loc[0]]))
		out.WriteString(s[loc[0]:loc[1]])
		from = loc[1]
	}
	out.WriteString(escapeStray(s[from:]))
	return out.String()
}

var strayAmp = regexp.MustCompile(`&(amp|lt|gt);|&`)

func escapeStray(s string) string {
	s = strayAmp.ReplaceAllStringFunc(s, func(m string) string {
		if len(m) > 1 {
			return m
		}
		return "&amp;"
	})
	return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s)
}

// sequences lists the control sequences of a text without brackets and labels:
// @U1, !channel, #C1, https://….
func sequences(s string) []string {
	var out []string
	for _, m := range controlSequence.FindAllStringSubmatch(s, -1) {
		out = append(out, m[1])
	}
	return out
}

// mentions reports whether the text mentions the person, with or without a
// label; U1 is not mentioned by <@U12>.
func mentions(text, user string) bool {
	return slices.Contains(sequences(text), "@"+user)
}

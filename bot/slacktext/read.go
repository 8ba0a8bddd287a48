package slacktext

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Message is what Slack delivers of a message.
type Message struct {
	// Text is escaped by Slack, with its control sequences.
	Text string
	// Blocks is the JSON list of blocks; nil if there are none.
	Blocks json.RawMessage
}

// Said is what a person said.
type Said struct {
	// Text is plain text: links as they were typed, names in place of ids,
	// code between fences with nothing changed inside. The mention that
	// addresses the bot is gone. It is untrusted.
	Text string
	// Mentioned reports whether the bot was addressed anywhere in the message.
	Mentioned bool
	// Word is the control word that the message consists of, if it is one.
	Word Word
}

// Reader reads messages.
type Reader struct {
	// Self is the bot's own user id.
	Self string
	// Name returns the display name of a user (U, W), channel (C, G, D) or
	// user group (S); "" if it is not known. Nil knows none.
	Name func(id string) string
}

// Read turns a message into plain text. Blocks tell more exactly than the text
// what was typed, so they are read if every one of them is understood; else
// the text is, which Slack always fills.
func (r Reader) Read(m Message) Said {
	parts, ok := r.readBlocks(m.Blocks)
	if !ok {
		parts = r.readText(m.Text)
	}
	said := Said{Text: assemble(parts)}
	for _, p := range parts {
		said.Mentioned = said.Mentioned || p.self
	}
	said.Word = ControlWord(said.Text)
	return said
}

// part is a stretch of text or one mention of the bot.
type part struct {
	text string
	self bool
}

// assemble joins the parts. Mentions of the bot at either end only address it
// and are dropped, with the punctuation that follows the first ones.
func assemble(parts []part) string {
	addressed := false
	for len(parts) > 0 && parts[0].dropped() {
		addressed = addressed || parts[0].self
		parts = parts[1:]
	}
	for len(parts) > 0 && parts[len(parts)-1].dropped() {
		parts = parts[:len(parts)-1]
	}
	var out strings.Builder
	for i, p := range parts {
		if i == 0 && addressed {
			p.text = strings.TrimLeftFunc(p.text, isBlank)
			p.text = strings.TrimLeft(p.text, ",:，：")
		}
		out.WriteString(p.text)
	}
	return trim(out.String())
}

// dropped reports whether a part at the end of a message says nothing: a mention
// of the bot, or space.
func (p part) dropped() bool { return p.self || trim(p.text) == "" }

// mention renders a user, a channel or a group with its id, because names are
// neither unique nor fixed. label is what Slack put beside the id.
func (r Reader) mention(sign, id, label string) part {
	name := ""
	if r.Name != nil {
		name = r.Name(id)
	}
	if name == "" {
		name = strings.TrimLeft(label, "@#")
	}
	if name = cleanName(name); name == "" {
		return part{text: sign + id, self: sign == "@" && id == r.Self && id != ""}
	}
	return part{text: sign + name + " (" + id + ")", self: sign == "@" && id == r.Self && id != ""}
}

// cleanName keeps a name on one line and short: names are chosen by people.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r != ' ' && !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, name)
	return Truncate(strings.Join(strings.Fields(name), " "), 80)
}

// link renders a link as it was typed if the label says the same as the
// target, else the label followed by the target.
func link(url, label string) string {
	switch {
	case label == "" || label == url:
		return strings.TrimPrefix(url, mailto(url))
	case sameTarget(label, url):
		return label
	}
	return label + " (" + strings.TrimPrefix(url, mailto(url)) + ")"
}

// mailto returns the scheme that Slack puts before mail addresses and phone
// numbers, which nobody typed.
func mailto(url string) string {
	for _, scheme := range []string{"mailto:", "tel:"} {
		if len(url) >= len(scheme) && strings.EqualFold(url[:len(scheme)], scheme) {
			return url[:len(scheme)]
		}
	}
	return ""
}

// sameTarget reports whether label is url as people write it: without the
// scheme or a final slash.
func sameTarget(label, url string) bool {
	bare := func(s string) string {
		for _, scheme := range []string{"https://", "http://", "mailto:", "tel:"} {
			if len(s) >= len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
				s = s[len(scheme):]
				break
			}
		}
		return strings.TrimSuffix(s, "/")
	}
	return bare(label) == bare(url)
}

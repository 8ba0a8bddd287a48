package slacktext

import "strings"

// readText reads Slack's escaped text. Everything between < and the next > is
// one of Slack's sequences: what people type of these two is escaped.
func (r Reader) readText(text string) []part {
	var parts []part
	for text != "" {
		before, rest, found := strings.Cut(text, "<")
		if before != "" {
			parts = append(parts, part{text: unescape(before)})
		}
		if !found {
			break
		}
		sequence, after, closed := strings.Cut(rest, ">")
		if !closed || sequence == "" || strings.Contains(sequence, "<") {
			parts = append(parts, part{text: "<"})
			text = rest
			continue
		}
		parts = append(parts, r.sequence(sequence))
		text = after
	}
	return parts
}

// sequence reads what stood between < and >.
func (r Reader) sequence(s string) part {
	target, label, _ := strings.Cut(s, "|")
	target, label = unescape(target), unescape(label)
	switch target[:min(1, len(target))] {
	case "@":
		return r.mention("@", target[1:], label)
	case "#":
		return r.mention("#", target[1:], label)
	case "!":
		return r.special(target[1:], label)
	case "":
		return part{text: label}
	}
	return part{text: link(target, label)}
}

// special reads a group, a date or a broadcast. A broadcast becomes the word
// that was typed; nobody is notified by it again.
func (r Reader) special(target, label string) part {
	name, argument, _ := strings.Cut(target, "^")
	switch {
	case name == "subteam":
		return r.mention("@", argument, label)
	case label != "":
		return part{text: label}
	case name == "date":
		seconds, _, _ := strings.Cut(argument, "^")
		return part{text: seconds}
	}
	return part{text: "@" + name}
}

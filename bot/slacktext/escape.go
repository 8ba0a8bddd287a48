package slacktext

import (
	"strings"
	"unicode/utf16"
)

// mark ends a text that was cut.
const mark = "…"

// Escape makes s inert inside Slack's text and mrkdwn fields. Exactly three
// characters are replaced, as Slack asks; full HTML escaping would be shown to
// people. It does not stop formatting characters such as * and `.
func Escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// unescape undoes Escape, once.
func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

// Units is the length of s by which all limits of this package count: UTF-16
// code units. Slack does not document its unit; this one is never smaller than
// the number of characters.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// Truncate cuts s to at most limit units, the mark "…" included, without
// breaking a character that people see as one.
func Truncate(s string, limit int) string {
	return truncate(s, limit, Units)
}

// TruncateEscaped is Truncate(Escape(s)), except that limit counts what is
// sent and no escape is cut in half.
func TruncateEscaped(s string, limit int) string {
	return Escape(truncate(s, limit, escapedUnits))
}

func escapedUnits(s string) int {
	return Units(s) + 4*strings.Count(s, "&") + 3*strings.Count(s, "<") + 3*strings.Count(s, ">")
}

func truncate(s string, limit int, units func(string) int) string {
	if units(s) <= limit {
		return s
	}
	room, end := limit-Units(mark), 0
	if room < 0 {
		return ""
	}
	for end < len(s) {
		n := clusterLen(s[end:])
		room -= units(s[end : end+n])
		if room < 0 {
			break
		}
		end += n
	}
	return s[:end] + mark
}

package tools

import (
	"fmt"
	"strings"
)

// repair undoes the slips of models that can be read in one way only: white
// space and a code fence around the value, a comma before a closing bracket, a
// raw control character inside a string. It never closes what is open: cut
// arguments stay unreadable.
func repair(text string) string {
	return relax(unfence(trim(text)))
}

// trim takes white space and a byte order mark off both ends.
func trim(text string) string {
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(text), "\ufeff"))
}

// unfence takes a ``` or ```json fence off, if it is both opened and closed.
func unfence(text string) string {
	const fence = "```"
	if len(text) < 2*len(fence) || !strings.HasPrefix(text, fence) || !strings.HasSuffix(text, fence) {
		return text
	}
	inner := text[len(fence) : len(text)-len(fence)]
	inner = strings.TrimLeft(inner, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	return trim(inner)
}

// relax escapes raw control characters inside strings and drops a comma that
// stands after a value and before a closing bracket.
func relax(text string) string {
	var b strings.Builder
	inString, last := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\' && i+1 < len(text) && text[i+1] >= ' ':
			b.WriteString(text[i : i+2])
			i++
			continue
		case inString && c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
			continue
		case c == '"':
			inString = !inString
		case !inString && c == ',' && closes(text[i+1:]) && strings.IndexByte("[{,:\x00", last) < 0:
			continue
		}
		if inString || !isSpace(c) {
			last = c
		}
		b.WriteByte(c)
	}
	return b.String()
}

// closes says that the next thing in text is a closing bracket.
func closes(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && (text[0] == '}' || text[0] == ']')
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

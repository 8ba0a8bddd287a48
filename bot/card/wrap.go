package card

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// wrapColumns is after how many columns a drawn line goes on in the next one.
// Wide characters take two.
const wrapColumns = 76

// goesOn ends a line that goes on in the next one. It cannot come from a drawn
// value, whose brackets are named.
const goesOn = "⟨…⟩"

// wrap breaks long lines of a drawn value. Every break is marked, so that no two
// values look the same.
func wrap(drawn string) string {
	lines := strings.Split(drawn, "\n")
	for i, l := range lines {
		lines[i] = wrapLine(l)
	}
	return strings.Join(lines, "\n")
}

func wrapLine(l string) string {
	if columns(l) <= wrapColumns {
		return l
	}
	var out strings.Builder
	used := 0
	for l != "" {
		n := atom(l)
		w := columns(l[:n])
		if used > 0 && used+w > wrapColumns-columns(goesOn) {
			out.WriteString(goesOn + "\n")
			used = 0
		}
		out.WriteString(l[:n])
		l, used = l[n:], used+w
	}
	return out.String()
}

// atom is the length of what must stay together at the head of a drawn line: a
// name in brackets, a character with its marks, an emoji with its skin, a flag.
func atom(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == '⟨' {
		if end := strings.Index(s, "⟩"); end > 0 {
			return end + len("⟩")
		}
	}
	first := r
	for n < len(s) {
		next, size := utf8.DecodeRuneInString(s[n:])
		pair := isFlag(first) && isFlag(next) && n == utf8.RuneLen(first)
		if !unicode.Is(unicode.M, next) && !(next >= 0x1F3FB && next <= 0x1F3FF) && !pair {
			break
		}
		n += size
	}
	return n
}

func isFlag(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// columns is how wide s is drawn in a font of fixed width.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch k := width.LookupRune(r).Kind(); {
		case unicode.Is(unicode.M, r):
		case k == width.EastAsianWide || k == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

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
	var out strings.Builder
	for wide(l) {
		end := breakAt(l, wrapColumns-columns(goesOn))
		out.WriteString(l[:end] + goesOn + "\n")
		l = l[end:]
	}
	return out.String() + l
}

// breakAt is where a line goes on in the next one: after the last space or comma
// of the last third, else wherever the columns are full.
func breakAt(l string, limit int) int {
	end, used, good := 0, 0, 0
	for end < len(l) {
		n := atom(l[end:])
		w := columns(l[end : end+n])
		if end > 0 && used+w > limit {
			break
		}
		end, used = end+n, used+w
		if used > limit*2/3 && strings.ContainsRune(" ,;，、。；", lastRune(l[:end])) {
			good = end
		}
	}
	if good > 0 {
		return good
	}
	return end
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
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

// wide says that a line does not fit; it does not read on beyond that.
func wide(l string) bool {
	n := 0
	for _, r := range l {
		if n += columns(string(r)); n > wrapColumns {
			return true
		}
	}
	return false
}

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

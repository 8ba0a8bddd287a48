package slacktext

import (
	"fmt"
	"strings"
	"unicode"
)

// soften names what must not act unseen in prose: bidirectional controls,
// other invisible characters, bytes that are not UTF-8. Unlike Draw it leaves
// what living text needs: joiners, variation selectors, spaces of every kind.
func soften(s string) string {
	var out strings.Builder
	prev := rune(0)
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if harmless(r, prev) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "⟨U+%04X⟩", r)
		}
		prev = r
	}
	return out.String()
}

// harmless reports whether r may stand in prose after prev.
func harmless(r, prev rune) bool {
	switch {
	case r == '\n', r == '\t', unicode.IsPrint(r), unicode.Is(unicode.Zs, r):
		return true
	case r == zeroWidthJoiner, r == zeroWidthNonJoiner:
		return prev > 0x7f
	case r >= 0xE0020 && r <= 0xE007F: // spells the region after a black flag
		return prev == 0x1F3F4 || prev >= 0xE0020 && prev <= 0xE007F
	}
	return false
}

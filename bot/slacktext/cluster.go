package slacktext

import (
	"unicode"
	"unicode/utf8"
)

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	// maxCluster bounds a cluster in runes: text that glues thousands of runes
	// together must still be cut somewhere. The longest emoji in use has ten.
	maxCluster = 32
)

// clusterLen returns the length in bytes of the first character of s as people
// see it: a letter with its marks, an emoji with its parts, a flag. It follows
// the Unicode rules for grapheme clusters (UAX #29) where they matter for
// cutting; where in doubt it keeps runes together. It is 0 only for "".
func clusterLen(s string) int {
	prev, end := utf8.DecodeRuneInString(s)
	if isControl(prev) && prev != '\r' {
		return end
	}
	flags := 0
	for count := 1; end < len(s) && count < maxCluster; count++ {
		next, n := utf8.DecodeRuneInString(s[end:])
		if isFlagLetter(prev) {
			flags++
		}
		if !joins(prev, next, flags) {
			break
		}
		prev, end = next, end+n
	}
	return end
}

// joins reports whether no cut is allowed between prev and next; flags counts
// the flag letters up to prev, which pair up.
func joins(prev, next rune, flags int) bool {
	switch {
	case prev == '\r':
		return next == '\n'
	case isControl(next):
		return false
	case extends(next) || prev == zeroWidthJoiner:
		return true
	case isFlagLetter(prev) && isFlagLetter(next):
		return flags%2 == 1
	}
	return joinsHangul(prev, next)
}

// isControl reports whether r stands alone whatever follows.
func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }

// extends reports whether r belongs to the character before it.
func extends(r rune) bool {
	switch {
	case r == zeroWidthJoiner, r == zeroWidthNonJoiner,
		r >= 0x1F3FB && r <= 0x1F3FF, // skin tones
		r >= 0xE0020 && r <= 0xE007F, // tags, which spell the flags of regions
		r == 0xFF9E, r == 0xFF9F:     // halfwidth voice marks
		return true
	}
	return unicode.Is(unicode.M, r)
}

func isFlagLetter(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// joinsHangul reports whether two runes are parts of one Korean syllable.
func joinsHangul(prev, next rune) bool {
	switch {
	case isLeadingJamo(prev):
		return isLeadingJamo(next) || isVowelJamo(next) || isSyllable(next)
	case isVowelJamo(prev), isSyllable(prev):
		return isVowelJamo(next) || isTrailingJamo(next)
	case isTrailingJamo(prev):
		return isTrailingJamo(next)
	}
	return false
}

func isLeadingJamo(r rune) bool { return r >= 0x1100 && r <= 0x115F || r >= 0xA960 && r <= 0xA97C }

func isVowelJamo(r rune) bool { return r >= 0x1160 && r <= 0x11A7 || r >= 0xD7B0 && r <= 0xD7C6 }

func isTrailingJamo(r rune) bool { return r >= 0x11A8 && r <= 0x11FF || r >= 0xD7CB && r <= 0xD7FB }

func isSyllable(r rune) bool { return r >= 0xAC00 && r <= 0xD7A3 }

package slacktext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Places where a text may be cut, best first.
const (
	afterParagraph = iota
	afterLine
	afterSentence
	afterWord
	places
)

// Split cuts s into parts of at most limit units, at the best place in the
// second half of each part: after a paragraph, a line, a sentence, a word, and
// if there is none of them between two characters. The parts joined are s.
// A single character longer than limit is cut between runes.
func Split(s string, limit int) []string {
	var parts []string
	for Units(s) > limit {
		end := cutPoint(s, max(limit, 2))
		parts = append(parts, s[:end])
		s = s[end:]
	}
	if s != "" {
		parts = append(parts, s)
	}
	return parts
}

// cutPoint returns where to cut s, which is longer than limit.
func cutPoint(s string, limit int) int {
	var best [places]int
	end, used := 0, 0
	for end < len(s) {
		n := clusterLen(s[end:])
		used += Units(s[end : end+n])
		if used > limit {
			break
		}
		end += n
		if p, ok := placeAt(s, end); ok && used > limit/2 {
			best[p] = end
		}
	}
	for _, at := range best {
		if at > 0 {
			return at
		}
	}
	if end == 0 {
		return runePrefix(s, limit)
	}
	return end
}

// placeAt classifies the position end of s as a place to cut.
func placeAt(s string, end int) (int, bool) {
	last, _ := utf8.DecodeLastRuneInString(s[:end])
	switch {
	case strings.HasSuffix(s[:end], "\n\n"):
		return afterParagraph, true
	case last == '\n':
		return afterLine, true
	case strings.ContainsRune("。！？；", last):
		return afterSentence, true
	case unicode.IsSpace(last):
		if strings.ContainsAny(strings.TrimSuffix(s[max(0, end-2):end], string(last)), ".!?;") {
			return afterSentence, true
		}
		return afterWord, true
	case strings.ContainsRune("，、：", last):
		return afterWord, true
	}
	return 0, false
}

// runePrefix returns the length of the longest prefix of whole runes within
// limit units, at least one rune.
func runePrefix(s string, limit int) int {
	end := 0
	for i, r := range s {
		width := Units(string(r))
		if i > 0 && width > limit {
			break
		}
		limit -= width
		_, n := utf8.DecodeRuneInString(s[i:])
		end = i + n
	}
	return end
}

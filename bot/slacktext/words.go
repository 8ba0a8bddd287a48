package slacktext

import (
	"strings"
	"unicode"
)

// Word is an order to the bot itself, typed instead of a request.
type Word string

// The control words. Only the exact word counts: "stop the deploy" is a
// request.
const (
	NoWord Word = ""
	Stop   Word = "stop"
	Status Word = "status"
	Help   Word = "help"
)

var controlWords = map[string]Word{
	"stop": Stop, "停止": Stop,
	"status": Status, "状态": Status,
	"help": Help, "帮助": Help,
}

// ControlWord returns the word that text consists of, whatever its case,
// surrounding space and final stop or exclamation mark.
func ControlWord(text string) Word {
	word := strings.TrimRight(trim(text), ".!。！")
	return controlWords[strings.ToLower(trim(word))]
}

// Straighten undoes the typography that phones and desktops put into commands:
// curly quotes become straight ones, long dashes become two hyphens and short
// dashes one. Use it on commands only, never on free text or code.
func Straighten(s string) string {
	return strings.NewReplacer(
		"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "＂", `"`,
		"‘", "'", "’", "'", "‚", "'", "‛", "'",
		"—", "--", "–", "-", "‑", "-", "−", "-",
		"\u00a0", " ", "\u3000", " ",
	).Replace(s)
}

// trim removes space of every kind from both ends, invisible ones included:
// pasted text brings no-break and zero-width spaces.
func trim(s string) string { return strings.TrimFunc(s, isBlank) }

func isBlank(r rune) bool {
	return unicode.IsSpace(r) || r >= '\u200b' && r <= '\u200f' || r == '\u2060' || r == '\ufeff'
}

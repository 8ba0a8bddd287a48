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

// ControlWord returns the word that text consists of; see CommandWord.
func ControlWord(text string) Word { return controlWords[CommandWord(text)] }

// CommandWord is an order as it was meant: in small letters, without the space around
// it, the quotes in which somebody found it, a flag's dashes and a final mark, in
// whatever typography a phone or a desktop put them.
func CommandWord(text string) string {
	return strings.ToLower(strings.TrimFunc(text, func(r rune) bool { return isBlank(r) || strings.ContainsRune(around, r) }))
}

// around is what may stand around an order.
const around = "\"'“”„‟＂‘’‚‛«»「」" + "-‐‑‒–—―−" + ".!。！"

// trim removes space of every kind from both ends, invisible ones included:
// pasted text brings no-break and zero-width spaces.
func trim(s string) string { return strings.TrimFunc(s, isBlank) }

func isBlank(r rune) bool {
	return unicode.IsSpace(r) || r >= '\u200b' && r <= '\u200f' || r == '\u2060' || r == '\ufeff'
}

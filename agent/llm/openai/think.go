package openai

import (
	"regexp"
	"strings"
)

// thinkOpen is an opening tag of thinking at the head of a text.
var thinkOpen = regexp.MustCompile(`\A\s*<(think|thinking|thought|reasoning)>`)

// thinkClose is a closing tag, wherever.
var thinkClose = regexp.MustCompile(`</(?:think|thinking|thought|reasoning)>`)

// splitThinking parts a text from thinking that the server left in it: blocks at
// its head, and a head that ends in a closing tag whose opening one is missing.
// Tags within code stay: there they are what the text is about.
func splitThinking(s string) (text, thinking string) {
	text = s
	for {
		open := thinkOpen.FindStringSubmatchIndex(text)
		if open == nil {
			break
		}
		tag := text[open[2]:open[3]]
		inner, rest, closed := balanced(text[open[1]:], tag)
		thinking = joined(thinking, inner)
		if !closed {
			return "", thinking
		}
		text = rest
	}
	if at := closingOnly(text); at != nil {
		thinking, text = joined(thinking, text[:at[0]]), text[at[1]:]
	}
	return strings.TrimSpace(text), thinking
}

// balanced cuts at the closing tag that belongs to the tag opened before s.
func balanced(s, tag string) (inner, rest string, closed bool) {
	depth := 1
	for at := 0; at < len(s); {
		i := strings.IndexByte(s[at:], '<')
		if i < 0 {
			break
		}
		at += i
		switch {
		case strings.HasPrefix(s[at:], "</"+tag+">"):
			if depth--; depth == 0 {
				return s[:at], s[at+len(tag)+3:], true
			}
		case strings.HasPrefix(s[at:], "<"+tag+">"):
			depth++
		}
		at++
	}
	if i := strings.Index(s, "</"+tag+">"); i >= 0 { // an opening tag too many: the first closing one ends it
		return s[:i], s[i+len(tag)+3:], true
	}
	return s, "", false
}

// closingOnly finds the last closing tag outside code that has no opening one before it.
func closingOnly(s string) []int {
	var found []int
	for _, at := range thinkClose.FindAllStringIndex(s, -1) {
		tag := strings.Trim(s[at[0]:at[1]], "</>")
		if !inCode(s, at[0]) && !strings.Contains(s[:at[0]], "<"+tag+">") {
			found = at
		}
	}
	return found
}

// inCode says whether a place is within a fenced block or code in a line.
func inCode(s string, at int) bool {
	line := strings.LastIndexByte(s[:at], '\n') + 1
	fenced := false
	for _, l := range strings.Split(s[:line], "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
		}
	}
	if fenced {
		return true
	}
	end := len(s)
	if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
		end = at + i
	}
	return strings.Count(s[line:at], "`")%2 == 1 && strings.Contains(s[at:end], "`")
}

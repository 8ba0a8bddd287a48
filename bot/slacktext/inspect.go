package slacktext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// WarningKind says what is suspicious about a value.
type WarningKind string

// Kinds of warnings.
const (
	// MixedScripts: one word, path part or host mixes Latin, Cyrillic, Greek
	// or another alphabet whose letters look alike.
	MixedScripts WarningKind = "mixed_scripts"
	// Lookalike: letters that are shaped as others, such as fullwidth or
	// mathematical ones, stand in a word.
	Lookalike WarningKind = "lookalike"
	// RightToLeft: the value has right-to-left letters, so that it is not
	// shown in the order in which it is read by a program.
	RightToLeft WarningKind = "right_to_left"
	// Hidden: Draw names at least one character.
	Hidden WarningKind = "hidden"
)

// Warning is one suspicious thing in a value.
type Warning struct {
	Kind WarningKind
	// Part is the word, path part or host, as Draw draws it; "" where the
	// warning is about the whole value.
	Part string
}

// maxWarnings bounds what Inspect returns; a card needs no more.
const maxWarnings = 8

// Inspect looks for what a person cannot see in the drawing of s. Ordinary
// text of several languages raises nothing: letters of different alphabets are
// a warning only inside one word, path part or host.
func Inspect(s string) []Warning {
	var found []Warning
	note := func(kind WarningKind, part string) {
		w := Warning{Kind: kind, Part: Truncate(Draw(part), 80)}
		for _, old := range found {
			if old == w {
				return
			}
		}
		if len(found) < maxWarnings {
			found = append(found, w)
		}
	}
	if Draw(s) != s {
		note(Hidden, "")
	}
	if strings.ContainsFunc(s, isRightToLeft) {
		note(RightToLeft, "")
	}
	for _, field := range strings.FieldsFunc(s, endsField) {
		if host := hostOf(field); len(alphabets(host)) > 1 {
			note(MixedScripts, host)
		}
		for _, word := range strings.FieldsFunc(field, endsWord) {
			if len(alphabets(word)) > 1 {
				note(MixedScripts, word)
			}
			if strings.ContainsFunc(word, isLookalike) {
				note(Lookalike, word)
			}
		}
	}
	return found
}

// endsField reports whether r cannot be inside a URL or path.
func endsField(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'<>(),;`, r) }

// endsWord reports whether r separates the words of a path, host or
// identifier. The underscore and the hyphen do not: a_b is one name.
func endsWord(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
}

// hostOf returns the host of a URL, of a mail address or of a bare name with a
// port; "" if s has none.
func hostOf(s string) string {
	_, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		rest = s
	}
	rest, _, _ = strings.Cut(rest, "/")
	_, domain, isMail := strings.Cut(rest, "@")
	if isMail {
		rest = domain
	}
	if !isURL && !isMail {
		return ""
	}
	host, _, _ := strings.Cut(rest, ":")
	return host
}

// confusable lists the alphabets that borrow each other's shapes.
var confusable = map[string]*unicode.RangeTable{
	"Latin": unicode.Latin, "Cyrillic": unicode.Cyrillic, "Greek": unicode.Greek, "Armenian": unicode.Armenian,
	"Cherokee": unicode.Cherokee, "Coptic": unicode.Coptic, "Lisu": unicode.Lisu, "Georgian": unicode.Georgian,
}

// alphabets returns which of the confusable alphabets s uses.
func alphabets(s string) map[string]bool {
	used := map[string]bool{}
	for _, r := range s {
		if r < utf8.RuneSelf && unicode.IsLetter(r) {
			used["Latin"] = true
			continue
		}
		for name, table := range confusable {
			if r >= utf8.RuneSelf && unicode.IsLetter(r) && unicode.Is(table, r) {
				used[name] = true
			}
		}
	}
	return used
}

// isLookalike reports whether r is another spelling of ASCII letters or
// digits, as Unicode's compatibility mapping says.
func isLookalike(r rune) bool {
	if r < utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return false
	}
	plain := norm.NFKC.String(string(r))
	return plain != string(r) && strings.IndexFunc(plain, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// isRightToLeft reports whether r is a letter that is written from right to
// left.
func isRightToLeft(r rune) bool {
	return r >= 0x0590 && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko,
		unicode.Samaritan, unicode.Mandaic, unicode.Adlam, unicode.Mende_Kikakui, unicode.Hanifi_Rohingya)
}

package words

import "unicode"

// Guess says in which of our languages a text is written: Chinese where it has at least
// as many Han characters as words in other letters. A name or a column in the other
// language does not turn a request around.
func Guess(text string) string {
	han, others, inside := 0, 0, false
	for _, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' || r == '-'
		switch {
		case unicode.Is(unicode.Han, r):
			han++
			inside = false
		case letter && !inside && unicode.IsLetter(r):
			others++
			inside = true
		case !letter:
			inside = false
		}
	}
	if han > 0 && han >= others {
		return "zh"
	}
	return Fallback
}

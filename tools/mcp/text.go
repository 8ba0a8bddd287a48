package mcp

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// draw makes visible what a reader could not see: controls, bidirectional marks,
// zero-width and unassigned characters, as ⟨U+202E⟩. Invalid bytes become U+FFFD.
func draw(text string) string {
	return drawn(text, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) })
}

// drawControls is draw for results, which may be of any script: only characters that
// no text holds, such as NUL and escapes of terminals, are drawn.
func drawControls(text string) string {
	return drawn(text, unicode.IsControl)
}

func drawn(text string, hidden func(rune) bool) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	var b strings.Builder
	for _, r := range text {
		if r != '\n' && r != '\t' && hidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cut shortens a text by characters and says so.
func cut(text string, limit int) string {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text
	}
	return string([]rune(text)[:limit]) + fmt.Sprintf("…(+%d characters)", n-limit)
}

// oneLine is the head of a text, for a place that has one line.
func oneLine(text string, limit int) string {
	return cut(strings.Join(strings.Fields(draw(text)), " "), limit)
}

// pretty writes a value for the model.
func pretty(value any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return "(" + err.Error() + ")"
	}
	return strings.TrimSpace(b.String())
}

// masker hides declared credentials in whatever a server says.
type masker struct{ replacer *strings.Replacer }

// secretLength is the shortest value that is masked: shorter ones ("1", "true") are no
// secrets and would mask half of the text.
const secretLength = 8

// newMasker takes the values of headers, and of headers also what stands behind the
// scheme ("Bearer …"). Of the environment it takes what is a credential by its name or
// its look: folders and regions may stand in any answer.
func newMasker(cfg Config) masker {
	var secrets []string
	hide := func(value string) {
		if len(value) >= secretLength {
			secrets = append(secrets, value)
		}
	}
	for _, value := range cfg.Headers {
		hide(value)
		_, credential, _ := strings.Cut(value, " ")
		hide(strings.TrimSpace(credential))
	}
	for name, value := range cfg.Env {
		if secretName.MatchString(name) || looksRandom(value) {
			hide(value)
		}
		if u, err := url.Parse(value); err == nil && u.User != nil {
			password, _ := u.User.Password()
			hide(password)
		}
	}
	if _, query, ok := strings.Cut(cfg.URL, "?"); ok {
		hide(query)
	}
	// The longest first, so that a part never uncovers the rest of a whole.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret, "•••")
	}
	return masker{strings.NewReplacer(pairs...)}
}

var secretName = regexp.MustCompile(`(?i)token|key|secret|pass|pwd|auth|cred|private|cookie|session|dsn`)

// looksRandom says whether a value is like what generators of keys make.
func looksRandom(value string) bool {
	return len(value) >= 20 && !strings.ContainsAny(value, " /\\:") &&
		strings.ContainsAny(value, "0123456789") && strings.ContainsFunc(value, unicode.IsLetter)
}

func (m masker) mask(text string) string { return m.replacer.Replace(text) }

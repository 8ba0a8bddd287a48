package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	refusalRunes = 2000 // of an error answer
	fieldRunes   = 200  // of one field on a card
)

// text is the body for the model: JSON with sorted members, other text as it is.
func (t *tool) text(a answer) string {
	body := string(bytes.TrimSpace(a.body))
	if value, err := decode(a.body); err == nil && !a.cut {
		body = pretty(value)
	} else if a.cut {
		body = trimRune(body)
	}
	if !utf8.ValidString(body) || strings.ContainsRune(body, 0) {
		return fmt.Sprintf("(%d bytes of %s, not text)", len(a.body), cut(a.headers.Get("Content-Type"), 60))
	}
	body = t.mask(body)
	switch {
	case a.cut:
		body += fmt.Sprintf("\n(cut after %d bytes)", len(a.body))
	case a.broken:
		body += "\n(the answer broke off here)"
	}
	return body
}

// trimRune drops the half of a character at a cut.
func trimRune(text string) string {
	for i := 0; i < utf8.UTFMax && len(text) > 0; i++ {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size > 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text
}

// decode reads one JSON value, numbers as written.
func decode(body []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return value, nil
}

// pretty writes a value with sorted members, so that the same answer reads the same.
func pretty(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// compact writes a value on one line.
func compact(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// lookup follows a dotted path through objects and lists.
func lookup(value any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch at := value.(type) {
		case map[string]any:
			next, ok := at[name]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			value = at[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// cut shortens a text by characters and says so.
func cut(text string, limit int) string {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text
	}
	return string([]rune(text)[:limit]) + fmt.Sprintf("…(+%d characters)", n-limit)
}

// pathOf is the path of an address, for one line.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return cut(u.EscapedPath(), fieldRunes)
}

// withoutQuery is an address without its query, which may hold what was searched for.
func withoutQuery(address string) string {
	before, _, _ := strings.Cut(address, "?")
	return before
}

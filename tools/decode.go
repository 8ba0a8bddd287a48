package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deeply arguments may nest. Nothing sensible comes near it,
// and it keeps every walk over a value shallow.
const maxDepth = 64

// Why a text is not taken as JSON. A truncated text is told apart because it
// must never be repaired.
var (
	errTruncated = errors.New("it ends too early, as if it had been cut off")
	errEncoding  = errors.New("it holds bytes that are not UTF-8 text")
	errSurrogate = errors.New(`it holds half of a \uD800–\uDFFF pair, which is no character`)
	errDepth     = fmt.Errorf("it nests deeper than %d levels", maxDepth)
)

// duplicateError says that an object names one property twice, so that readers
// could disagree about its value.
type duplicateError struct{ pointer string }

func (e *duplicateError) Error() string { return "the property is given twice" }

// decode reads exactly one JSON value and keeps what it says: numbers stay
// json.Number, a name given twice is an error, and so is text that would have to
// be replaced to become valid.
func decode(text string) (any, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return nil, describeSyntax(err, text)
	}
	d := decoder{json.NewDecoder(strings.NewReader(text))}
	d.UseNumber()
	return d.value(nil)
}

// describeSyntax names the place by what stands before it: a model finds that
// more easily than a byte offset.
func describeSyntax(err error, text string) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	if syntax.Offset >= int64(len(text)) && !json.Valid([]byte(text)) && endsEarly(text) {
		return errTruncated
	}
	at := min(max(int(syntax.Offset)-1, 0), len(text))
	return fmt.Errorf("%w (after %q)", err, tail(text[:at], 30))
}

// endsEarly says that some text appended could still make it valid: the
// scanner ran out of input and found nothing wrong before.
func endsEarly(text string) bool {
	dec := json.NewDecoder(strings.NewReader(text))
	var v json.RawMessage
	err := dec.Decode(&v)
	var syntax *json.SyntaxError
	return err != nil && !errors.As(err, &syntax)
}

// checkText refuses what the standard decoder would silently replace by U+FFFD.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return errEncoding
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		unit, ok := escapedUnit(text, i)
		if !ok || unit < 0xD800 || unit > 0xDFFF {
			continue
		}
		low, paired := uint64(0), false
		if i+5 < len(text) && text[i+5] == '\\' {
			low, paired = escapedUnit(text, i+6)
		}
		if unit >= 0xDC00 || !paired || low < 0xDC00 || low > 0xDFFF {
			return errSurrogate
		}
		i += 10
	}
	return nil
}

// escapedUnit reads the four digits of an escape whose u stands at i.
func escapedUnit(text string, i int) (uint64, bool) {
	if i+5 > len(text) || text[i] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(text[i+1:i+5], 16, 16)
	return unit, err == nil
}

// decoder walks the tokens of a text that is known to be valid JSON.
type decoder struct{ *json.Decoder }

func (d decoder) value(path []string) (any, error) {
	if len(path) > maxDepth {
		return nil, errDepth
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return d.object(path)
		}
		return d.array(path)
	case json.Number:
		_, err := plainNumber(t)
		return t, err
	default:
		return t, nil
	}
}

func (d decoder) object(path []string) (any, error) {
	m := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // a valid text has nothing else here
		inner := append(path[:len(path):len(path)], name)
		if _, twice := m[name]; twice {
			return nil, &duplicateError{pointer(inner)}
		}
		if m[name], err = d.value(inner); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return m, err
}

func (d decoder) array(path []string) (any, error) {
	list := []any{}
	for d.More() {
		v, err := d.value(append(path[:len(path):len(path)], strconv.Itoa(len(list))))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

// pointer is the JSON pointer (RFC 6901) of a path.
func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}

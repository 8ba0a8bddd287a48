package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// maxNumber is how many characters a number may have once it is written out.
// It covers every float64, and keeps a short text such as 1e999999999 from
// becoming gigabytes in arithmetic.
const maxNumber = 400

var errNumber = fmt.Errorf("it holds a number that is longer than %d digits when written out", maxNumber)

// Canonical is the one way in which a JSON value is written, in the manner of
// RFC 8785: names sorted by UTF-16 code units, no white space, the shortest
// escapes. Unlike there, numbers keep every digit: they are written out without
// exponent and without zeros that say nothing (1.50 and 15e-1 are 1.5).
// Strings are not touched: two spellings of one character stay two.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	v, err := decode(string(raw))
	if err != nil {
		return nil, err
	}
	return encode(v), nil
}

// encode writes a decoded value in canonical form.
func encode(v any) json.RawMessage { return appendValue(nil, v) }

func appendValue(out []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		return appendObject(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendValue(out, item)
		}
		return append(out, ']')
	case string:
		return appendString(out, v)
	case json.Number:
		plain, err := plainNumber(v)
		if err != nil {
			plain = v.String() // decode has refused it already
		}
		return append(out, plain...)
	case bool:
		return fmt.Appendf(out, "%t", v)
	default:
		return append(out, "null"...)
	}
}

func appendObject(out []byte, m map[string]any) []byte {
	out = append(out, '{')
	for i, name := range slices.SortedFunc(maps.Keys(m), compareUTF16) {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendString(out, name)
		out = append(out, ':')
		out = appendValue(out, m[name])
	}
	return append(out, '}')
}

// compareUTF16 is the order of RFC 8785; it differs from that of the bytes
// beyond the basic plane.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// shortEscapes are the control characters that JSON has a letter for.
var shortEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

// appendString escapes what JSON demands and nothing else.
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		if short, ok := shortEscapes[r]; ok {
			out = append(out, short...)
		} else if r < ' ' {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, string(r)...)
		}
	}
	return append(out, '"')
}

// plainNumber writes a JSON number out: no exponent, no leading or trailing
// zeros that say nothing, every digit kept.
func plainNumber(n json.Number) (string, error) {
	digits, point, negative, err := splitNumber(n.String())
	if err != nil {
		return "", err
	}
	if digits == "" {
		return "0", nil
	}
	var plain string
	switch {
	case point <= 0:
		plain = "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		plain = digits + strings.Repeat("0", point-len(digits))
	default:
		plain = digits[:point] + "." + digits[point:]
	}
	if len(plain) > maxNumber {
		return "", errNumber
	}
	if negative {
		plain = "-" + plain
	}
	return plain, nil
}

// splitNumber takes a number apart: its significant digits, where the point
// stands among them (0: before the first), and its sign.
func splitNumber(text string) (digits string, point int, negative bool, err error) {
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		if exponent, err = smallInt(text[i+1:]); err != nil {
			return "", 0, false, err
		}
	}
	mantissa, negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	point = len(whole) + exponent - (len(whole+fraction) - len(digits))
	return strings.TrimRight(digits, "0"), point, negative, nil
}

// smallInt reads an exponent; one beyond what maxNumber allows is refused.
func smallInt(text string) (int, error) {
	text = strings.TrimPrefix(text, "+")
	n, negative := 0, strings.HasPrefix(text, "-")
	for _, c := range strings.TrimPrefix(text, "-") {
		if c < '0' || c > '9' {
			return 0, errors.New("it holds a malformed number")
		}
		if n = n*10 + int(c-'0'); n > 2*maxNumber {
			return 0, errNumber
		}
	}
	if negative {
		n = -n
	}
	return n, nil
}

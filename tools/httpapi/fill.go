package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"countersign/tools"
)

// filled is a request ready to be sent, apart from its headers.
type filled struct {
	method string
	url    string
	body   []byte // JSON; nil: none
}

// fill puts the arguments in. With rest, those that the URL does not take follow in
// the query or the body; without, they are left out.
func (t template) fill(raw json.RawMessage, rest bool) (filled, error) {
	args, err := readArguments(raw)
	if err != nil {
		return filled{}, err
	}
	path, err := t.fillPath(args)
	if err != nil {
		return filled{}, err
	}
	pairs, err := t.fillQuery(args)
	if err != nil {
		return filled{}, err
	}
	f := filled{method: t.method}
	if rest && t.body != nil {
		if f.body, err = t.fillBody(args); err != nil {
			return filled{}, err
		}
	} else if rest {
		more, err := t.fillRest(args, &f)
		if err != nil {
			return filled{}, err
		}
		pairs = append(pairs, more...)
	}
	f.url = t.base.Scheme + "://" + t.base.Host + path
	if len(pairs) > 0 {
		f.url += "?" + strings.Join(pairs, "&")
	}
	return f, nil
}

func readArguments(raw json.RawMessage) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, &tools.Failure{Code: "invalid_arguments", Message: "The arguments are not a JSON object."}
		}
	}
	return args, nil
}

func (t template) fillPath(args map[string]json.RawMessage) (string, error) {
	var b strings.Builder
	for _, p := range t.path {
		b.WriteByte('/')
		if p.argument == "" {
			b.WriteString(p.fixed)
			continue
		}
		value, err := scalar(p.argument, args[p.argument])
		if err == nil {
			err = checkSegment(p.argument, value)
		}
		if err != nil {
			return "", err
		}
		b.WriteString(encode(value))
	}
	return b.String(), nil
}

func (t template) fillQuery(args map[string]json.RawMessage) ([]string, error) {
	var pairs []string
	for _, q := range t.query {
		if q.value.argument == "" {
			pairs = append(pairs, q.key+"="+q.value.fixed)
			continue
		}
		raw, given := args[q.value.argument]
		if !given {
			continue
		}
		value, err := queryValue(q.value.argument, raw)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, q.key+"="+encode(value))
	}
	return pairs, nil
}

// fillRest places what is not in the URL: into the query of reading requests, else into the body.
func (t template) fillRest(args map[string]json.RawMessage, f *filled) ([]string, error) {
	rest := map[string]json.RawMessage{}
	for name, raw := range args {
		if !slices.Contains(t.fills, name) {
			rest[name] = raw
		}
	}
	if reads(t.method) {
		return t.restPairs(rest)
	}
	if len(rest) == 0 && t.method == http.MethodDelete {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rest); err != nil {
		return nil, &tools.Failure{Code: "invalid_arguments", Message: "The arguments cannot be written as JSON."}
	}
	f.body = bytes.TrimSpace(b.Bytes())
	return nil, nil
}

// restPairs are query values by the arguments' own names, which may not be one that the
// URL itself gives: services differ in which of two values counts.
func (t template) restPairs(rest map[string]json.RawMessage) ([]string, error) {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if t.takes(name) {
			return nil, invalid(name, "has the name of a value that the address gives itself")
		}
		var list []json.RawMessage
		if json.Unmarshal(rest[name], &list) != nil {
			list = []json.RawMessage{rest[name]}
		}
		for _, raw := range list {
			value, err := queryValue(name, raw)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, encode(name)+"="+encode(value))
		}
	}
	return pairs, nil
}

// scalar writes a string, number or boolean as text, numbers digit by digit as they came.
func scalar(name string, raw json.RawMessage) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if len(raw) == 0 || dec.Decode(&value) != nil {
		return "", invalid(name, "is missing")
	}
	switch value := value.(type) {
	case string:
		return value, nil
	case json.Number:
		return value.String(), nil
	case bool:
		return fmt.Sprint(value), nil
	default:
		return "", invalid(name, "must be a text, a number or a boolean, as it becomes a part of the address")
	}
}

// maxValue is the most bytes that one argument may add to an address.
const maxValue = 2048

func queryValue(name string, raw json.RawMessage) (string, error) {
	value, err := scalar(name, raw)
	if err != nil {
		return "", err
	}
	if len(value) > maxValue || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return "", invalid(name, "may not hold control characters or more than 2,048 bytes")
	}
	return value, nil
}

// percentEncoded is what a server that decodes twice would read as another character.
var percentEncoded = regexp.MustCompile("%[0-9A-Fa-f]{2}")

// checkSegment refuses values that could leave their path segment on any server,
// also on one that decodes twice.
func checkSegment(name, value string) error {
	plain := norm.NFKC.String(value) // as servers read ．． and ％２ｆ that normalise
	switch {
	case value == "":
		return invalid(name, "may not be empty")
	case strings.Trim(plain, ".; ") == "" || strings.HasPrefix(plain, "..;"):
		return invalid(name, "may not be . or ..")
	case strings.ContainsAny(plain, `/\∕⁄`):
		return invalid(name, "may not hold slashes or backslashes")
	case percentEncoded.MatchString(plain):
		return invalid(name, "may not hold percent-encoded characters")
	case len(value) > maxValue || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return invalid(name, "may not hold control characters or more than 2,048 bytes")
	}
	return nil
}

func invalid(name, what string) *tools.Failure {
	return &tools.Failure{Code: "invalid", Message: "The argument " + name + " " + what + ".", Pointer: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)}
}

// encode percent-encodes everything but the unreserved characters of RFC 3986.
func encode(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

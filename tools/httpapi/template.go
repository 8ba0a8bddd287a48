package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"countersign/tools"
)

// template is a request with places for arguments.
type template struct {
	method string
	base   url.URL // scheme and host
	path   []part
	query  []queryPart
	fills  []string // arguments that the path and the query take
}

// part is one path segment or query value: fixed text, or an argument.
type part struct {
	fixed    string // percent-encoded
	argument string
}

type queryPart struct {
	key   string // percent-encoded
	value part
}

func (t template) origin() string { return t.base.Scheme + "://" + strings.ToLower(t.base.Host) }

// parameters is the tool's JSON Schema as far as templates need it.
type parameters struct {
	schema   json.RawMessage
	names    []string
	required []string
}

// readParameters reads the schema and closes it: arguments that are not declared are refused.
func readParameters(raw json.RawMessage) (parameters, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	var object map[string]json.RawMessage
	var shape struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(raw, &object) != nil || json.Unmarshal(raw, &shape) != nil || shape.Type != "object" {
		return parameters{}, errors.New("parameters must be a JSON Schema of type object")
	}
	if _, said := object["additionalProperties"]; !said {
		object["additionalProperties"] = json.RawMessage("false")
	}
	schema, err := json.Marshal(object)
	if err != nil {
		return parameters{}, fmt.Errorf("parameters: %w", err)
	}
	p := parameters{schema: schema, required: shape.Required}
	for name := range shape.Properties {
		p.names = append(p.names, name)
	}
	slices.Sort(p.names)
	return p, nil
}

// mentionedIn says whether a text holds a place for an argument.
func (p parameters) mentionedIn(text string) bool {
	return slices.ContainsFunc(p.names, func(name string) bool { return strings.Contains(text, "{"+name+"}") })
}

// parseTemplate reads a method and a URL. Braces may stand for a whole path segment
// or a whole query value and nowhere else.
func parseTemplate(method, text string, params parameters) (template, error) {
	t := template{method: strings.ToUpper(method)}
	if t.method == "" {
		t.method = http.MethodGet
	}
	if !slices.Contains(methods, t.method) {
		return t, fmt.Errorf("method %q is not one of %s", method, strings.Join(methods, ", "))
	}
	scheme, rest, _ := strings.Cut(text, "://")
	host, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, tail = rest[:i], rest[i:]
	}
	if err := t.setOrigin(scheme, host); err != nil {
		return t, err
	}
	if strings.Contains(tail, "#") {
		return t, errors.New("the url may not have a fragment")
	}
	path, query, _ := strings.Cut(tail, "?")
	if err := t.setPath(path, params); err != nil {
		return t, err
	}
	return t, t.setQuery(query, params)
}

func (t *template) setOrigin(scheme, host string) error {
	if strings.ContainsAny(scheme+host, "{}") {
		return errors.New("scheme and host of the url cannot come from arguments")
	}
	u, err := url.Parse(scheme + "://" + host)
	if err != nil || scheme != "http" && scheme != "https" || u.Hostname() == "" {
		return errors.New("the url must start with http:// or https:// and a host")
	}
	if u.User != nil {
		return errors.New("the url may not hold a user or password; use a header")
	}
	t.base = url.URL{Scheme: scheme, Host: u.Host}
	return nil
}

func (t *template) setPath(path string, params parameters) error {
	if path == "" {
		path = "/"
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		p, err := t.read(segment, params, url.PathUnescape)
		if err != nil {
			return err
		}
		if decoded, _ := url.PathUnescape(p.fixed); decoded == "." || decoded == ".." {
			return errors.New("the url's path may not hold . or ..")
		}
		if p.argument != "" && !slices.Contains(params.required, p.argument) {
			return fmt.Errorf("the argument %q stands in the path and must be required", p.argument)
		}
		t.path = append(t.path, p)
	}
	return nil
}

func (t *template) setQuery(query string, params parameters) error {
	if query == "" {
		return nil
	}
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		decoded, err := url.QueryUnescape(key)
		if err != nil || decoded == "" || strings.ContainsAny(decoded, "{}") {
			return fmt.Errorf("the query of the url cannot be read at %q", key)
		}
		p, err := t.read(value, params, url.QueryUnescape)
		if err != nil {
			return err
		}
		t.query = append(t.query, queryPart{key: encode(decoded), value: p})
	}
	return nil
}

// read reads one segment or value.
func (t *template) read(text string, params parameters, decode func(string) (string, error)) (part, error) {
	if name, ok := strings.CutPrefix(text, "{"); ok {
		name, ok = strings.CutSuffix(name, "}")
		switch {
		case !ok || !slices.Contains(params.names, name):
			return part{}, fmt.Errorf("%q in the url is not an argument", text)
		case slices.Contains(t.fills, name):
			return part{}, fmt.Errorf("the argument %q stands twice in the url", name)
		}
		t.fills = append(t.fills, name)
		return part{argument: name}, nil
	}
	if strings.ContainsAny(text, "{}") {
		return part{}, fmt.Errorf("%q in the url: an argument must fill a whole path segment or query value", text)
	}
	decoded, err := decode(text)
	if err != nil {
		return part{}, fmt.Errorf("the url cannot be read at %q", text)
	}
	return part{fixed: encode(decoded)}, nil
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

// filled is a request ready to be sent, apart from its headers.
type filled struct {
	method string
	url    string
	body   []byte // JSON; nil: none
}

// fill puts the arguments in. Only those that the preview's own URL does not take
// are left out when rest is false.
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
	if rest {
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
		return restPairs(rest)
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

func restPairs(rest map[string]json.RawMessage) ([]string, error) {
	names := make([]string, 0, len(rest))
	for name := range rest {
		names = append(names, name)
	}
	slices.Sort(names)
	var pairs []string
	for _, name := range names {
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

// checkSegment refuses values that could leave their path segment on any server,
// also on one that decodes twice.
func checkSegment(name, value string) error {
	lower := strings.ToLower(value)
	switch {
	case value == "":
		return invalid(name, "may not be empty")
	case strings.Trim(value, ".;") == "" || strings.HasPrefix(value, "..;"):
		return invalid(name, "may not be . or ..")
	case strings.ContainsAny(value, `/\`), strings.ContainsAny(value, "∕⁄／＼"):
		return invalid(name, "may not hold slashes or backslashes")
	case strings.Contains(lower, "%2f"), strings.Contains(lower, "%5c"), strings.Contains(lower, "%2e"), strings.Contains(lower, "%25"), strings.Contains(lower, "%00"):
		return invalid(name, "may not hold percent-encoded characters")
	case len(value) > maxValue || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return invalid(name, "may not hold control characters or more than 2,048 bytes")
	}
	return nil
}

func invalid(name, what string) *tools.Failure {
	return &tools.Failure{Code: "invalid", Message: "The argument " + name + " " + what + ".", Pointer: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)}
}

package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// template is a request with places for arguments.
type template struct {
	method string
	base   url.URL // scheme and host
	path   []part
	query  []queryPart
	fills  []string // arguments that the path, the query and the declared body take
	body   any      // declared body; nil: what the URL does not take is the body
	keyed  bool     // the body takes the idempotency key
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

// takes says whether the query has a value of that name, in any of the spellings that
// services take for one: in capitals, or as the first of a list.
func (t template) takes(name string) bool {
	name, _, _ = strings.Cut(name, "[")
	return slices.ContainsFunc(t.query, func(q queryPart) bool {
		key, _ := url.QueryUnescape(q.key)
		key, _, _ = strings.Cut(key, "[")
		return strings.EqualFold(strings.TrimSpace(key), strings.TrimSpace(name))
	})
}

// checkNames refuses arguments that would go into the query under a name that is there.
func (t template) checkNames(params parameters) error {
	for _, name := range params.names {
		if reads(t.method) && !slices.Contains(t.fills, name) && t.takes(name) {
			return fmt.Errorf("the argument %q has the name of a value that the url gives itself; write {%s} there, or name it otherwise", name, name)
		}
	}
	return nil
}

// secrets are the fixed query values whose names say that they are credentials.
func (t template) secrets() []string {
	var found []string
	for _, q := range t.query {
		name := strings.ToLower(q.key)
		if slices.ContainsFunc(secretNames, func(s string) bool { return strings.Contains(name, s) }) {
			found = append(found, secretsOf(q.value.fixed)...)
		}
	}
	return found
}

// secretNames are parts of the names of query values that are credentials.
var secretNames = []string{"key", "token", "secret", "password", "passwd", "signature", "auth", "credential"}

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

// with adds an argument that is always given.
func (p parameters) with(name string) parameters {
	p.names = append(slices.Clone(p.names), name)
	p.required = append(slices.Clone(p.required), name)
	return p
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
			return errors.New("the url's path may not hold dot segments")
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

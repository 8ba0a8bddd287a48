// Package openapi declares HTTP tools from an OpenAPI 3 document: chosen operations,
// by their id. Path and query parameters and the members of a JSON body become the
// arguments. What cannot be expressed that way is refused with a sentence, never left
// out. It reads a document that the operator chose, and sends nothing.
package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"countersign/tools/httpapi"
)

// Operation is one chosen operation.
type Operation struct {
	ID            string
	Tool          httpapi.Tool // what the document does not say; empty fields are filled from it
	PreviewID     string       // an operation that reads, shown on the card; empty: none
	PreviewFields []string
}

// maxDocument is the largest document that is read, in bytes.
const maxDocument = 8 << 20

// Declare gives the declared tools of the operations, in their order. The base is the
// address that all paths follow; empty: that of the document's first server.
func Declare(text []byte, base string, chosen []Operation) ([]httpapi.Tool, error) {
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	if base == "" {
		if base, err = d.server(); err != nil {
			return nil, err
		}
	}
	out := make([]httpapi.Tool, len(chosen))
	for i, c := range chosen {
		if out[i], err = d.declare(strings.TrimRight(base, "/"), c); err != nil {
			return nil, fmt.Errorf("operation %s: %w", c.ID, err)
		}
	}
	return out, nil
}

// document is an OpenAPI document.
type document struct{ root map[string]any }

func read(text []byte) (*document, error) {
	if len(text) > maxDocument {
		return nil, fmt.Errorf("the document has more than %d bytes", maxDocument)
	}
	asJSON, err := plain(text)
	if err != nil {
		return nil, err
	}
	d := &document{}
	dec := json.NewDecoder(bytes.NewReader(asJSON))
	dec.UseNumber()
	if err := dec.Decode(&d.root); err != nil {
		return nil, errors.New("the document is no object")
	}
	if v := word(d.root["openapi"]); !strings.HasPrefix(v, "3.") {
		return nil, fmt.Errorf("the document is not OpenAPI 3 (openapi: %q)", v)
	}
	return d, nil
}

// plain makes JSON of YAML. Aliases are refused: a few of them in each other fill any
// memory, and documents have references instead.
func plain(text []byte) ([]byte, error) {
	errNeither := errors.New("the document is neither YAML nor JSON")
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, errNeither
	}
	for _, part := range file.Docs {
		if part.Body != nil && len(ast.Filter(ast.AliasType, part.Body)) > 0 {
			return nil, errors.New("the document has YAML aliases (*name), which are not followed; use $ref")
		}
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, errNeither
	}
	return asJSON, nil
}

func (d *document) server() (string, error) {
	servers, _ := d.root["servers"].([]any)
	if len(servers) == 0 {
		return "", errors.New("the document names no server; give the url")
	}
	first, _ := servers[0].(map[string]any)
	address := word(first["url"])
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") || strings.Contains(address, "{") {
		return "", fmt.Errorf("the document's server %q is no whole address; give the url", address)
	}
	return address, nil
}

// found is an operation and where it stands.
type found struct {
	method, path string
	operation    map[string]any
	parameters   []any // of the path and of the operation
}

var verbs = []string{"get", "head", "post", "put", "patch", "delete"}

func (d *document) find(id string) (*found, error) {
	paths, _ := d.root["paths"].(map[string]any)
	var ids []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[path].(map[string]any)
		for _, verb := range verbs {
			op, ok := item[verb].(map[string]any)
			if !ok {
				continue
			}
			if word(op["operationId"]) != id {
				ids = append(ids, word(op["operationId"]))
				continue
			}
			shared, _ := item["parameters"].([]any)
			own, _ := op["parameters"].([]any)
			return &found{strings.ToUpper(verb), path, op, slices.Concat(shared, own)}, nil
		}
	}
	return nil, fmt.Errorf("the document has no such id; it has %s", strings.Join(ids, ", "))
}

func (d *document) declare(base string, c Operation) (httpapi.Tool, error) {
	t := c.Tool
	f, err := d.find(c.ID)
	if err != nil {
		return t, err
	}
	a := newArguments(f.method)
	if err := d.take(a, f); err != nil {
		return t, err
	}
	t.Method, t.URL = f.method, base+f.path+a.queryText()
	if t.Name == "" {
		t.Name = c.ID
	}
	if t.Description == "" {
		t.Description = describe(f.operation, c.ID)
	}
	if t.Parameters, err = a.schema(); err != nil || c.PreviewID == "" {
		return t, err
	}
	t.Preview, err = d.preview(base, c, a)
	return t, err
}

// take collects the arguments of an operation.
func (d *document) take(a *arguments, f *found) error {
	for _, p := range f.parameters {
		if err := d.parameter(a, p); err != nil {
			return err
		}
	}
	return d.body(a, f.operation["requestBody"])
}

// preview declares a reading operation as the preview of another, over its arguments.
func (d *document) preview(base string, c Operation, a *arguments) (*httpapi.Read, error) {
	f, err := d.find(c.PreviewID)
	if err != nil {
		return nil, fmt.Errorf("preview %s: %w", c.PreviewID, err)
	}
	if f.method != http.MethodGet && f.method != http.MethodHead {
		return nil, fmt.Errorf("preview %s: it is a %s, not a GET or HEAD", c.PreviewID, f.method)
	}
	own := newArguments(f.method)
	if err := d.take(own, f); err != nil {
		return nil, fmt.Errorf("preview %s: %w", c.PreviewID, err)
	}
	for _, name := range own.required {
		if !slices.Contains(a.required, name) {
			return nil, fmt.Errorf("preview %s: it needs the argument %s, which the operation does not", c.PreviewID, name)
		}
	}
	// Only what both have can be filled.
	own.query = slices.DeleteFunc(own.query, func(name string) bool { return a.properties[name] == nil })
	return &httpapi.Read{Method: f.method, URL: base + f.path + own.queryText(), Fields: c.PreviewFields}, nil
}

// maxDescription bounds what the model reads of an operation, in characters.
const maxDescription = 1000

func describe(operation map[string]any, id string) string {
	text := strings.TrimSpace(word(operation["summary"]) + "\n" + word(operation["description"]))
	if text == "" {
		return id
	}
	if r := []rune(text); len(r) > maxDescription {
		return string(r[:maxDescription]) + "…"
	}
	return text
}

// arguments are collected from parameters and body.
type arguments struct {
	method     string
	properties map[string]any
	required   []string
	query      []string // those that stand in the URL's query
}

func newArguments(method string) *arguments {
	return &arguments{method: method, properties: map[string]any{}}
}

// plainName is a name that can stand in a URL template.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func (a *arguments) add(name string, schema any, required bool) error {
	switch {
	case !plainName.MatchString(name):
		return fmt.Errorf("the argument %q has a name that cannot be used", name)
	case a.properties[name] != nil:
		return fmt.Errorf("two arguments are named %q", name)
	}
	a.properties[name] = schema
	if required {
		a.required = append(a.required, name)
	}
	return nil
}

func (a *arguments) queryText() string {
	var pairs []string
	for _, name := range a.query {
		pairs = append(pairs, url.QueryEscape(name)+"={"+name+"}")
	}
	if len(pairs) == 0 {
		return ""
	}
	return "?" + strings.Join(pairs, "&")
}

func (a *arguments) schema() (json.RawMessage, error) {
	object := map[string]any{"type": "object", "properties": a.properties, "additionalProperties": false}
	if len(a.required) > 0 {
		object["required"] = a.required
	}
	return json.Marshal(object)
}

// parameter takes a path or query parameter. Headers and cookies come from the
// configuration alone.
func (d *document) parameter(a *arguments, raw any) error {
	resolved, err := d.resolve(raw)
	if err != nil {
		return err
	}
	p, _ := resolved.(map[string]any)
	name, required := word(p["name"]), p["required"] == true || p["in"] == "path"
	schema, _ := p["schema"].(map[string]any)
	switch in := word(p["in"]); {
	case in == "header" || in == "cookie":
		if required && !strings.EqualFold(name, "Authorization") {
			return fmt.Errorf("it needs the %s %s, which no argument may set: declare it as an http tool with headers", in, name)
		}
		return nil
	case schema == nil:
		return fmt.Errorf("the parameter %s has no schema", name)
	case in == "query" && word(schema["type"]) == "array":
		if a.method != http.MethodGet && a.method != http.MethodHead {
			return fmt.Errorf("the query parameter %s is a list, which only a GET may take", name)
		}
	case in == "query":
		a.query = append(a.query, name)
	case in != "path":
		return fmt.Errorf("the parameter %s stands in %q", name, in)
	}
	tidied := tidy(schema)
	if text := word(p["description"]); text != "" && tidied["description"] == nil {
		tidied["description"] = text
	}
	return a.add(name, tidied, required)
}

// body takes the members of a JSON body.
func (d *document) body(a *arguments, raw any) error {
	if raw == nil {
		return nil
	}
	resolved, err := d.resolve(raw)
	if err != nil {
		return err
	}
	b, _ := resolved.(map[string]any)
	content, _ := b["content"].(map[string]any)
	kind, ok := content["application/json"].(map[string]any)
	if !ok {
		return fmt.Errorf("its body is not application/json but %s", strings.Join(slices.Sorted(maps.Keys(content)), ", "))
	}
	schema, _ := kind["schema"].(map[string]any)
	if schema = tidy(schema); word(schema["type"]) != "object" && schema["properties"] == nil {
		return errors.New("its body is no object with named members")
	}
	if a.method == http.MethodGet || a.method == http.MethodHead {
		return errors.New("it reads, and has a body")
	}
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if err := a.add(name, properties[name], slices.Contains(required, any(name))); err != nil {
			return err
		}
	}
	return nil
}

func word(v any) string {
	s, _ := v.(string)
	return s
}

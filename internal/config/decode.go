package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// The types that the decoder reads in a way of their own.
var (
	secretType   = reflect.TypeFor[Secret]()
	durationType = reflect.TypeFor[time.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
)

// Bounds of a file, so that nesting or aliases of aliases exhaust nothing.
const (
	maxDepth = 64
	maxNodes = 100_000
)

// decoder walks the syntax tree into the structs. It goes on after a problem,
// so that one run names them all.
type decoder struct {
	source   source
	values   values // fills ${VAR} and file:PATH
	anchors  map[string]ast.Node
	problems Problems
	warnings Problems
	depth    int
	nodes    int
}

// fail notes a problem at a node.
func (d *decoder) fail(n ast.Node, key, format string, args ...any) {
	d.problems = append(d.problems, d.place(n, key, format, args...))
}

func (d *decoder) place(n ast.Node, key, format string, args ...any) Problem {
	at := positionOf(n)
	return Problem{
		Source: d.source.file, Line: at.line, Column: at.column,
		Key: key, Text: fmt.Sprintf(format, args...),
	}
}

// positionOf gives where a node begins. A mapping's own token is its first
// colon, so its first key is taken instead.
func positionOf(n ast.Node) position {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		n = m.Values[0].Key
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		n = v.Key
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return position{line: 1, column: 1}
	}
	p := n.GetToken().Position
	return position{line: p.Line, column: p.Column}
}

// parseYAML gives the root of the one document, nil when the file says nothing.
func (d *decoder) parseYAML(data []byte) ast.Node {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		d.problems = append(d.problems, d.syntaxProblem(err))
		return nil
	}
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			d.fail(doc.Body, "", "a second document begins here; the configuration is one document")
			return nil
		}
		root = doc.Body
	}
	return root
}

func (d *decoder) syntaxProblem(err error) Problem {
	p := Problem{Source: d.source.file, Line: 1, Column: 1, Text: "this is not YAML"}
	var located yaml.Error
	if errors.As(err, &located) {
		p.Text += ": " + located.GetMessage()
		if t := located.GetToken(); t != nil && t.Position != nil {
			p.Line, p.Column = t.Position.Line, t.Position.Column
		}
	}
	return p
}

// value decodes a node into v. f carries the tags of the setting it belongs to.
func (d *decoder) value(n ast.Node, v reflect.Value, key string, f field) {
	leave, ok := d.enter(n, key)
	defer leave()
	if !ok {
		return
	}
	if n = d.resolve(n, key); n != nil && n.Type() != ast.NullType {
		d.source.at[key] = positionOf(n)
		d.present(n, v, key, f)
	}
}

// enter counts a node against the bounds; the first that exceeds one is a problem.
func (d *decoder) enter(n ast.Node, key string) (leave func(), ok bool) {
	d.depth++
	d.nodes++
	leave = func() { d.depth-- }
	if d.depth > maxDepth {
		d.fail(n, key, "nested deeper than %d levels", maxDepth)
		return leave, false
	}
	if d.nodes == maxNodes {
		d.fail(n, key, "more than %d values", maxNodes)
	}
	return leave, d.nodes < maxNodes
}

// resolve follows anchors, aliases and tags to the node that holds the value.
func (d *decoder) resolve(n ast.Node, key string) ast.Node {
	for range maxDepth {
		switch t := n.(type) {
		case *ast.AnchorNode:
			d.anchors[t.Name.GetToken().Value] = t.Value
			n = t.Value
		case *ast.AliasNode:
			name := t.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				d.fail(n, key, "*%s names no anchor above this line", name)
				return nil
			}
			n = target
		case *ast.TagNode:
			n = t.Value
		default:
			return n
		}
	}
	d.fail(n, key, "anchors that lead in a circle")
	return nil
}

// present decodes a node that is not null.
func (d *decoder) present(n ast.Node, v reflect.Value, key string, f field) {
	switch {
	case v.Type() == secretType || v.Type() == durationType:
		d.scalar(n, v, key, f)
	case v.Type() == rawType:
		d.raw(n, v, key)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		if with, ok := v.Interface().(defaulter); ok {
			with.setDefaults()
		}
		d.present(n, v.Elem(), key, f)
	case v.Kind() == reflect.Struct:
		d.structure(n, v, key)
	case v.Kind() == reflect.Map:
		d.mapping(n, v, key, f)
	case v.Kind() == reflect.Slice:
		d.list(n, v, key, f)
	default:
		d.scalar(n, v, key, f)
	}
}

// entries lists the key-value pairs of a mapping, nil (and a problem) for anything else.
func (d *decoder) entries(n ast.Node, key string) []*ast.MappingValueNode {
	switch t := n.(type) {
	case *ast.MappingNode:
		return t.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{t}
	}
	d.fail(n, key, "here stand settings, as key: value")
	return nil
}

// structure decodes a mapping into a struct and refuses keys it does not know.
func (d *decoder) structure(n ast.Node, v reflect.Value, key string) {
	fields := fieldsOf(v.Type())
	given := map[string]bool{}
	for _, e := range d.entries(n, key) {
		name := keyText(e.Key)
		f, ok := findField(fields, name)
		if !ok {
			d.unknown(e, name, key, fields)
			continue
		}
		given[name] = true
		d.value(e.Value, v.FieldByIndex(f.index), joinKey(key, name), f)
	}
	for _, f := range fields {
		if f.need && !given[f.name] {
			d.fail(n, key, "%s is missing", f.name)
		}
	}
}

func findField(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func (d *decoder) unknown(e *ast.MappingValueNode, name, key string, fields []field) {
	if e.Key.IsMergeKey() {
		d.fail(e, key, "merge keys (<<) are not supported; write the settings out")
		return
	}
	allowed := make([]string, len(fields))
	for i, f := range fields {
		allowed[i] = f.name
	}
	d.fail(e, joinKey(key, name), "unknown setting; %s", suggest(name, allowed))
}

// keyText gives a key as it was written, without quotes.
func keyText(k ast.MapKeyNode) string {
	if m, ok := k.(*ast.MappingKeyNode); ok && m.Value != nil {
		return m.Value.GetToken().Value
	}
	return k.GetToken().Value
}

func joinKey(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// mapping decodes into a map from names to values.
func (d *decoder) mapping(n ast.Node, v reflect.Value, key string, f field) {
	out := reflect.MakeMap(v.Type())
	for _, e := range d.entries(n, key) {
		name := keyText(e.Key)
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(e.Value, item, joinKey(key, name), f)
		out.SetMapIndex(reflect.ValueOf(name), item)
	}
	v.Set(out)
}

// list decodes a sequence; each item begins with its own defaults.
func (d *decoder) list(n ast.Node, v reflect.Value, key string, f field) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(n, key, "here stands a list; write it as [a, b]")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		if with, ok := out.Index(i).Addr().Interface().(defaulter); ok {
			with.setDefaults()
		}
		at := key + "[" + strconv.Itoa(i) + "]"
		if resolved := d.resolve(item, at); resolved == nil || resolved.Type() == ast.NullType {
			d.fail(item, at, "an empty item")
			continue
		}
		d.value(item, out.Index(i), at, f)
	}
	v.Set(out)
}

package tools

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// thoughtName is the property in which the model says why it makes a call.
const thoughtName = "thought"

// errNoRemoteSchema refuses references that leave the document: a schema may
// come from an MCP server, and must not make us read files or addresses.
var errNoRemoteSchema = errors.New("references to other documents are not followed")

// Schema is the compiled JSON Schema of one tool's arguments. It is safe for
// use by several goroutines at once.
type Schema struct {
	tool       string
	root       *jsonschema.Schema
	ownThought bool
}

// Compile compiles the parameters of a tool. Objects that list their
// properties and do not say otherwise are closed: an argument nobody declared
// is a mistake of the model, not an extension. The error matches ErrBadTool.
func Compile(spec Spec) (*Schema, error) {
	doc, err := parameters(spec)
	if err != nil {
		return nil, err
	}
	const here = "urn:tool"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(here, doc); err != nil {
		return nil, badSchema(spec, err)
	}
	root, err := c.Compile(here)
	if err != nil {
		return nil, badSchema(spec, err)
	}
	closeObjects(root, map[*jsonschema.Schema]bool{})
	_, own := root.Properties[thoughtName]
	return &Schema{tool: spec.Name, root: root, ownThought: own}, nil
}

// parameters reads the schema and checks that it describes an object.
func parameters(spec Spec) (any, error) {
	if len(spec.Parameters) == 0 {
		return map[string]any{"type": "object", "properties": map[string]any{}}, nil
	}
	doc, err := decode(string(spec.Parameters))
	if err != nil {
		return nil, badSchema(spec, err)
	}
	object, ok := doc.(map[string]any)
	if !ok || object["type"] != "object" {
		return nil, badSchema(spec, errors.New(`the top level must be {"type": "object", …}`))
	}
	return doc, nil
}

func badSchema(spec Spec, err error) error {
	return fmt.Errorf("%w: parameters of %s: %w", ErrBadTool, spec.Name, err)
}

// noLoader refuses every reference to another document.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) { return nil, errNoRemoteSchema }

// closeObjects walks the schemas that describe a value alone (properties and
// items, not the branches of a composition) and closes their objects.
func closeObjects(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if mayClose(s) {
		s.AdditionalProperties = false
	}
	for _, p := range s.Properties {
		closeObjects(p, seen)
	}
	for _, p := range itemSchemas(s) {
		closeObjects(p, seen)
	}
}

// mayClose says that s lists its properties and nothing else could add to them.
func mayClose(s *jsonschema.Schema) bool {
	composed := len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.DependentSchemas)+len(s.Dependencies) > 0 ||
		s.Ref != nil || s.RecursiveRef != nil || s.DynamicRef != nil || s.If != nil
	return s.Properties != nil && s.AdditionalProperties == nil && len(s.PatternProperties) == 0 &&
		s.UnevaluatedProperties == nil && !composed
}

// itemSchemas are the schemas of an array's items, in any draft.
func itemSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list := append([]*jsonschema.Schema{}, s.PrefixItems...)
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		list = append(list, items)
	case []*jsonschema.Schema:
		list = append(list, items...)
	}
	if s.Items2020 != nil {
		list = append(list, s.Items2020)
	}
	return list
}

// ShownSchema is the schema that is presented to the model: the tool's own,
// with a required "thought" in front, so that the model says why before it says
// what. A tool that has a property of that name itself is shown as it is.
// The order of everything else is kept.
func ShownSchema(spec Spec) json.RawMessage {
	raw := spec.Parameters
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	top, err := members(raw)
	if err != nil {
		return raw // Compile has refused it already
	}
	properties, err := members(top.get("properties", "{}"))
	if err != nil || properties.has(thoughtName) {
		return raw
	}
	var required []string
	if err := json.Unmarshal(top.get("required", "[]"), &required); err != nil {
		return raw
	}
	names, err := json.Marshal(append([]string{thoughtName}, required...))
	if err != nil {
		return raw
	}
	top.set("properties", properties.prepend(thoughtName, thoughtSchema).encode())
	top.set("required", names)
	return top.encode()
}

// thoughtSchema is what the model reads about the property.
var thoughtSchema = json.RawMessage(`{"type":"string","description":"Why this call, in one sentence."}`)

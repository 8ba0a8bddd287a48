package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxParts is how many parts one operation may come to with its references replaced: a
// short document can name one thing so often that no memory holds it.
const maxParts = 20_000

// resolve copies a value with every reference replaced by what it leads to. A
// reference out of the document, to nothing, or back to itself is refused.
func (d *document) resolve(value any) (any, error) {
	r := resolver{d, maxParts}
	return r.resolve(value, nil)
}

// resolver counts what it copies.
type resolver struct {
	*document
	left int
}

func (d *resolver) resolve(value any, within []string) (any, error) {
	if d.left--; d.left < 0 {
		return nil, fmt.Errorf("with its references replaced it has more than %d parts", maxParts)
	}
	switch v := value.(type) {
	case map[string]any:
		if ref := word(v["$ref"]); ref != "" {
			if slices.Contains(within, ref) {
				return nil, fmt.Errorf("%s leads back to itself, which no form can show", ref)
			}
			target, err := d.target(ref)
			if err != nil {
				return nil, err
			}
			return d.resolve(target, append(slices.Clone(within), ref))
		}
		out := make(map[string]any, len(v))
		for key, below := range v {
			resolved, err := d.resolve(below, within)
			if err != nil {
				return nil, err
			}
			out[key] = resolved
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			resolved, err := d.resolve(below, within)
			if err != nil {
				return nil, err
			}
			out[i] = resolved
		}
		return out, nil
	}
	return value, nil
}

// target follows a reference within the document.
func (d *document) target(ref string) (any, error) {
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil, fmt.Errorf("%s leads out of the document", ref)
	}
	var at any = d.root
	for part := range strings.SplitSeq(path, "/") {
		object, _ := at.(map[string]any)
		next, ok := object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		if !ok {
			return nil, fmt.Errorf("%s leads to nothing", ref)
		}
		at = next
	}
	return at, nil
}

// notSchema are keywords of OpenAPI that JSON Schema does not have, or that say
// nothing about what fits.
var notSchema = []string{"example", "examples", "xml", "externalDocs", "discriminator", "deprecated", "nullable", "readOnly", "writeOnly"}

// tidy makes a schema of OpenAPI 3.0 one of JSON Schema, as far as they differ: what
// may be null, exclusive bounds, members that only answers have. Parts that must all
// hold are put together where they are objects.
func tidy(schema map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range schema {
		if !slices.Contains(notSchema, key) {
			out[key] = below(key, v)
		}
	}
	if kind := word(schema["type"]); schema["nullable"] == true && kind != "" {
		out["type"] = []any{kind, "null"}
	}
	for _, bound := range []struct{ inclusive, exclusive string }{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
		flag, is := out[bound.exclusive].(bool)
		if !is {
			continue
		}
		delete(out, bound.exclusive)
		if limit, ok := out[bound.inclusive].(json.Number); ok && flag {
			out[bound.exclusive] = limit
			delete(out, bound.inclusive)
		}
	}
	withoutAnswers(out, schema)
	return together(out)
}

// below tidies the schemas inside of a keyword.
func below(key string, v any) any {
	switch inner := v.(type) {
	case map[string]any:
		if key != "properties" && key != "patternProperties" {
			if key == "items" || key == "not" || key == "additionalProperties" {
				return tidy(inner)
			}
			return inner
		}
		out := map[string]any{}
		for name, s := range inner {
			out[name] = s
			if schema, ok := s.(map[string]any); ok {
				out[name] = tidy(schema)
			}
		}
		return out
	case []any:
		if key != "allOf" && key != "anyOf" && key != "oneOf" {
			return inner
		}
		out := make([]any, len(inner))
		for i, s := range inner {
			out[i] = s
			if schema, ok := s.(map[string]any); ok {
				out[i] = tidy(schema)
			}
		}
		return out
	}
	return v
}

// withoutAnswers drops the members that only answers have.
func withoutAnswers(out, schema map[string]any) {
	declared, _ := schema["properties"].(map[string]any)
	kept, _ := out["properties"].(map[string]any)
	required, _ := out["required"].([]any)
	for name, s := range declared {
		if member, ok := s.(map[string]any); ok && member["readOnly"] == true {
			delete(kept, name)
			required = slices.DeleteFunc(slices.Clone(required), func(r any) bool { return r == name })
		}
	}
	if len(required) > 0 {
		out["required"] = required
	} else {
		delete(out, "required")
	}
}

// together merges the objects of an allOf into the schema, so that their members are
// arguments with names; an allOf of anything else stays.
func together(schema map[string]any) map[string]any {
	parts, _ := schema["allOf"].([]any)
	if len(parts) == 0 {
		return schema
	}
	out := maps.Clone(schema)
	delete(out, "allOf")
	properties, _ := schema["properties"].(map[string]any)
	merged := map[string]any{}
	maps.Copy(merged, properties)
	required, _ := schema["required"].([]any)
	for _, p := range parts {
		part, _ := p.(map[string]any)
		if part["properties"] == nil {
			return schema
		}
		members, _ := part["properties"].(map[string]any)
		for name, s := range members {
			if merged[name] != nil {
				return schema // two say something about it, and both must hold
			}
			merged[name] = s
		}
		more, _ := part["required"].([]any)
		required = append(slices.Clone(required), more...)
	}
	out["type"], out["properties"] = "object", merged
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

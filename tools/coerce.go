package tools

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// plainInteger is an integer written in the only way it can be written, so that
// its text and its value say the same.
var plainInteger = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// numberText is a JSON number (RFC 8259, section 6).
var numberText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// coerce makes a value fit its schema where nothing is lost by it: "5" for an
// integer is 5, "true" for a boolean is true, null for an optional property is
// its absence, defaults are filled in. What does not fit is left as it is, for
// validation to name.
func coerce(s *jsonschema.Schema, v any) any {
	return coerceAt(s, v, 0)
}

func coerceAt(s *jsonschema.Schema, v any, depth int) any {
	if s == nil || s.Bool != nil || depth > 2*maxDepth {
		return v
	}
	v = coerceEnum(s, coerceType(s, v))
	switch value := v.(type) {
	case map[string]any:
		coerceObject(s, value, depth)
	case []any:
		for i := range value {
			value[i] = coerceAt(itemSchema(s, i), value[i], depth+1)
		}
	}
	if s.Ref != nil {
		v = coerceAt(s.Ref, v, depth+1)
	}
	for _, part := range s.AllOf {
		v = coerceAt(part, v, depth+1)
	}
	v = coerceBranch(s.AnyOf, v, depth)
	return coerceBranch(s.OneOf, v, depth)
}

// coerceObject coerces the properties of m in place.
func coerceObject(s *jsonschema.Schema, m map[string]any, depth int) {
	for name, value := range m {
		sub := propertySchema(s, name)
		if value == nil && sub != nil && !slices.Contains(s.Required, name) && sub.Validate(nil) != nil {
			delete(m, name)
			continue
		}
		m[name] = coerceAt(sub, value, depth+1)
	}
	for name, sub := range s.Properties {
		if _, given := m[name]; given {
			continue
		}
		if d := defaultOf(sub); d != nil {
			m[name] = coerceAt(sub, clone(*d), depth+1)
		}
	}
}

// defaultOf is the default of a property, its own or that of what it refers to.
func defaultOf(s *jsonschema.Schema) *any {
	if s.Default == nil && s.Ref != nil {
		return s.Ref.Default
	}
	return s.Default
}

func propertySchema(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if sub, ok := s.Properties[name]; ok {
		return sub
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && len(s.PatternProperties) == 0 {
		return sub
	}
	return nil
}

func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	if list, ok := s.Items.([]*jsonschema.Schema); ok && i < len(list) {
		return list[i]
	}
	if every, ok := s.Items.(*jsonschema.Schema); ok {
		return every
	}
	return s.Items2020
}

// coerceBranch coerces for one of several branches, if only one is possible.
func coerceBranch(branches []*jsonschema.Schema, v any, depth int) any {
	var fitting, possible []any
	for _, branch := range branches {
		coerced := coerceAt(branch, clone(v), depth+1)
		coercedFits := branch.Validate(coerced) == nil
		switch {
		case branch.Validate(v) == nil && coercedFits:
			fitting = append(fitting, coerced)
		case branch.Validate(v) == nil:
			fitting = append(fitting, v)
		case coercedFits:
			possible = append(possible, coerced)
		}
	}
	switch {
	case len(fitting) == 1:
		return fitting[0]
	case len(fitting) == 0 && len(possible) == 1:
		return possible[0]
	}
	return v
}

// coerceType converts v to a type that the schema allows, if v is of none of
// them and exactly one conversion keeps its value.
func coerceType(s *jsonschema.Schema, v any) any {
	if s.Types == nil {
		return v
	}
	allowed := s.Types.ToStrings()
	if slices.ContainsFunc(allowed, func(t string) bool { return isType(v, t) }) {
		return v
	}
	var results []any
	for _, t := range allowed {
		if c, ok := convert(v, t); ok {
			results = append(results, c)
		}
	}
	if len(results) == 0 {
		return v
	}
	for _, other := range results[1:] {
		if string(encode(other)) != string(encode(results[0])) {
			return v
		}
	}
	return results[0]
}

func isType(v any, t string) bool {
	switch v := v.(type) {
	case map[string]any:
		return t == "object"
	case []any:
		return t == "array"
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case json.Number:
		return t == "number" || t == "integer" && isIntegral(v)
	default:
		return t == "null"
	}
}

func isIntegral(n json.Number) bool {
	plain, err := plainNumber(n)
	return err == nil && !strings.Contains(plain, ".")
}

// convert gives v as the type t, if its value is the same.
func convert(v any, t string) (any, bool) {
	switch v := v.(type) {
	case json.Number:
		if t == "string" && plainInteger.MatchString(v.String()) {
			return v.String(), true
		}
	case string:
		return convertText(v, t)
	}
	return nil, false
}

// convertText reads a string as what it says.
func convertText(text, t string) (any, bool) {
	switch t {
	case "integer", "number":
		n := json.Number(text)
		if !numberText.MatchString(text) {
			return nil, false
		}
		_, err := plainNumber(n)
		return n, err == nil && isType(n, t)
	case "boolean":
		yes := strings.EqualFold(text, "true")
		return yes, yes || strings.EqualFold(text, "false")
	case "array", "object":
		v, err := decode(text)
		return v, err == nil && isType(v, t)
	}
	return nil, false
}

// coerceEnum finds the one member that differs from v in case alone.
func coerceEnum(s *jsonschema.Schema, v any) any {
	text, ok := v.(string)
	if s.Enum == nil || !ok || slices.Contains(enumTexts(s), text) {
		return v
	}
	var same []string
	for _, member := range enumTexts(s) {
		if strings.EqualFold(member, text) {
			same = append(same, member)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	return v
}

func enumTexts(s *jsonschema.Schema) []string {
	var texts []string
	for _, member := range s.Enum.Values {
		if text, ok := member.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// clone copies a decoded value, so that an attempt leaves the original alone.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, value := range v {
			m[name] = clone(value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = clone(value)
		}
		return list
	}
	return v
}

package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"countersign/agent/llm"
)

// strictSchema gives a schema in the form that OpenAI's strict mode takes: closed
// objects whose properties are all required, the optional ones nullable. It says
// false for a schema that has no such form; it is then sent as it is.
func strictSchema(raw json.RawMessage) (json.RawMessage, bool) {
	var s map[string]any
	if decode(raw, &s) != nil || !tighten(s) {
		return nil, false
	}
	out, err := encode(s)
	return out, err == nil
}

// unstrict are keywords that strict mode does not take.
var unstrict = []string{"allOf", "oneOf", "not", "if", "then", "else", "patternProperties", "dependentRequired", "dependentSchemas", "prefixItems", "unevaluatedProperties"}

func tighten(s map[string]any) bool {
	for _, k := range unstrict {
		if _, ok := s[k]; ok {
			return false
		}
	}
	delete(s, "default")
	if items, ok := s["items"].(map[string]any); ok && !tighten(items) {
		return false
	}
	for _, k := range []string{"anyOf", "$defs", "definitions"} {
		if !tightenAll(s[k]) {
			return false
		}
	}
	if s["type"] != "object" && s["properties"] == nil {
		return true
	}
	return tightenObject(s)
}

func tightenAll(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if m, ok := e.(map[string]any); ok && !tighten(m) {
				return false
			}
		}
	case map[string]any:
		for _, e := range v {
			if m, ok := e.(map[string]any); ok && !tighten(m) {
				return false
			}
		}
	}
	return true
}

func tightenObject(s map[string]any) bool {
	if open, ok := s["additionalProperties"]; ok && open != false {
		return false // a free map has no strict form
	}
	s["additionalProperties"] = false
	properties, _ := s["properties"].(map[string]any)
	if properties == nil {
		s["properties"] = map[string]any{}
	}
	was, _ := s["required"].([]any)
	names := []any{}
	for _, name := range sortedKeys(properties) {
		names = append(names, name)
		p, ok := properties[name].(map[string]any)
		if !ok || !tighten(p) {
			return false
		}
		if !slices.Contains(was, any(name)) && !nullable(p) {
			return false
		}
	}
	s["required"] = names
	return true
}

// nullable lets a property be null, where its form allows to say so.
func nullable(p map[string]any) bool {
	switch t := p["type"].(type) {
	case string:
		p["type"] = []any{t, "null"}
	case []any:
		if !slices.Contains(t, any("null")) {
			p["type"] = append(t, "null")
		}
	default:
		return false
	}
	if e, ok := p["enum"].([]any); ok {
		p["enum"] = append(e, nil)
	}
	return true
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func schemaOf(all []llm.ToolDef, name string) json.RawMessage {
	for _, t := range all {
		if t.Name == name {
			return t.Parameters
		}
	}
	return nil
}

// withoutNulls takes out the nulls that stand for optional arguments left out. All
// else stays as it was written: a name given twice is for others to refuse.
func withoutNulls(args string, schema json.RawMessage) string {
	var s struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil || !json.Valid([]byte(args)) {
		return args
	}
	d := json.NewDecoder(strings.NewReader(args))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return args
	}
	var kept []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return args
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return args
		}
		key, _ := name.(string)
		if string(value) == "null" && !slices.Contains(s.Required, key) {
			continue
		}
		quoted, err := encode(key)
		if err != nil {
			return args
		}
		kept = append(kept, string(quoted)+":"+string(value))
	}
	return "{" + strings.Join(kept, ",") + "}"
}

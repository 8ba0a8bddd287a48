package playbook

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

// rawMark stands before a text that is JSON already: an argument of another type than string.
const rawMark = "\x00json:"

// render fills a template with the values; a missing value is empty.
func render(tmpl string, values map[string]string) (string, error) {
	if !strings.Contains(tmpl, "{{") {
		return tmpl, nil
	}
	t, err := template.New("").Funcs(functions()).Option("missingkey=zero").Parse(tmpl)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := t.Execute(&out, values); err != nil {
		return "", err
	}
	return out.String(), nil
}

// functions are what a template may call: number and numbers give an argument
// its JSON type, sql quotes a text for a statement.
func functions() template.FuncMap {
	return template.FuncMap{
		"number":  func(s string) string { return rawMark + s },
		"numbers": func(s string) string { return rawMark + "[" + strings.Join(strings.Fields(s), ",") + "]" },
		"sql":     func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" },
	}
}

// arguments renders a call's arguments. A thought is an argument of its own
// where the offered tool asks for one.
func arguments(c calling, values map[string]string, thought bool) (string, error) {
	args := map[string]any{}
	for name, v := range c.Args {
		filled, err := fill(v, values)
		if err != nil {
			return "", fmt.Errorf("argument %s: %w", name, err)
		}
		args[name] = filled
	}
	if thought && c.Thought != "" {
		t, err := render(c.Thought, values)
		if err != nil {
			return "", fmt.Errorf("thought: %w", err)
		}
		args["thought"] = t
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(args); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

func fill(v any, values map[string]string) (any, error) {
	switch v := v.(type) {
	case string:
		s, err := render(v, values)
		if err != nil {
			return nil, err
		}
		if raw, ok := strings.CutPrefix(s, rawMark); ok {
			return rawOr(raw), nil
		}
		return s, nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = fill(v[i], values); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		return fillMap(v, values)
	}
	return v, nil
}

func fillMap(v map[string]any, values map[string]string) (any, error) {
	out := map[string]any{}
	for k := range v {
		var err error
		if out[k], err = fill(v[k], values); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rawOr keeps what is JSON; what is not stays a text, so that a scene without
// its value makes a call that validation refuses rather than no call.
func rawOr(raw string) any {
	if json.Valid([]byte(raw)) {
		return json.RawMessage(raw)
	}
	return raw
}

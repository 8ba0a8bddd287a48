package audit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// hidden stands for a value that its name makes a secret, as on cards.
const hidden = "⟨masked⟩"

// Data writes the fields of an entry as JSON, secrets hidden.
func Data(fields any, mask func(string) string) string {
	b, err := json.Marshal(fields)
	if err != nil {
		return `{"error":"not representable"}`
	}
	return string(Masked(b, mask))
}

// Masked hides the secrets in JSON, which stays JSON: in each text as it reads when it
// is not quoted any more, also where the text is JSON itself, and in what its name makes
// a secret. A mask that reads JSON as text would see neither through the quoting. What
// such a mask finds besides is hidden too, unless that would break the JSON.
func Masked(raw []byte, mask func(string) string) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return written(mask(string(raw)))
	}
	m := masking{mask: mask, names: map[string]string{}}
	if v = m.value("", v); m.found {
		raw = written(v)
	}
	if text := []byte(mask(string(raw))); json.Valid(text) {
		return text
	}
	return raw
}

type masking struct {
	mask  func(string) string
	names map[string]string // as they read masked: each is met more than once
	found bool
}

func (m *masking) name(s string) string {
	shown, known := m.names[s]
	if !known {
		shown = m.mask(s)
		m.names[s] = shown
	}
	return shown
}

// value masks what has a name; a list's elements have the list's.
func (m *masking) value(name string, v any) any {
	switch v := v.(type) {
	case string:
		return m.text(name, v)
	case json.Number:
		if m.named(name, v.String(), m.mask(v.String())) {
			return hidden
		}
	case []any:
		for i := range v {
			v[i] = m.value(name, v[i])
		}
	case map[string]any:
		return m.members(v)
	}
	return v
}

// members masks names too; no two of them become one.
func (m *masking) members(v map[string]any) map[string]any {
	out := make(map[string]any, len(v))
	for _, name := range slices.Sorted(maps.Keys(v)) {
		shown := m.name(name)
		m.found = m.found || shown != name
		for _, there := out[shown]; there; _, there = out[shown] {
			shown += "'"
		}
		out[shown] = m.value(name, v[name])
	}
	return out
}

func (m *masking) text(name, s string) string {
	alone := m.mask(s)
	shown := alone
	if strings.ContainsAny(s, `{["`) && json.Valid([]byte(s)) {
		shown = m.mask(string(Masked([]byte(s), m.mask)))
	}
	if m.named(name, s, alone) {
		shown = hidden
	}
	m.found = m.found || shown != s
	return shown
}

// named says that the name makes a secret of a value that is none by itself, as which it
// reads alone.
func (m *masking) named(name, value, alone string) bool {
	if name == "" || m.mask(name+": "+value) == m.name(name)+": "+alone {
		return false
	}
	m.found = true
	return true
}

func written(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return []byte(`null`)
	}
	return bytes.TrimSpace(b.Bytes())
}

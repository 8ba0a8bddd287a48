package record

import (
	"bytes"
	"encoding/json"
)

// json masks a JSON value: as text, which sees names and values together, or
// where that would break it, text by text.
func (m Mask) json(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if masked := []byte(m(string(raw))); json.Valid(masked) {
		return masked
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return asText(m(string(raw)))
	}
	masked, err := json.Marshal(m.value(v))
	if err != nil {
		return asText(m(string(raw)))
	}
	return masked
}

func (m Mask) value(v any) any {
	switch t := v.(type) {
	case string:
		return m(t)
	case []any:
		for i := range t {
			t[i] = m.value(t[i])
		}
	case map[string]any:
		for k := range t {
			t[k] = m.value(t[k])
		}
	}
	return v
}

// asText keeps what is no JSON as a text.
func asText(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`null`)
	}
	return b
}

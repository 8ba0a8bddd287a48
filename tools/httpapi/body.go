package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
)

// setBody reads a declared body: JSON in which a text that is nothing but {argument}
// stands for that argument's value, of whatever type, and {idempotency_key} for the
// key of the call. Members whose argument was not given are left out.
func (t *template) setBody(declared json.RawMessage, params parameters) error {
	if len(declared) == 0 {
		return nil
	}
	if reads(t.method) {
		return errors.New("a GET or HEAD has no body")
	}
	value, err := decode(declared)
	if err != nil {
		return errors.New("the body is not JSON")
	}
	if err := t.readBody(value, params.with(keyArgument)); err != nil {
		return err
	}
	for _, name := range params.names {
		if !slices.Contains(t.fills, name) {
			return fmt.Errorf("the argument %q stands neither in the url nor in the body", name)
		}
	}
	t.body, t.keyed = value, slices.Contains(t.fills, keyArgument)
	return nil
}

// readBody notes the arguments that a body takes and refuses other places for them.
func (t *template) readBody(value any, params parameters) error {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if params.mentionedIn(key) {
				return fmt.Errorf("the body's member %q would be named by an argument", key)
			}
			if err := t.readBody(below, params); err != nil {
				return err
			}
		}
	case []any:
		for _, below := range v {
			if err := t.readBody(below, params); err != nil {
				return err
			}
		}
	case string:
		name, whole := placeIn(v)
		switch {
		case whole && slices.Contains(params.names, name):
			t.fills = append(t.fills, name)
		case whole:
			return fmt.Errorf("%q in the body is not an argument", v)
		case params.mentionedIn(v):
			return fmt.Errorf("%q in the body: an argument must fill a whole value", v)
		}
	}
	return nil
}

// placeIn gives the name in a text that is nothing but a place for an argument.
func placeIn(text string) (name string, whole bool) {
	name, opened := strings.CutPrefix(text, "{")
	name, closed := strings.CutSuffix(name, "}")
	return name, opened && closed && name != "" && !strings.ContainsAny(name, "{} ")
}

// absent marks a place in a body whose argument was not given.
type absent struct{}

func isAbsent(value any) bool {
	_, is := value.(absent)
	return is
}

// fillBody puts the arguments into the declared body.
func (t template) fillBody(args map[string]json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(filledIn(t.body, args)); err != nil {
		return nil, fmt.Errorf("write the body: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func filledIn(value any, args map[string]json.RawMessage) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, below := range v {
			if filled := filledIn(below, args); !isAbsent(filled) {
				out[key] = filled
			}
		}
		return out
	case []any:
		out := []any{}
		for _, below := range v {
			if filled := filledIn(below, args); !isAbsent(filled) {
				out = append(out, filled)
			}
		}
		return out
	case string:
		name, whole := placeIn(v)
		if !whole {
			return v
		}
		given, err := decode(args[name]) // as a value: the encoder would escape raw JSON
		if err != nil {
			return absent{}
		}
		return given
	}
	return value
}

// contentType checks what a body is sent as; JSON unless said.
func contentType(declared string) (string, error) {
	if declared == "" {
		return "application/json", nil
	}
	kind, params, err := mime.ParseMediaType(declared)
	if err != nil || len(params) > 0 || kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")) {
		return "", fmt.Errorf("the content type %q is not application/json or application/…+json", declared)
	}
	return kind, nil
}

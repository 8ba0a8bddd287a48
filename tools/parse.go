package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// InvalidArguments is the code of every Failure that Parse returns.
const InvalidArguments = "invalid_arguments"

// maxArguments is how long the text of one call's arguments may be, in bytes.
const maxArguments = 1 << 20

// maxEcho is how much of a bad input is shown again to the model, in
// characters: enough to find the place, not enough to fill its window.
const maxEcho = 400

// Args are the arguments of one call, as they will run.
type Args struct {
	Canonical json.RawMessage // validated, coerced, defaulted, in canonical form
	Thought   string          // why the model makes the call; empty when it did not say
}

// Parse reads what a model (or a person's edit) gave as arguments of a tool:
// JSON, then the schema. What can be read in one way only is read so; anything
// else is a *Failure with the code InvalidArguments that says what was wrong,
// where, and what is allowed. Parsing canonical arguments gives them back.
func Parse(s *Schema, raw string) (Args, error) {
	m, err := s.readObject(raw)
	if err != nil {
		return Args{}, s.unreadable(raw, err)
	}
	thought := s.takeThought(m)
	v := coerce(s.root, m)
	if err := s.root.Validate(v); err != nil {
		return Args{}, s.explain(err)
	}
	return Args{Canonical: encode(v), Thought: thought}, nil
}

// Errors of values that are JSON but no arguments.
var (
	errTooLong  = fmt.Errorf("it is longer than %d bytes", maxArguments)
	errNoObject = errors.New("it must be one JSON object with the arguments by name")
	errNothing  = errors.New("no arguments were given")
)

// readObject is the first gate: text to object.
func (s *Schema) readObject(raw string) (map[string]any, error) {
	if len(raw) > maxArguments {
		return nil, errTooLong
	}
	v, err := readValue(raw)
	if err != nil {
		return nil, err
	}
	if quoted, ok := v.(string); ok && trim(quoted) != "" {
		// Some servers quote the object once more. One layer is taken off,
		// and only if an object is inside.
		if v, err = readValue(quoted); err != nil {
			return nil, errNoObject
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case nil:
		return s.nothing()
	case string:
		if trim(v) == "" {
			return s.nothing()
		}
	}
	return nil, errNoObject
}

// nothing is what no arguments mean: none, where none are needed.
func (s *Schema) nothing() (map[string]any, error) {
	if len(s.root.Required) == 0 {
		return map[string]any{}, nil
	}
	return nil, errNothing
}

// readValue decodes a text, as it is or else repaired. An empty text is null.
func readValue(raw string) (any, error) {
	text := trim(raw)
	if text == "" {
		return nil, nil
	}
	v, err := decode(text)
	if err == nil {
		return v, nil
	}
	if repaired := repair(text); repaired != text {
		if v, again := decode(repaired); again == nil {
			return v, nil
		} else if duplicate := (*duplicateError)(nil); errors.As(again, &duplicate) {
			return nil, again
		}
	}
	return nil, err
}

// takeThought takes the thought out of the arguments, unless the tool has an
// argument of that name itself.
func (s *Schema) takeThought(m map[string]any) string {
	v, ok := m[thoughtName]
	if s.ownThought || !ok {
		return ""
	}
	delete(m, thoughtName)
	if text, ok := v.(string); ok {
		return strings.TrimSpace(text)
	}
	return ""
}

// unreadable tells the model why its text is no arguments at all.
func (s *Schema) unreadable(raw string, err error) *Failure {
	f := &Failure{Code: InvalidArguments}
	if duplicate := (*duplicateError)(nil); errors.As(err, &duplicate) {
		f.Pointer = shorten(duplicate.pointer, maxPointer)
	}
	f.Message = fmt.Sprintf("The arguments of %s were not read, and nothing was run: %s. ", s.tool, err)
	if required := s.root.Required; len(required) > 0 {
		f.Message += "Required: " + strings.Join(required, ", ") + ". "
	}
	if raw != "" {
		f.Message += "Given: " + shorten(strings.ToValidUTF8(raw, "\ufffd"), maxEcho)
	}
	f.Message = strings.TrimSpace(f.Message)
	return f
}

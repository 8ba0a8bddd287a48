package config

import (
	"fmt"
	"io"
	"log/slog"
)

// placeholder is what every print of a set Secret shows.
const placeholder = "[secret]"

// Secret is a value that is never printed: formatting, logging and encoding all
// show a placeholder. The zero value means that it is not set.
type Secret struct{ value string }

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{value: value} }

// Reveal gives the value itself, for the one call that needs it.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.value == "" }

// String shows a placeholder, or nothing when there is no value.
func (s Secret) String() string {
	if s.value == "" {
		return ""
	}
	return placeholder
}

// GoString hides the value from callers that ask for Go syntax.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// Format hides the value from every verb of fmt, also those that are meant for
// other types and would print the struct's inside.
func (s Secret) Format(f fmt.State, _ rune) {
	if _, err := io.WriteString(f, s.String()); err != nil {
		return // fmt has no way to be told
	}
}

// LogValue hides the value from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value from every text encoder, JSON and YAML among them.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON hides the value from encoding/json.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalYAML hides the value from YAML encoders.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

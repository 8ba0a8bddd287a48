package card

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrButton says that a button's value or a modal's private data is not ours.
var ErrButton = errors.New("not a value of ours")

// Button is the JSON in every button's value: keys to look things up by, never
// an authority.
type Button struct {
	Approval string `json:"a,omitempty"`
	Revision int    `json:"r,omitempty"` // of the approval; of a question about an outcome: the attempt
	Digest   string `json:"d,omitempty"`
	Run      string `json:"n,omitempty"`
	Step     int    `json:"s,omitempty"`
	Grant    string `json:"g,omitempty"`
}

// ModalMeta is a modal's private data: the button that opened it and where that was.
type ModalMeta struct {
	Button
	Channel   string `json:"c,omitempty"`
	MessageTS string `json:"m,omitempty"`
	ThreadTS  string `json:"t,omitempty"`
	// Calls are those that the form decides together.
	Calls []Button `json:"b,omitempty"`
}

// ParseButton reads a button's value: ErrButton when it is not ours.
func ParseButton(value string) (Button, error) {
	var b Button
	if err := json.Unmarshal([]byte(value), &b); err != nil {
		return Button{}, fmt.Errorf("%w: %w", ErrButton, err)
	}
	if b.Approval == "" && b.Run == "" {
		return Button{}, ErrButton
	}
	return b, nil
}

// ParseModalMeta reads a modal's private data: ErrButton when it is not ours.
func ParseModalMeta(private string) (ModalMeta, error) {
	var m ModalMeta
	if err := json.Unmarshal([]byte(private), &m); err != nil {
		return ModalMeta{}, fmt.Errorf("%w: %w", ErrButton, err)
	}
	if m.Approval == "" && m.Run == "" {
		return ModalMeta{}, ErrButton
	}
	return m, nil
}

// Hash is of what is shown: equal hashes need no edit.
func Hash(m Message) string {
	blocks, err := json.Marshal(m.Blocks)
	if err != nil {
		return "" // never equal to a stored one
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d:%s%s", len(m.Text), m.Text, blocks)
	return hex.EncodeToString(sum.Sum(nil))
}

// encode writes a button's value.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}" // ParseButton refuses it
	}
	return string(b)
}

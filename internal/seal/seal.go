// Package seal keeps short secrets in the database so that a copy of the database
// does not give them away: AES-256-GCM under keys that stand in the configuration.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Why a secret cannot be sealed or opened.
var (
	ErrNoKey = errors.New("no key is configured")
	ErrPlain = errors.New("the secret was never sealed")
	ErrKey   = errors.New("the secret was sealed with a key that is not configured")
	ErrOther = errors.New("the secret was changed, or sealed for somebody else")
)

// version begins every sealed text: version.key.nonce-and-ciphertext.
const version = "v1"

// Box seals with its first key and opens with each of them. The zero value has none.
type Box struct{ keys []key }

type key struct {
	id   string // which key sealed a text; says nothing about the key itself
	aead cipher.AEAD
}

// New makes a box of keys of at least 32 random bytes.
func New(keys ...[]byte) (Box, error) {
	var b Box
	for _, secret := range keys {
		k, err := derive(secret)
		if err != nil {
			return Box{}, fmt.Errorf("derive a key: %w", err)
		}
		b.keys = append(b.keys, k)
	}
	return b, nil
}

// derive makes the key that encrypts, and its name, from the one that is configured.
func derive(secret []byte) (key, error) {
	bits, err := hkdf.Key(sha256.New, secret, nil, "countersign seal "+version+" key", 32)
	if err != nil {
		return key{}, err
	}
	id, err := hkdf.Key(sha256.New, secret, nil, "countersign seal "+version+" id", 4)
	if err != nil {
		return key{}, err
	}
	block, err := aes.NewCipher(bits)
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return key{hex.EncodeToString(id), aead}, err
}

// Seal encrypts a secret for its owner: sealed for one it cannot be opened for another.
func (b Box) Seal(secret, owner string) (string, error) {
	if len(b.keys) == 0 {
		return "", ErrNoKey
	}
	k := b.keys[0]
	text := k.aead.Seal(nil, nil, []byte(secret), []byte(owner)) //nolint:gosec // this mode makes a random nonce itself
	return version + "." + k.id + "." + base64.RawURLEncoding.EncodeToString(text), nil
}

// Open gives the secret back. Whatever was not sealed is refused: else who can write
// to the database could put a secret of their own there.
func (b Box) Open(sealed, owner string) (string, error) {
	id, text, ok := parse(sealed)
	if !ok {
		return "", ErrPlain
	}
	if len(b.keys) == 0 {
		return "", ErrNoKey
	}
	for _, k := range b.keys {
		if k.id != id {
			continue
		}
		secret, err := k.aead.Open(nil, nil, text, []byte(owner))
		if err != nil {
			return "", ErrOther
		}
		return string(secret), nil
	}
	return "", ErrKey
}

// Current says whether a text was sealed with the first key.
func (b Box) Current(sealed string) bool {
	id, _, ok := parse(sealed)
	return ok && len(b.keys) > 0 && b.keys[0].id == id
}

// parse takes a sealed text apart; false when it was never sealed.
func parse(sealed string) (id string, text []byte, ok bool) {
	rest, ok := strings.CutPrefix(sealed, version+".")
	if !ok {
		return "", nil, false
	}
	id, encoded, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		text = nil // Open finds it changed
	}
	return id, text, true
}

package config

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// A key must be random; these bound what is taken for it.
const (
	leastKey   = 32 // bytes
	leastKinds = 16 // different bytes: of 32 random ones about 30 are
)

// makeKey says how a key is made.
const makeKey = "make one with `openssl rand -base64 32`"

// Key reads a secret that is a key, in hex or base64. The error never repeats it.
func (s Secret) Key() ([]byte, error) {
	text := s.Reveal()
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString,
		base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if k, err := decode(text); err == nil && len(k) >= leastKey {
			if kinds(k) < leastKinds {
				return nil, errors.New("is not random; " + makeKey)
			}
			return k, nil
		}
	}
	return nil, errors.New("is no key of at least 32 bytes in base64 or hex; " + makeKey)
}

// kinds counts the different bytes of a key.
func kinds(k []byte) int {
	n := 0
	for i, b := range k {
		if bytes.IndexByte(k, b) == i {
			n++
		}
	}
	return n
}

// codesFor names the first setting that asks for one-time codes; "": none does.
func (c *Config) codesFor() string {
	if c.Approvals.StepUp == "totp" {
		return "approvals.step_up"
	}
	if len(c.Approvals.BreakGlass) > 0 {
		return "approvals.break_glass"
	}
	for i, r := range c.Rules {
		if r.StepUp == "totp" {
			return item("rules", i) + ".step_up"
		}
	}
	return ""
}

// codeKeys checks the keys, and that there is one where codes are asked for.
func (k *checker) codeKeys() {
	a := k.Approvals
	if asks := k.codesFor(); asks != "" && a.TOTPKey.IsZero() {
		k.fail(asks, "takes one-time codes, whose secrets need a key: set approvals.totp_key; "+makeKey)
	}
	if !a.TOTPKey.IsZero() {
		if _, err := a.TOTPKey.Key(); err != nil {
			k.fail("approvals.totp_key", "%s", err)
		}
	}
	for i, old := range a.TOTPOldKeys {
		if _, err := old.Key(); err != nil {
			k.fail(item("approvals.totp_old_keys", i), "%s", err)
		}
	}
	if a.TOTPKey.IsZero() && len(a.TOTPOldKeys) > 0 {
		k.fail("approvals.totp_old_keys", "needs approvals.totp_key, the key that takes their place")
	}
}

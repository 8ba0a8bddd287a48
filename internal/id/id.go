// Package id makes the identifiers of runs, approvals, decisions and clicks.
package id

import (
	"crypto/rand"
	"time"
)

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's base 32, lower case

// New gives an identifier that sorts by time: a one-letter prefix, nine
// characters of the millisecond and ten random ones (50 bits).
func New(prefix string, now time.Time) string {
	ms := uint64(now.UnixMilli())
	var b [19]byte
	for i := 8; i >= 0; i-- {
		b[i] = alphabet[ms&31]
		ms >>= 5
	}
	copy(b[9:], random(10))
	return prefix + string(b[:])
}

// Call gives a tool call's id: nine letters and digits, the one form that every
// provider accepts.
func Call() string { return string(random(9)) }

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return b
}

package tools

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Digest is the SHA-256, in hex, over the parts, each preceded by its length,
// so that no two lists of parts give the same bytes.
func Digest(parts ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Fingerprint names a call by what it does: the tool and its canonical
// arguments. Two calls with equal fingerprints are the same call made twice.
func Fingerprint(tool string, canonical json.RawMessage) string {
	return Digest("call", tool, string(canonical))
}

// Contract is the hash of what a tool promises and where it acts, which an approval is
// bound to: if one of these changes between the card and the call, people are asked
// again, and a call of unknown outcome is neither repeated nor looked up elsewhere.
func Contract(s Spec) string {
	schema := string(s.Parameters)
	if canonical, err := Canonical(s.Parameters); err == nil {
		schema = string(canonical)
	}
	parts := []string{
		"contract", s.Name, s.Description, schema, string(s.Risk), strconv.FormatBool(s.Effects), strconv.FormatBool(s.Idempotent),
		strconv.FormatBool(s.Private), strconv.FormatBool(s.Egress),
	}
	if s.Target != "" {
		parts = append(parts, s.Target)
	}
	return Digest(parts...)
}

// Fingerprint is the hash over the material fields: what must be the same when
// the call runs. No preview at all has a fingerprint too, equal to that of a
// preview without material fields.
func (p *Preview) Fingerprint() string {
	parts := []string{"preview"}
	if p != nil {
		for _, name := range slices.Sorted(maps.Keys(p.Material)) {
			parts = append(parts, name, p.Material[name])
		}
	}
	return Digest(parts...)
}

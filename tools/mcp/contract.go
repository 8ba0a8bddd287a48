package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

// Pins keeps the contract that was accepted for each tool. It must outlive the
// process, or a server could change its tools while nobody looks.
type Pins interface {
	// Seen takes down the contract with which a server lists a tool, for people to look
	// at, and gives the hash of the accepted one: the first that is seen is accepted.
	Seen(ctx context.Context, server, tool, hash, text string) (accepted string, err error)
	// Pin accepts a contract, in place of an earlier one.
	Pin(ctx context.Context, server, tool, hash, text string) error
}

// Parts of a contract, as a change of them is named and may be accepted beforehand.
var Parts = []string{"server", "description", "parameters", "results", "annotations"}

// contractOf hashes what a tool promises, part by part, so that a change can be
// named without the old text being kept: "server=…,description=…". Each part is the
// first half of a SHA-256 in hex.
func contractOf(server *mcp.Implementation, t *mcp.Tool) string {
	var parts []string
	for i, value := range []any{[]string{server.Name, server.Version}, t.Description, t.InputSchema, t.OutputSchema, t.Annotations} {
		parts = append(parts, Parts[i]+"="+halfHash(value))
	}
	return strings.Join(parts, ",")
}

// wordsRunes bounds what is kept of a contract; its hash covers all of it.
const wordsRunes = 100_000

// wordsOf is the contract for people: the server's words, drawn.
func wordsOf(server *mcp.Implementation, t *mcp.Tool) string {
	return cut(draw(pretty(struct {
		Server  string    `json:"server"`
		Version string    `json:"version"`
		Tool    *mcp.Tool `json:"tool"`
	}{server.Name, server.Version, t})), wordsRunes)
}

func halfHash(value any) string {
	text, err := json.Marshal(value)
	if err == nil {
		if canonical, err := tools.Canonical(text); err == nil {
			text = canonical
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// changedParts names what differs between two hashes of contractOf.
func changedParts(before, now string) []string {
	old := strings.Split(before, ",")
	var changed []string
	for part := range strings.SplitSeq(now, ",") {
		if !slices.Contains(old, part) {
			name, _, _ := strings.Cut(part, "=")
			changed = append(changed, name)
		}
	}
	return changed
}

// memoryPins keeps pins for one process.
type memoryPins struct {
	mu     sync.Mutex
	hashes map[string]string
}

func (m *memoryPins) Seen(_ context.Context, server, tool, hash, _ string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := server + "/" + tool
	if _, ok := m.hashes[key]; !ok {
		m.hashes[key] = hash
	}
	return m.hashes[key], nil
}

func (m *memoryPins) Pin(_ context.Context, server, tool, hash, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hashes[server+"/"+tool] = hash
	return nil
}

// hold is why a tool may not be called.
type hold struct {
	changed []string // parts of its contract; empty: it could not be compared
}

// pinned compares a contract with the accepted one. A nil hold lets the tool run. What
// cannot be checked is held; a change of nothing but what may change is accepted.
func (s *Server) pinned(ctx context.Context, server *mcp.Implementation, t *mcp.Tool) (hash string, h *hold) {
	hash, words := contractOf(server, t), wordsOf(server, t)
	accepted, err := s.cfg.Pins.Seen(ctx, s.cfg.Name, t.Name, hash, words)
	changed := changedParts(accepted, hash)
	if err == nil && accepted != hash && s.mayChange(changed) {
		err, accepted = s.cfg.Pins.Pin(ctx, s.cfg.Name, t.Name, hash, words), hash
		s.cfg.Logger.InfoContext(ctx, "a changed contract was accepted, as the configuration says", "tool", t.Name, "changed", changed)
	}
	switch {
	case err != nil:
		s.cfg.Logger.WarnContext(ctx, "the pinned contract of a tool cannot be read or stored", "tool", t.Name, "error", err)
		return hash, &hold{}
	case accepted != hash:
		return hash, &hold{changed: changed}
	}
	return hash, nil
}

// mayChange says whether changes of all these parts were accepted beforehand.
func (s *Server) mayChange(parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !slices.Contains(s.cfg.MayChange, part) })
}

// failure is what a call of a held tool is answered.
func (h *hold) failure(server, tool string) *tools.Failure {
	if len(h.changed) == 0 {
		return &tools.Failure{Code: "contract_unknown", Message: "The pinned contract of " + tool +
			" cannot be read at the moment, so that it may not be called. Nothing was sent."}
	}
	return &tools.Failure{Code: "contract_changed", Message: "The MCP server " + server + " changed the " + strings.Join(h.changed, ", ") +
		" of its tool " + tool + " since it was accepted. It may not be called until an operator looks at the change and accepts it (countersign tools show " + server + "). Nothing was sent."}
}

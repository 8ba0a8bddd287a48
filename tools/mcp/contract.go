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
	// Pinned gives the hash that Pin stored last; ok is false when there is none.
	Pinned(ctx context.Context, server, tool string) (hash string, ok bool, err error)
	// Pin stores the hash, in place of an earlier one.
	Pin(ctx context.Context, server, tool, hash string) error
}

// contractOf hashes what a tool promises, part by part, so that a change can be
// named without the old text being kept: "server=…,description=…". Each part is the
// first half of a SHA-256 in hex.
func contractOf(server *mcp.Implementation, t *mcp.Tool) string {
	var parts []string
	for _, part := range []struct {
		name  string
		value any
	}{
		{"server", []string{server.Name, server.Version}},
		{"description", t.Description},
		{"parameters", t.InputSchema},
		{"results", t.OutputSchema},
		{"annotations", t.Annotations},
	} {
		parts = append(parts, part.name+"="+halfHash(part.value))
	}
	return strings.Join(parts, ",")
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

func (m *memoryPins) Pinned(_ context.Context, server, tool string) (string, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	hash, ok := m.hashes[server+"/"+tool]
	return hash, ok, nil
}

func (m *memoryPins) Pin(_ context.Context, server, tool, hash string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hashes[server+"/"+tool] = hash
	return nil
}

// hold is why a tool may not be called.
type hold struct {
	changed []string // parts of its contract; empty: it could not be compared
}

// pinned compares a contract with the accepted one; the first that is seen is
// accepted. A nil hold lets the tool run. What cannot be checked is held.
func (s *Server) pinned(ctx context.Context, tool, hash string) *hold {
	accepted, ok, err := s.cfg.Pins.Pinned(ctx, s.cfg.Name, tool)
	if err == nil && !ok {
		accepted, err = hash, s.cfg.Pins.Pin(ctx, s.cfg.Name, tool, hash)
	}
	switch {
	case err != nil:
		s.cfg.Logger.WarnContext(ctx, "the pinned contract of a tool cannot be read or stored", "tool", tool, "error", err)
		return &hold{}
	case accepted != hash:
		return &hold{changed: changedParts(accepted, hash)}
	}
	return nil
}

// failure is what a call of a held tool is answered.
func (h *hold) failure(server, tool string) *tools.Failure {
	if len(h.changed) == 0 {
		return &tools.Failure{Code: "contract_unknown", Message: "The pinned contract of " + tool +
			" cannot be read at the moment, so that it may not be called. Nothing was sent."}
	}
	return &tools.Failure{Code: "contract_changed", Message: "The MCP server " + server + " changed the " + strings.Join(h.changed, ", ") +
		" of its tool " + tool + " since it was accepted. It may not be called until an operator accepts the change. Nothing was sent."}
}

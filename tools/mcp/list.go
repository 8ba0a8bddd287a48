package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

// maxTools is how many tools one server may offer: more would fill the model's context.
const maxTools = 200

// list reads the server's tools, compares their contracts with the pinned ones, and
// tells of what changed. When it fails the old list stays.
func (s *Server) list(ctx context.Context, session *mcp.ClientSession) error {
	raw, err := s.read(ctx, session)
	if err != nil {
		return err
	}
	server := &mcp.Implementation{}
	if hello := session.InitializeResult(); hello != nil && hello.ServerInfo != nil {
		server = hello.ServerInfo
	}
	names := s.namer(raw)
	next, skipped := map[string]*tool{}, map[string]string{}
	for _, r := range raw {
		t, err := s.adopt(ctx, r, server, names)
		if err != nil {
			skipped[r.Name] = oneLine(err.Error(), 300)
			s.cfg.Logger.WarnContext(ctx, "a tool of an MCP server cannot be offered", "tool", oneLine(r.Name, 100), "error", skipped[r.Name])
			continue
		}
		next[r.Name] = t
	}
	for _, name := range s.cfg.Allow {
		if !slices.ContainsFunc(raw, func(t *mcp.Tool) bool { return t.Name == name }) {
			skipped[name] = "the server does not list it"
		}
	}
	s.replace(next, skipped)
	return nil
}

// read gets the list, page by page, as far as it is allowed.
func (s *Server) read(ctx context.Context, session *mcp.ClientSession) ([]*mcp.Tool, error) {
	var out []*mcp.Tool
	seen := map[string]bool{}
	count := 0
	for t, err := range session.Tools(ctx, nil) {
		if e, ok := answer(err); ok && e.Code == jsonrpc.CodeMethodNotFound {
			return nil, nil // a server without tools
		}
		if err != nil {
			return nil, fmt.Errorf("its tools cannot be listed: %w", err)
		}
		if count++; count > maxTools {
			s.cfg.Logger.WarnContext(ctx, "an MCP server lists too many tools; the rest is left out", "limit", maxTools)
			break
		}
		if seen[t.Name] || len(s.cfg.Allow) > 0 && !slices.Contains(s.cfg.Allow, t.Name) {
			continue
		}
		seen[t.Name] = true
		out = append(out, t)
	}
	return out, nil
}

// namer starts from the names that were given before. Exact ones come first.
func (s *Server) namer(raw []*mcp.Tool) *naming {
	n := &naming{namer: namer{server: s.cfg.Name, given: map[string]string{}, taken: s.cfg.Taken}, listed: map[string]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for own, t := range s.listed {
		n.given[own] = t.spec.Name
	}
	for _, t := range raw {
		n.listed[t.Name] = true
	}
	return n
}

type naming struct {
	namer
	listed map[string]bool
}

// adopt makes a tool of what the server lists, or keeps the one that there is.
func (s *Server) adopt(ctx context.Context, r *mcp.Tool, server *mcp.Implementation, names *naming) (*tool, error) {
	hash, h := s.pinned(ctx, server, r)
	s.mu.Lock()
	before := s.listed[r.Name]
	s.mu.Unlock()
	if before != nil && before.hash == hash && sameHold(before.hold, h) {
		return before, nil
	}
	name := names.name(r.Name, func(own string) bool { return names.listed[own] })
	t := &tool{server: s, raw: r, hash: hash, hold: h}
	if h != nil {
		s.cfg.Logger.WarnContext(ctx, "a tool of an MCP server is held until its changed contract is accepted: countersign tools accept",
			"tool", oneLine(r.Name, 100), "changed", h.changed)
		t.spec = s.heldSpec(name, r.Name, hash, h)
		return t, nil
	}
	var err error
	t.spec, err = s.specOf(name, r, server, hash)
	return t, err
}

func sameHold(a, b *hold) bool {
	return (a == nil) == (b == nil) && (a == nil || slices.Equal(a.changed, b.changed))
}

// replace takes the new list and tells of the difference.
func (s *Server) replace(next map[string]*tool, skipped map[string]string) {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.mu.Lock()
	before := s.listed
	s.listed, s.skipped = next, skipped
	s.mu.Unlock()
	var added []*tool
	var removed []string
	for own, t := range next {
		if before[own] != t {
			added = append(added, t)
		}
	}
	for own, t := range before {
		if next[own] != t {
			removed = append(removed, t.spec.Name)
		}
	}
	if slices.Sort(removed); len(added)+len(removed) > 0 {
		s.change(asTools(added), removed)
	}
}

// holds says whether a tool waits for somebody to accept its contract.
func (s *Server) holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.listed {
		if t.hold != nil {
			return true
		}
	}
	return false
}

// current says whether a tool is still what the server lists.
func (s *Server) current(t *tool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed[t.raw.Name] == t
}

var _ tools.Guard = (*tool)(nil)

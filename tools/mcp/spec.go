package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

// Bounds of what a server may say about one tool.
const (
	descriptionRunes = 1500
	hintRunes        = 300 // of a description inside the schema
	maxSchema        = 64 << 10
)

// specOf turns what a server lists into our contract. Without trust its hints only
// ever make us ask more.
func (s *Server) specOf(name string, t *mcp.Tool, server *mcp.Implementation, hash string) (tools.Spec, error) {
	schema, err := schemaOf(t.InputSchema)
	if err != nil {
		return tools.Spec{}, err
	}
	spec := s.access(name)
	spec.Description = s.describe(t, server, hash)
	spec.Parameters = schema
	s.judge(&spec, t.Annotations)
	_, err = tools.Compile(spec)
	return spec, err
}

// access is what the operator declared for all tools of the server.
func (s *Server) access(name string) tools.Spec {
	return tools.Spec{
		Name: name, Private: s.cfg.Private, Roles: s.cfg.Roles, Channels: s.cfg.Channels, Timeout: s.cfg.Timeout,
		Risk: s.cfg.Risk, Effects: true, Egress: s.cfg.Egress == nil || *s.cfg.Egress,
		Target: tools.Digest(append([]string{s.cfg.URL}, s.cfg.Command...)...),
	}
}

// judge applies the annotations. The protocol's defaults are the careful ones: a tool
// that says nothing changes things and talks to the outside world.
func (s *Server) judge(spec *tools.Spec, hints *mcp.ToolAnnotations) {
	if hints == nil {
		return
	}
	if s.cfg.Trusted && hints.ReadOnlyHint {
		spec.Risk = tools.Low
	}
	// Where the operator chose low risk, the server's word that it only reads decides
	// no more than whether a broken call is looked into.
	spec.Effects = spec.Risk != tools.Low || !hints.ReadOnlyHint
	spec.Parallel = !spec.Effects
	spec.Idempotent = spec.Effects && s.cfg.Trusted && hints.IdempotentHint
	if s.cfg.Egress == nil && s.cfg.Trusted && hints.OpenWorldHint != nil {
		spec.Egress = *hints.OpenWorldHint
	}
}

// describe bounds the server's words and says whose words they are. The last line
// also makes an approval lapse when any part of the contract changes.
func (s *Server) describe(t *mcp.Tool, server *mcp.Implementation, hash string) string {
	text := cut(draw(strings.TrimSpace(t.Description)), descriptionRunes)
	if text != "" {
		text += "\n"
	}
	return text + fmt.Sprintf("(Tool %q of the MCP server %s, which calls itself %s; contract %s)", oneLine(t.Name, 100), s.cfg.Name,
		oneLine(strings.TrimSpace(server.Name+" "+server.Version), 100), tools.Digest("mcp contract", hash)[:8])
}

// heldSpec stands in for a tool that may not be called: the changed words of the
// server are not shown to the model before somebody accepted them.
func (s *Server) heldSpec(name, tool, hash string, h *hold) tools.Spec {
	spec := s.access(name)
	spec.Risk = tools.High
	spec.Parameters = json.RawMessage(`{"type":"object"}`)
	spec.Description = fmt.Sprintf("Not to be called: %s (contract %s)", h.failure(s.cfg.Name, oneLine(tool, 100)).Message, tools.Digest("mcp contract", hash)[:8])
	return spec
}

// schemaOf bounds a schema and draws its texts. A missing one takes no arguments.
func schemaOf(schema any) (json.RawMessage, error) {
	if schema == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("the schema has %d bytes; %d are allowed", len(raw), maxSchema)
	}
	var copied any
	if err := json.Unmarshal(raw, &copied); err != nil {
		return nil, err
	}
	cleanSchema(copied)
	return json.Marshal(copied)
}

// cleanSchema bounds the texts of a schema, in place. Values that arguments are
// compared with stay as they are.
func cleanSchema(node any) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			cleanSchema(item)
		}
	case map[string]any:
		for key, value := range node {
			text, isText := value.(string)
			switch key {
			case "const", "enum", "default", "examples":
			case "title", "description", "$comment":
				if isText {
					node[key] = cut(draw(text), hintRunes)
					continue
				}
				cleanSchema(value) // a property of that name
			default:
				cleanSchema(value)
			}
		}
	}
}

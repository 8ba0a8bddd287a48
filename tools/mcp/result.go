package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxResult is how many bytes of text one call may give.
const maxResult = 1 << 20

// textOf writes a result for the model: texts as they are, structured content as
// JSON unless a text says the same, everything else by name.
func textOf(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if text := contentText(c); text != "" {
			parts = append(parts, text)
		}
	}
	if r.StructuredContent != nil && !saysTheSame(parts, r.StructuredContent) {
		parts = append(parts, pretty(r.StructuredContent))
	}
	text := drawControls(strings.Join(parts, "\n"))
	if len(text) > maxResult {
		text = strings.ToValidUTF8(text[:maxResult], "") + fmt.Sprintf("\n(cut after %d bytes)", maxResult)
	}
	return text
}

// saysTheSame says whether one of the texts is the structured content, as the protocol
// asks of servers.
func saysTheSame(texts []string, structured any) bool {
	for _, text := range texts {
		var value any
		if json.Unmarshal([]byte(text), &value) == nil && reflect.DeepEqual(value, structured) {
			return true
		}
	}
	return false
}

func contentText(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[image, %s, %d bytes]", mimeType(c.MIMEType), len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[audio, %s, %d bytes]", mimeType(c.MIMEType), len(c.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[link to resource %s: %s, %s]", oneLine(c.Name, 100), oneLine(c.URI, 300), mimeType(c.MIMEType))
	case *mcp.EmbeddedResource:
		return resourceText(c.Resource)
	}
	return "[content of a kind that is not known here]"
}

// resourceText names a resource. Its text, if it is one, is what was asked for: there
// are servers that give the content of a file in no other way.
func resourceText(r *mcp.ResourceContents) string {
	if r == nil {
		return "[empty resource]"
	}
	head := fmt.Sprintf("resource %s, %s", oneLine(r.URI, 300), mimeType(r.MIMEType))
	if r.Text != "" {
		return "[" + head + "]\n" + r.Text
	}
	return fmt.Sprintf("[%s, %d bytes]", head, len(r.Blob))
}

func mimeType(text string) string {
	if text == "" {
		return "unknown type"
	}
	return oneLine(text, 80)
}

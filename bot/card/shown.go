package card

import (
	"encoding/json"
	"strings"

	"github.com/slack-go/slack"
)

// Shown is what people read of blocks, as text: for the record, which says what was
// on a card when somebody could decide on it.
func Shown(blocks []slack.Block) string {
	raw, err := json.Marshal(blocks)
	if err != nil {
		return ""
	}
	var all any
	if json.Unmarshal(raw, &all) != nil {
		return ""
	}
	var out strings.Builder
	readAny(&out, all)
	return strings.TrimSpace(out.String())
}

func readAny(out *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		out.WriteString(v)
	case []any:
		for _, e := range v {
			readAny(out, e)
		}
	case map[string]any:
		readPart(out, v)
	}
}

// readPart reads one block or element: what it says first, then what it holds.
func readPart(out *strings.Builder, part map[string]any) {
	kind, _ := part["type"].(string)
	if kind == "button" {
		out.WriteString("[")
	}
	for _, key := range []string{"title", "label", "text", "fallback", "elements", "fields", "rows", "accessory", "child_blocks", "blocks"} {
		readAny(out, part[key])
	}
	if user, ok := part["user_id"].(string); ok {
		out.WriteString("<@" + user + ">")
	}
	switch kind {
	case "button":
		out.WriteString("] ")
	case "mrkdwn", "rich_text_section", "rich_text_preformatted", "rich_text_quote", "section", "header", "actions", "raw_text":
		out.WriteString("\n")
	}
}

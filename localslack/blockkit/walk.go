package blockkit

import (
	"encoding/json"
	"fmt"
)

// Complete fills in the block ids and action ids that are missing, as Slack
// does when it stores blocks. Blocks that do not parse come back unchanged.
func Complete(raw json.RawMessage, id func() string) json.RawMessage {
	var blocks []any
	if decode(raw, &blocks) != nil {
		return raw
	}
	for _, b := range blocks {
		m, ok := b.(map[string]any)
		if !ok {
			continue
		}
		if s, _ := m["block_id"].(string); s == "" {
			m["block_id"] = id()
		}
		eachElement(m, func(e map[string]any) {
			if s, _ := e["action_id"].(string); s == "" {
				e["action_id"] = id()
			}
		})
	}
	out, err := json.Marshal(blocks)
	if err != nil {
		return raw
	}
	return out
}

// eachElement visits the interactive elements of a block, those of its child
// blocks included.
func eachElement(block map[string]any, visit func(map[string]any)) {
	try := func(v any) {
		e, ok := v.(map[string]any)
		if kind, _ := e["type"].(string); ok && interactive(kind) {
			visit(e)
		}
	}
	try(block["accessory"])
	try(block["element"])
	for _, key := range []string{"elements", "actions", "child_blocks"} {
		items, _ := block[key].([]any)
		for _, x := range items {
			try(x)
			if child, ok := x.(map[string]any); ok && (key == "child_blocks" || child["type"] == "card") {
				eachElement(child, visit)
			}
		}
	}
}

func interactive(kind string) bool {
	spec, ok := elementTable()[kind]
	if !ok {
		return false
	}
	_, acts := spec.fields["action_id"]
	return acts
}

// Found is an interactive element with the block that holds it.
type Found struct {
	BlockID  string
	ActionID string
	Type     string
	Element  map[string]any // numbers are json.Number
	Input    bool           // stands in an input block
	Optional bool           // input blocks: may be left empty
	Label    string         // input blocks: the label's text
}

// Elements lists the interactive elements of blocks in order.
func Elements(raw json.RawMessage) []Found {
	var blocks []any
	if decode(raw, &blocks) != nil {
		return nil
	}
	var out []Found
	for _, b := range blocks {
		out = append(out, elementsOf(b)...)
	}
	return out
}

func elementsOf(b any) []Found {
	m, ok := b.(map[string]any)
	if !ok {
		return nil
	}
	if children, ok := m["child_blocks"].([]any); ok {
		var out []Found
		for _, c := range children {
			out = append(out, elementsOf(c)...)
		}
		return out
	}
	var out []Found
	id, _ := m["block_id"].(string)
	optional, _ := m["optional"].(bool)
	label, _ := m["label"].(map[string]any)
	words, _ := label["text"].(string)
	eachElement(m, func(e map[string]any) {
		kind, _ := e["type"].(string)
		action, _ := e["action_id"].(string)
		out = append(out, Found{
			BlockID: id, ActionID: action, Type: kind, Element: e, Input: m["type"] == "input", Optional: optional, Label: words,
		})
	})
	return out
}

// Texts lists every text that a reader sees, in order of the blocks: text
// objects, rich_text elements (people as <@ID>), cells, markdown, titles.
func Texts(raw json.RawMessage) []string {
	var out []string
	visit(raw, func(key string, v any) {
		switch x := v.(type) {
		case string:
			if readable(key) {
				out = append(out, x)
			}
		case map[string]any:
			switch {
			case x["type"] == "link" && x["text"] == nil:
				out = append(out, fmt.Sprint(x["url"]))
			case x["type"] == "user":
				out = append(out, fmt.Sprintf("<@%v>", x["user_id"]))
			}
		}
	})
	return out
}

// readable are the keys under which a plain string is shown to readers.
func readable(key string) bool {
	return key == "text" || key == "title" || key == "caption" || key == "alt_text"
}

// Interpreted lists the texts in which Slack reads mentions and links: mrkdwn
// objects and markdown blocks.
func Interpreted(raw json.RawMessage) []string {
	var out []string
	visit(raw, func(_ string, v any) {
		m, _ := v.(map[string]any)
		if s, ok := m["text"].(string); ok && (m["type"] == "mrkdwn" || m["type"] == "markdown") {
			out = append(out, s)
		}
	})
	return out
}

// Mentions lists whom rich_text elements call: "@U1", "!subteam^S1", "!here",
// and the links in them.
func Mentions(raw json.RawMessage) []string {
	var out []string
	visit(raw, func(_ string, v any) {
		m, _ := v.(map[string]any)
		switch m["type"] {
		case "user":
			out = append(out, fmt.Sprintf("@%v", m["user_id"]))
		case "usergroup":
			out = append(out, fmt.Sprintf("!subteam^%v", m["usergroup_id"]))
		case "broadcast":
			out = append(out, fmt.Sprintf("!%v", m["range"]))
		case "link":
			out = append(out, fmt.Sprint(m["url"]))
		}
	})
	return out
}

// textKeys is the order in which a reader meets the parts of a block.
var textKeys = []string{
	"label", "title", "caption", "subtitle", "text", "body", "subtext", "alt_text", "fields", "hint", "accessory", "element", "placeholder",
	"elements", "rows", "actions", "child_blocks", "tasks", "details", "output", "options", "initial_value", "positive_button", "negative_button",
}

// visit walks the parts of blocks that readers see, in their order.
func visit(raw json.RawMessage, fn func(key string, v any)) {
	var v any
	if len(raw) > 0 && decode(raw, &v) == nil {
		walk("", v, fn)
	}
}

func walk(key string, v any, fn func(key string, v any)) {
	fn(key, v)
	switch x := v.(type) {
	case []any:
		for _, y := range x {
			walk("", y, fn)
		}
	case map[string]any:
		for _, k := range textKeys {
			if y, ok := x[k]; ok {
				walk(k, y, fn)
			}
		}
	}
}

package localslack

import (
	"encoding/json"
	"unicode/utf8"

	"countersign/localslack/blockkit"
)

// Slack's limits on messages, in characters unless said.
const (
	maxPostText     = 40_000 // longer texts are cut, with a warning
	maxUpdateText   = 4_000
	maxMarkdownText = 12_000
	maxAttachments  = 100
	maxMetadata     = 4_096 // bytes; Slack has a limit but publishes none
)

// draft is the content of a message in a call, checked.
type draft struct {
	text        string
	blocks      json.RawMessage // nil: not given; [] given and empty
	attachments json.RawMessage
	metadata    *Metadata
	hasMetadata bool
	noUnfurl    bool
	warning     string
}

// readDraft reads and checks text, blocks, attachments and metadata.
func (s *Server) readDraft(a args) (d draft, err error) {
	d.text = a.str("text")
	if md := a.str("markdown_text"); md != "" {
		if d.text != "" || a.has("blocks") {
			return d, refuse("markdown_text_conflict")
		}
		if utf8.RuneCountInString(md) > maxMarkdownText {
			return d, refuse("msg_too_long")
		}
		d.text = md
		a["blocks"], _ = json.Marshal([]any{object{"type": "markdown", "text": md}})
	}
	if d.blocks, err = a.object("blocks"); err != nil {
		return d, refuse("invalid_blocks_format")
	}
	if err := s.checkBlocks(d.blocks, blockkit.Message); err != nil {
		return d, err
	}
	if d.attachments, err = a.object("attachments"); err != nil {
		return d, err
	}
	if n := countItems(d.attachments); n > maxAttachments {
		return d, refuse("too_many_attachments")
	}
	d.noUnfurl = a.has("unfurl_links") && !a.flag("unfurl_links", true) && a.has("unfurl_media") && !a.flag("unfurl_media", true)
	d.hasMetadata = a.has("metadata")
	d.metadata, err = readMetadata(a)
	return d, err
}

// checkBlocks refuses blocks that Slack would refuse.
func (s *Server) checkBlocks(raw json.RawMessage, where blockkit.Surface) error {
	problem := blockkit.Check(raw, where)
	if problem == nil {
		return nil
	}
	s.violate(ViolationBlocks, problem.Code)
	return refuse(problem.Code, problem.Messages...)
}

func countItems(raw json.RawMessage) int {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return 0
	}
	return len(items)
}

// readMetadata returns nil for missing and for empty metadata.
func readMetadata(a args) (*Metadata, error) {
	raw, err := a.object("metadata")
	if err != nil {
		return nil, refuse("invalid_metadata_format")
	}
	if raw == nil || string(raw) == "{}" {
		return nil, nil
	}
	if len(raw) > maxMetadata {
		return nil, refuse("metadata_too_large")
	}
	var m Metadata
	if json.Unmarshal(raw, &m) != nil || m.EventType == "" || !flatEnough(m.EventPayload) {
		return nil, refuse("invalid_metadata_schema")
	}
	return &m, nil
}

// flatEnough accepts plain values and one level of objects or arrays.
func flatEnough(payload json.RawMessage) bool {
	var top map[string]any
	if json.Unmarshal(payload, &top) != nil {
		return false
	}
	for _, v := range top {
		if depth(v) > 2 {
			return false
		}
	}
	return true
}

func depth(v any) int {
	deepest := 0
	switch x := v.(type) {
	case map[string]any:
		for _, y := range x {
			deepest = max(deepest, depth(y))
		}
		return deepest + 1
	case []any:
		for _, y := range x {
			deepest = max(deepest, depth(y))
		}
		if _, ofObjects := first(x).(map[string]any); ofObjects {
			return deepest // an array of objects counts as one level
		}
		return deepest + 1
	}
	return 0
}

func first(x []any) any {
	if len(x) == 0 {
		return nil
	}
	return x[0]
}

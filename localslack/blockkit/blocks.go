package blockkit

import (
	"encoding/json"
	"fmt"
)

// blockSpec says what a block may hold and on which surfaces it may stand.
type blockSpec struct {
	where  Surface
	fields fields
	extra  func(c *checker, path string, m map[string]any)
}

func block(where Surface, f fields, extra func(*checker, string, map[string]any)) blockSpec {
	f["block_id"] = may(str(1, 255))
	return blockSpec{where: where, fields: f, extra: extra}
}

// blockSpecs makes the table of all blocks that can be posted.
func blockSpecs() map[string]blockSpec {
	title := may(plain(2000))
	image := imageFields()
	image["title"] = title
	return map[string]blockSpec{
		"section": block(everywhere, fields{
			"text": may(mrkdwn(3000)), "fields": may(list(1, 10, mrkdwn(2000))), "accessory": may(elementIn("section")), "expand": may(boolean),
		}, sectionExtra),
		"header":          block(everywhere, fields{"text": must(plain(150)), "level": may(integer(1, 4))}, nil),
		"divider":         block(everywhere, fields{}, nil),
		"context":         block(everywhere, fields{"elements": must(list(1, 10, contextElement))}, nil),
		"actions":         block(everywhere, fields{"elements": must(list(1, 25, elementIn("actions")))}, actionsExtra),
		"context_actions": block(Message, fields{"elements": must(list(1, 5, elementIn("context_actions")))}, actionsExtra),
		"input": block(everywhere, fields{
			"label": must(plain(2000)), "element": must(elementIn("input")), "hint": may(plain(2000)), "optional": may(boolean), "dispatch_action": may(boolean),
		}, func(c *checker, _ string, _ map[string]any) { c.inputs++ }),
		"image": block(everywhere, image, oneImageSource),
		"video": block(everywhere, fields{
			"alt_text": must(str(1, 2000)), "title": must(plain(199)), "title_url": may(str(1, 3000)), "thumbnail_url": must(str(1, 3000)),
			"video_url": must(str(1, 3000)), "author_name": may(str(1, 49)), "description": may(plain(200)), "provider_name": may(str(1, 50)), "provider_icon_url": may(str(1, 3000)),
		}, nil),
		"rich_text": block(everywhere, fields{"elements": must(list(0, 1000, richPart))}, nil),
		"markdown": block(Message, fields{"text": must(str(1, maxMarkdown))}, func(c *checker, _ string, m map[string]any) {
			s, _ := m["text"].(string)
			c.markdown += length(s)
		}),
		"table": block(Message, fields{
			"rows": must(list(1, 100, list(1, 20, cell("raw_text", "rich_text", "raw_number")))), "column_settings": may(list(0, 20, anything)),
		}, tableExtra),
		"data_table": block(Message, fields{
			"caption": must(str(1, 2000)), "rows": must(list(2, 101, list(1, 20, cell("raw_text", "raw_number", "rich_text", "action_cell")))), "page_size": may(integer(1, 100)),
			"row_header_column_index": may(integer(0, 19)),
		}, dataTableExtra),
		"card":     block(Message, cardFields(), cardExtra),
		"carousel": block(Message, fields{"elements": must(list(1, 10, cardElement))}, nil),
		"alert": block(Modal, fields{
			"text": must(mrkdwn(200)), "level": may(oneOf("default", "info", "warning", "error", "success")),
		}, nil),
		"container": block(Message, fields{
			"title": must(plain(150)), "subtitle": may(plain(150)), "child_blocks": must(list(1, 10, childBlock)), "icon": may(anything),
			"width": may(str(1, 20)), "is_collapsible": may(boolean), "default_collapsed": may(boolean),
		}, nil),
		"task_card": block(Message, taskFields(), nil),
		"plan":      block(Message, fields{"title": must(str(1, 256)), "tasks": may(list(0, 50, taskCard))}, nil),
	}
}

func sectionExtra(c *checker, path string, m map[string]any) {
	_, text := m["text"]
	_, fields := m["fields"]
	if !text && !fields {
		c.fail(path, "missing required field: text")
	}
}

func actionsExtra(c *checker, path string, m map[string]any) {
	uniqueActionIDs(c, path+"/elements", m["elements"])
}

func contextElement(c *checker, path string, v any) {
	m, _ := v.(map[string]any)
	if m["type"] == "image" {
		elementIn("context")(c, path, v)
		return
	}
	mrkdwn(2000)(c, path, v)
}

// cell is a table cell of one of the given kinds.
func cell(kinds ...string) rule {
	return func(c *checker, path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			c.fail(path, "must be an object")
			return
		}
		kind, _ := m["type"].(string)
		oneOf(kinds...)(c, path+"/type", kind)
		switch kind {
		case "raw_text":
			c.object(path, m, fields{"text": must(str(0, maxTableText))})
		case "raw_number":
			c.object(path, m, fields{"value": must(anything), "text": may(str(0, 100))})
		case "rich_text":
			richText(c, path, v)
		}
	}
}

func tableExtra(c *checker, _ string, m map[string]any) { c.table += textIn(m["rows"]) }

// textIn adds up the text of all cells.
func textIn(v any) int {
	n := 0
	switch x := v.(type) {
	case []any:
		for _, y := range x {
			n += textIn(y)
		}
	case map[string]any:
		for k, y := range x {
			if s, ok := y.(string); ok && k == "text" {
				n += length(s)
				continue
			}
			n += textIn(y)
		}
	}
	return n
}

func dataTableExtra(c *checker, path string, m map[string]any) {
	rows, _ := m["rows"].([]any)
	width := -1
	for i, r := range rows {
		cells, _ := r.([]any)
		if width >= 0 && len(cells) != width {
			c.fail(fmt.Sprintf("%s/rows/%d", path, i), "all rows must have the same number of cells")
		}
		width = len(cells)
		if i == 0 {
			for j, x := range cells {
				if h, _ := x.(map[string]any); h["type"] != "raw_text" {
					c.fail(fmt.Sprintf("%s/rows/0/%d", path, j), "header cells must be raw_text")
				}
			}
		}
	}
	tableExtra(c, path, m)
}

func cardFields() fields {
	picture := obj(imageFields())
	return fields{
		"block_id": may(str(1, 255)), "hero_image": may(picture), "icon": may(picture), "slack_icon": may(anything), "title": may(mrkdwn(150)),
		"subtitle": may(mrkdwn(150)), "body": may(mrkdwn(200)), "subtext": may(mrkdwn(200)), "actions": may(list(1, 3, elementIn("card"))),
	}
}

func cardExtra(c *checker, path string, m map[string]any) {
	for _, key := range []string{"hero_image", "title", "actions", "body"} {
		if _, ok := m[key]; ok {
			return
		}
	}
	c.fail(path, "one of hero_image, title, actions, body is needed")
}

func cardElement(c *checker, path string, v any) {
	m, ok := v.(map[string]any)
	if !ok || m["type"] != "card" {
		c.fail(path, "must be a card")
		return
	}
	c.object(path, m, cardFields())
	cardExtra(c, path, m)
}

// childBlock is a block within a container.
func childBlock(c *checker, path string, v any) {
	m, _ := v.(map[string]any)
	switch kind, _ := m["type"].(string); kind {
	case "actions", "context", "divider", "header", "image", "input", "rich_text", "section", "table", "video":
		c.block(path, v)
	default:
		c.fail(path+"/type", "block type not allowed in a container: %s", kind)
	}
}

func taskFields() fields {
	source := obj(fields{"url": must(str(1, 3000)), "text": must(str(1, 256))})
	return fields{
		"block_id": may(str(1, 255)), "task_id": must(str(1, 255)), "title": must(str(1, 256)),
		"status": may(oneOf("pending", "in_progress", "complete", "error")), "details": may(richText), "output": may(richText),
		"sources": may(list(0, 50, source)), "hide_title": may(boolean),
	}
}

func taskCard(c *checker, path string, v any) {
	m, ok := v.(map[string]any)
	if !ok || m["type"] != "task_card" {
		c.fail(path, "must be a task_card")
		return
	}
	c.object(path, m, taskFields())
}

func intOf(v any) int {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return int(i)
}

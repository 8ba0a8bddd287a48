package blockkit

import "fmt"

// plain and rich are the two kinds of text objects.
func plain(most int) rule  { return text(most, false) }
func mrkdwn(most int) rule { return text(most, true) }

// text is a text object; the text counts toward the message's total.
func text(most int, allowMrkdwn bool) rule {
	return func(c *checker, path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			c.fail(path, "must be a text object")
			return
		}
		spec := fields{"text": must(str(1, most))}
		switch m["type"] {
		case "plain_text":
			spec["emoji"] = may(boolean)
		case "mrkdwn":
			spec["verbatim"] = may(boolean)
			if !allowMrkdwn {
				c.fail(path+"/type", "must be plain_text")
			}
		default:
			c.fail(path+"/type", "unsupported text type")
		}
		c.object(path, m, spec)
		if s, ok := m["text"].(string); ok {
			c.text += length(s)
		}
	}
}

// confirm is the dialog before an action.
func confirm(c *checker, path string, v any) {
	obj(fields{
		"title": must(plain(100)), "text": must(mrkdwn(300)), "confirm": must(plain(30)), "deny": must(plain(30)),
		"style": may(oneOf("primary", "danger")),
	})(c, path, v)
}

// option is one choice; descriptions and links are bounded too.
func option(c *checker, path string, v any) {
	obj(fields{
		"text": must(mrkdwn(75)), "value": must(str(1, 75)), "description": may(mrkdwn(75)), "url": may(str(1, 3000)),
	})(c, path, v)
}

func optionGroup(c *checker, path string, v any) {
	obj(fields{"label": must(plain(75)), "options": must(list(1, 100, option))})(c, path, v)
}

func dispatchConfig(c *checker, path string, v any) {
	obj(fields{"trigger_actions_on": may(list(1, 2, oneOf("on_enter_pressed", "on_character_entered")))})(c, path, v)
}

func slackFile(c *checker, path string, v any) {
	obj(fields{"id": may(str(1, 255)), "url": may(str(1, 3000))})(c, path, v)
}

// imageFields are shared by the image block and the image element.
func imageFields() fields {
	return fields{"alt_text": must(str(1, 2000)), "image_url": may(str(1, 3000)), "slack_file": may(slackFile)}
}

func oneImageSource(c *checker, path string, m map[string]any) {
	_, url := m["image_url"]
	_, file := m["slack_file"]
	if url == file {
		c.fail(path, "exactly one of image_url and slack_file is needed")
	}
}

// richText is a whole rich_text object with its nested lists and quotes.
func richText(c *checker, path string, v any) {
	m, ok := v.(map[string]any)
	if !ok || m["type"] != "rich_text" {
		c.fail(path, "must be a rich_text object")
		return
	}
	c.object(path, m, fields{"block_id": may(str(1, 255)), "elements": must(list(0, 1000, richPart))})
}

func richPart(c *checker, path string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.fail(path, "must be an object")
		return
	}
	inline := must(list(0, 1000, richElement))
	switch m["type"] {
	case "rich_text_section":
		c.object(path, m, fields{"elements": inline})
	case "rich_text_quote":
		c.object(path, m, fields{"elements": inline, "border": may(integer(0, 1))})
	case "rich_text_preformatted":
		c.object(path, m, fields{"elements": inline, "border": may(integer(0, 1)), "language": may(str(1, 40))})
	case "rich_text_list":
		c.object(path, m, fields{
			"elements": must(list(0, 1000, richPart)), "style": must(oneOf("bullet", "ordered")),
			"indent": may(integer(0, 8)), "offset": may(integer(0, 1000)), "border": may(integer(0, 1)),
		})
	default:
		c.fail(path+"/type", "unsupported type: %v", m["type"])
	}
}

var richKinds = map[string]fields{
	"text":      {"text": must(str(1, 1_000_000))},
	"link":      {"url": must(str(1, 3000)), "text": may(str(1, 3000)), "unsafe": may(boolean)},
	"user":      {"user_id": must(str(1, 50))},
	"usergroup": {"usergroup_id": must(str(1, 50))},
	"channel":   {"channel_id": must(str(1, 50))},
	"emoji":     {"name": must(str(1, 100)), "unicode": may(str(1, 100)), "skin_tone": may(integer(1, 6))},
	"broadcast": {"range": must(oneOf("here", "channel", "everyone"))},
	"color":     {"value": must(str(1, 20))},
	"team":      {"team_id": must(str(1, 50))},
	"date": {
		"timestamp": must(integer(0, 1<<40)), "format": must(str(1, 200)), "url": may(str(1, 3000)), "fallback": may(str(1, 200)),
	},
}

func richElement(c *checker, path string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.fail(path, "must be an object")
		return
	}
	kind, _ := m["type"].(string)
	known, ok := richKinds[kind]
	if !ok {
		c.fail(path+"/type", "unsupported type: %s", kind)
		return
	}
	spec := fields{"style": may(obj(fields{
		"bold": may(boolean), "italic": may(boolean), "strike": may(boolean), "code": may(boolean), "underline": may(boolean),
		"highlight": may(boolean), "client_highlight": may(boolean), "unlink": may(boolean),
	}))}
	for k, f := range known {
		spec[k] = f
	}
	c.object(path, m, spec)
	if s, ok := m["text"].(string); ok {
		c.text += length(s)
	}
}

// uniqueActionIDs refuses two elements with one action_id in a block.
func uniqueActionIDs(c *checker, path string, elements any) {
	list, _ := elements.([]any)
	seen := map[string]bool{}
	for i, e := range list {
		m, _ := e.(map[string]any)
		id, _ := m["action_id"].(string)
		if id != "" && seen[id] {
			c.fail(fmt.Sprintf("%s/%d/action_id", path, i), "`action_id` \"%s\" already exists for another action in this block", id)
		}
		seen[id] = true
	}
}

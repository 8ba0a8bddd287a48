package card

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slack-go/slack"

	"countersign/bot/slacktext"
)

// ErrLimits says that something is not within Slack's limits.
var ErrLimits = errors.New("not within Slack's limits")

// Check says whether Slack takes a message: every limit of blocks, elements and
// texts, ids that are unique, no empty text. The error is ErrLimits with the place.
func Check(m Message) error {
	if m.Text == "" || slacktext.Units(m.Text) > maxFallback {
		return fmt.Errorf("%w: a text of %d", ErrLimits, slacktext.Units(m.Text))
	}
	c, err := inspect(m.Blocks, maxBlocks)
	if err != nil {
		return err
	}
	if c.units > maxBlockText {
		return fmt.Errorf("%w: %d of text in all blocks", ErrLimits, c.units)
	}
	return nil
}

// CheckModal says whether Slack takes a modal.
func CheckModal(v slack.ModalViewRequest) error {
	for _, t := range []*slack.TextBlockObject{v.Title, v.Close, v.Submit} {
		if t != nil && slacktext.Units(t.Text) > maxViewTitle {
			return fmt.Errorf("%w: title or button %q", ErrLimits, t.Text)
		}
	}
	if v.Title == nil || len(v.PrivateMetadata) > maxPrivate || len(v.CallbackID) > maxBlockID {
		return fmt.Errorf("%w: title, private data or callback id", ErrLimits)
	}
	raw, err := json.Marshal(v)
	if err != nil || len(raw) > maxView {
		return fmt.Errorf("%w: a view of %d bytes: %w", ErrLimits, len(raw), err)
	}
	c, err := inspect(v.Blocks.BlockSet, maxViewBlocks)
	if err == nil && c.inputs > 0 && v.Submit == nil {
		err = fmt.Errorf("%w: inputs without a submit button", ErrLimits)
	}
	return err
}

// CheckHome says whether Slack takes a Home tab.
func CheckHome(v slack.HomeTabViewRequest) error {
	_, err := inspect(v.Blocks.BlockSet, maxViewBlocks)
	return err
}

// checker walks blocks as they are sent.
type checker struct {
	units  int
	inputs int
	ids    map[string]bool
	err    error
}

func inspect(blocks []slack.Block, most int) (*checker, error) {
	c := &checker{ids: map[string]bool{}}
	if len(blocks) == 0 || len(blocks) > most {
		return c, fmt.Errorf("%w: %d blocks", ErrLimits, len(blocks))
	}
	raw, err := json.Marshal(blocks)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrLimits, err)
	}
	var all []map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return c, fmt.Errorf("%w: %w", ErrLimits, err)
	}
	for i, b := range all {
		c.block(fmt.Sprintf("/%d", i), b)
	}
	return c, c.err
}

func (c *checker) fail(path, what string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s: %s", ErrLimits, path, what)
	}
}

// block checks what only a block as such can hold; the rest is checked by walking.
func (c *checker) block(path string, b map[string]any) {
	if id, _ := b["block_id"].(string); id != "" {
		if c.ids[id] || slacktext.Units(id) > maxBlockID {
			c.fail(path, "block_id twice or too long")
		}
		c.ids[id] = true
	}
	switch b["type"] {
	case "section":
		c.within(path, b["text"], maxSection)
	case "header":
		c.within(path, b["text"], maxHeading)
	case "context":
		c.many(path, b["elements"], 10, maxContext)
	case "actions":
		c.many(path, b["elements"], 25, maxButton)
		c.actionIDs(path, b["elements"])
	case "input":
		c.inputs++
		c.within(path, b["label"], maxLabel)
		c.within(path, b["hint"], maxLabel)
	case "plan":
		c.titles(path, b)
	case "container":
		c.within(path, b["title"], maxHeading)
		children, _ := b["child_blocks"].([]any)
		if len(children) < 1 || len(children) > 10 {
			c.fail(path, "children of a container")
		}
	case "rich_text", "divider":
	default:
		c.fail(path, fmt.Sprintf("unknown block %v", b["type"]))
	}
	c.walk(path, b)
}

func (c *checker) titles(path string, b map[string]any) {
	tasks, _ := b["tasks"].([]any)
	if len(tasks) > 50 {
		c.fail(path, "tasks of a plan")
	}
	for _, t := range append(tasks, any(b)) {
		m, _ := t.(map[string]any)
		title, _ := m["title"].(string)
		if title == "" || slacktext.Units(title) > maxPlanTitle {
			c.fail(path, "title of a plan or task")
		}
	}
}

// within checks a text object, which may be missing.
func (c *checker) within(path string, v any, limit int) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if s, _ := m["text"].(string); slacktext.Units(s) > limit {
		c.fail(path, fmt.Sprintf("a text of %d", slacktext.Units(s)))
	}
}

func (c *checker) many(path string, v any, most, limit int) {
	list, _ := v.([]any)
	if len(list) == 0 || len(list) > most {
		c.fail(path, fmt.Sprintf("%d elements", len(list)))
	}
	for _, e := range list {
		m, _ := e.(map[string]any)
		if t, nested := m["text"].(map[string]any); nested {
			m = t
		}
		c.within(path, m, limit)
	}
}

func (c *checker) actionIDs(path string, v any) {
	seen := map[any]bool{}
	list, _ := v.([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if id := m["action_id"]; seen[id] || id == nil {
			c.fail(path, "action_id twice or missing")
		}
		seen[m["action_id"]] = true
	}
}

// walk checks every object below a block.
func (c *checker) walk(path string, v any) {
	switch x := v.(type) {
	case []any:
		for i, e := range x {
			c.walk(fmt.Sprintf("%s/%d", path, i), e)
		}
	case map[string]any:
		c.object(path, x)
		for k, e := range x {
			c.walk(path+"/"+k, e)
		}
	}
}

func (c *checker) object(path string, m map[string]any) {
	if s, ok := m["text"].(string); ok {
		if s == "" {
			c.fail(path, "an empty text")
		}
		c.units += slacktext.Units(s)
	}
	kind, _ := m["type"].(string)
	switch kind {
	case "button":
		c.short(path, m["value"], maxButtonValue)
		if confirm, ok := m["confirm"].(map[string]any); ok {
			c.within(path, confirm["title"], 100)
			c.within(path, confirm["text"], 300)
			c.within(path, confirm["confirm"], 30)
			c.within(path, confirm["deny"], 30)
		}
	case "plain_text_input":
		c.short(path, m["initial_value"], maxInput)
	case "static_select":
		c.options(path, m["options"])
	}
	c.short(path, m["action_id"], maxBlockID)
}

func (c *checker) short(path string, v any, limit int) {
	if s, _ := v.(string); slacktext.Units(s) > limit {
		c.fail(path, fmt.Sprintf("a value of %d", slacktext.Units(s)))
	}
}

func (c *checker) options(path string, v any) {
	list, _ := v.([]any)
	if len(list) == 0 || len(list) > 100 {
		c.fail(path, fmt.Sprintf("%d options", len(list)))
	}
	for _, o := range list {
		m, _ := o.(map[string]any)
		c.within(path, m["text"], maxButton)
		c.short(path, m["value"], maxButton)
	}
}

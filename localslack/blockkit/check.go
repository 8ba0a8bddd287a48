// Package blockkit knows Slack's Block Kit: what a message, a modal or a Home
// tab may hold, with Slack's limits and error codes; which inputs a surface
// has; and what Slack fills in by itself. It is pure.
//
// Lengths are counted in UTF-16 units. Slack does not say what it counts; this
// is the strictest reading, so what passes here passes either way.
package blockkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"unicode/utf16"
)

// Surface is where blocks are shown.
type Surface int

// The surfaces.
const (
	Message Surface = 1 << iota
	Modal
	Home
	everywhere = Message | Modal | Home
	views      = Modal | Home
)

// Limits of whole payloads.
const (
	maxMessageBlocks = 50
	maxViewBlocks    = 100
	maxMarkdown      = 12_000 // summed over the markdown blocks of a message
	maxBlockText     = 13_200 // all text of a message's blocks; observed, not published
	maxTableText     = 10_000 // all tables of a message
	maxView          = 250_000
)

// Problem is a refusal with Slack's error code.
type Problem struct {
	Code     string
	Messages []string
}

// Check checks the blocks of a message (or any other surface); nil means fine.
// Missing blocks are fine.
func Check(raw json.RawMessage, where Surface) *Problem {
	if len(raw) == 0 {
		return nil
	}
	var blocks any
	if decode(raw, &blocks) != nil {
		return &Problem{Code: "invalid_blocks_format"}
	}
	c := newChecker(where)
	c.blocks("/blocks", blocks)
	if len(c.problems) > 0 {
		return &Problem{Code: "invalid_blocks", Messages: c.problems}
	}
	if where == Message && (c.text > maxBlockText || c.markdown > maxMarkdown || c.table > maxTableText) {
		return &Problem{Code: "msg_blocks_too_long"}
	}
	return nil
}

func decode(raw json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// The tables of what is allowed, made on first use.
var (
	blockTable   = sync.OnceValue(blockSpecs)
	elementTable = sync.OnceValue(elementSpecs)
)

// checker walks one payload and collects what is wrong.
type checker struct {
	specs    map[string]blockSpec
	where    Surface
	problems []string
	blockIDs []string
	text     int
	markdown int
	table    int
	inputs   int
}

func newChecker(where Surface) *checker { return &checker{specs: blockTable(), where: where} }

func (c *checker) fail(path, format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf("[ERROR] "+format+" [json-pointer:%s]", append(args, path)...))
}

func (c *checker) blocks(path string, v any) {
	list, ok := v.([]any)
	if !ok {
		c.fail(path, "must be an array")
		return
	}
	limit := maxViewBlocks
	if c.where == Message {
		limit = maxMessageBlocks
	}
	if len(list) > limit {
		c.fail(path, "no more than %d items allowed", limit)
		return
	}
	for i, b := range list {
		c.block(fmt.Sprintf("%s/%d", path, i), b)
	}
}

func (c *checker) block(path string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.fail(path, "must be an object")
		return
	}
	kind, _ := m["type"].(string)
	spec, ok := c.specs[kind]
	switch {
	case !ok:
		c.fail(path+"/type", "unsupported type: %s", kind)
		return
	case spec.where&c.where == 0:
		c.fail(path+"/type", "block type not allowed here: %s", kind)
		return
	}
	c.blockID(path, m)
	c.object(path, m, spec.fields)
	if spec.extra != nil {
		spec.extra(c, path, m)
	}
}

func (c *checker) blockID(path string, m map[string]any) {
	id, ok := m["block_id"].(string)
	if !ok || id == "" {
		return
	}
	if slices.Contains(c.blockIDs, id) {
		c.fail(path+"/block_id", "`block_id` \"%s\" already exists for another block", id)
	}
	c.blockIDs = append(c.blockIDs, id)
}

// field is one key of an object.
type field struct {
	need bool
	rule rule
}

// rule checks one value.
type rule func(c *checker, path string, v any)

type fields map[string]field

func must(r rule) field { return field{need: true, rule: r} }
func may(r rule) field  { return field{rule: r} }

// object checks the keys: none missing, none unknown, each by its rule.
func (c *checker) object(path string, m map[string]any, spec fields) {
	for _, key := range sortedKeys(m) {
		f, known := spec[key]
		switch {
		case key == "type":
		case !known:
			c.fail(path, "invalid additional property: %s", key)
		case m[key] == nil:
			c.fail(path+"/"+key, "must not be null")
		default:
			f.rule(c, path+"/"+key, m[key])
		}
	}
	for _, key := range sortedKeys(spec) {
		if _, there := m[key]; spec[key].need && !there {
			c.fail(path, "missing required field: %s", key)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// length counts UTF-16 units.
func length(s string) int { return len(utf16.Encode([]rune(s))) }

// str is a text of so many characters.
func str(least, most int) rule {
	return func(c *checker, path string, v any) {
		s, ok := v.(string)
		switch n := length(s); {
		case !ok:
			c.fail(path, "must be a string")
		case n < least:
			c.fail(path, "must be more than %d characters", least-1)
		case n > most:
			c.fail(path, "must be less than %d characters", most+1)
		}
	}
}

func oneOf(words ...string) rule {
	return func(c *checker, path string, v any) {
		if s, ok := v.(string); !ok || !slices.Contains(words, s) {
			c.fail(path, "must be a valid enum value")
		}
	}
}

func boolean(c *checker, path string, v any) {
	if _, ok := v.(bool); !ok {
		c.fail(path, "must be a boolean")
	}
}

func integer(least, most int64) rule {
	return func(c *checker, path string, v any) {
		n, ok := v.(json.Number)
		i, err := n.Int64()
		if !ok || err != nil || i < least || i > most {
			c.fail(path, "must be an integer from %d to %d", least, most)
		}
	}
}

// list is an array of so many items that all follow one rule.
func list(least, most int, item rule) rule {
	return func(c *checker, path string, v any) {
		items, ok := v.([]any)
		switch {
		case !ok:
			c.fail(path, "must be an array")
			return
		case len(items) < least:
			c.fail(path, "no less than %d items allowed", least)
		case len(items) > most:
			c.fail(path, "no more than %d items allowed", most)
		}
		for i, x := range items {
			item(c, fmt.Sprintf("%s/%d", path, i), x)
		}
	}
}

// obj is an object of known fields.
func obj(spec fields) rule {
	return func(c *checker, path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			c.fail(path, "must be an object")
			return
		}
		c.object(path, m, spec)
	}
}

// anything is a value that is not looked into.
func anything(*checker, string, any) {}

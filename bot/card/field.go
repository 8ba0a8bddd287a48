package card

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"countersign/bot/slacktext"
)

// widget is the kind of input that an argument is edited with.
type widget string

const (
	textWidget   widget = "text"   // a string
	numberWidget widget = "number" // an integer or a number
	choiceWidget widget = "choice" // a boolean or one of a few values; options are JSON
	dateWidget   widget = "date"
	jsonWidget   widget = "json" // everything else, as JSON
)

// leftOut is the option that leaves an argument out. It is no JSON.
const leftOut = "-"

// field is one argument in an edit form.
type field struct {
	name        string
	description string
	widget      widget
	required    bool // it cannot be left out: the schema wants it, or would fill it in
	integer     bool
	long        bool              // the text gets several lines
	choices     []json.RawMessage // of a choice
	current     json.RawMessage   // nil: the argument is not there now
	parts       []string          // initial value, one input each; at least one
}

// property is as much of a JSON Schema as a form needs.
type property struct {
	Type        json.RawMessage   `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Format      string            `json:"format"`
	Description string            `json:"description"`
	MaxLength   *int              `json:"maxLength"`
	Default     json.RawMessage   `json:"default"`
}

type objectSchema struct {
	Properties json.RawMessage `json:"properties"`
	Required   []string        `json:"required"`
}

// maxFields bounds how many arguments a form can have.
const maxFields = 40

// fields says how each argument of a call is edited: those of the schema in its
// order, then what else is there now. It is false when a form cannot hold them.
func (p pen) fields(tool string, args json.RawMessage) ([]field, bool) {
	now, err := members(args)
	if err != nil {
		return nil, false
	}
	schema, properties := p.schema(tool)
	current := map[string]json.RawMessage{}
	for _, m := range now {
		current[m.name] = m.raw
	}
	var out []field
	known := map[string]bool{}
	for _, m := range append(properties, now...) {
		if known[m.name] {
			continue
		}
		known[m.name] = true
		var prop property
		if len(out) < len(properties) {
			_ = json.Unmarshal(m.raw, &prop) // a schema that is not an object says nothing
		}
		f, ok := newField(m.name, prop, current[m.name])
		if !ok || len(out) == maxFields {
			return nil, false
		}
		f.required = len(prop.Default) > 0 && f.current != nil
		for _, r := range schema.Required {
			f.required = f.required || r == m.name
		}
		out = append(out, f)
	}
	return out, true
}

func (p pen) schema(tool string) (objectSchema, []member) {
	var s objectSchema
	if p.r.Schema == nil {
		return s, nil
	}
	if json.Unmarshal(p.r.Schema(tool), &s) != nil {
		return objectSchema{}, nil
	}
	properties, err := members(s.Properties)
	if err != nil {
		return s, nil
	}
	return s, properties
}

// numbered could be taken for the second input of another argument.
var numbered = regexp.MustCompile(`#[0-9]+$`)

func newField(name string, prop property, current json.RawMessage) (field, bool) {
	f := field{name: name, description: prop.Description, current: current}
	if name == "" || numbered.MatchString(name) || slacktext.Units(name) > 150 || !editable(name) {
		return f, false
	}
	f.widget = widgetOf(prop, current)
	f.integer = typeOf(prop, current) == "integer"
	if f.widget == choiceWidget {
		f.choices = prop.Enum
		if len(f.choices) == 0 {
			f.choices = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
		}
		return f, true
	}
	value := initial(f.widget, current)
	f.parts = slacktext.Split(value, maxPiece)
	if len(f.parts) == 0 {
		f.parts = []string{""}
	}
	short := prop.MaxLength != nil && *prop.MaxLength <= 100
	f.long = f.widget == jsonWidget || f.widget == textWidget && (strings.Contains(value, "\n") || columns(value) > 60 || !short && len(f.parts) > 1)
	for _, part := range f.parts {
		if value != "" && strings.TrimSpace(part) == "" {
			return f, false
		}
	}
	return f, editable(value) && len(f.parts) <= 10
}

// editable says that an input gives a text back as it got it: no control
// characters, no parts that are space alone.
func editable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\uFEFF') {
			return false
		}
	}
	return true
}

func typeOf(prop property, current json.RawMessage) string {
	var one string
	if json.Unmarshal(prop.Type, &one) == nil && one != "" {
		return one
	}
	var several []string
	if json.Unmarshal(prop.Type, &several) == nil {
		if len(several) == 1 {
			return several[0]
		}
		return "" // which of them is only known as JSON
	}
	if len(current) == 0 {
		return ""
	}
	switch kindOf(current) {
	case "kind.number":
		return "number"
	case "kind.boolean":
		return "boolean"
	case "":
		return "string"
	}
	return ""
}

// widgetOf chooses the input. A value that the schema would not have is edited as JSON.
func widgetOf(prop property, current json.RawMessage) widget {
	there := len(current) > 0
	among := func(values ...json.RawMessage) bool {
		return !there || slices.ContainsFunc(values, func(v json.RawMessage) bool { return string(v) == string(current) })
	}
	if len(prop.Enum) > 0 {
		if choosable(prop.Enum) && among(prop.Enum...) {
			return choiceWidget
		}
		if typeOf(prop, current) != "string" {
			return jsonWidget
		}
	}
	switch typeOf(prop, current) {
	case "string":
		if there && current[0] != '"' {
			return jsonWidget
		}
		if prop.Format == "date" && isDate(initial(textWidget, current)) {
			return dateWidget
		}
		return textWidget
	case "integer", "number":
		if easyNumber.Match(current) || len(current) == 0 {
			return numberWidget
		}
		return jsonWidget // a number that a browser could round
	case "boolean":
		if among(json.RawMessage("true"), json.RawMessage("false")) {
			return choiceWidget
		}
	}
	return jsonWidget
}

// easyNumber is a number that every browser keeps exactly.
var easyNumber = regexp.MustCompile(`^-?[0-9]{1,12}(\.[0-9]{1,6})?$`)

// choosable says that the values of an enumeration fit a menu.
func choosable(values []json.RawMessage) bool {
	if len(values) > 99 {
		return false
	}
	for _, v := range values {
		if slacktext.Units(string(v)) > maxButton || string(v) == `""` {
			return false
		}
	}
	return true
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return s == "" || err == nil
}

// initial is what stands in the input at first.
func initial(w widget, current json.RawMessage) string {
	if len(current) == 0 {
		return ""
	}
	var s string
	if (w == textWidget || w == dateWidget) && json.Unmarshal(current, &s) == nil {
		return s
	}
	var pretty bytes.Buffer
	if w == jsonWidget && json.Indent(&pretty, current, "", "  ") == nil {
		return spelled(pretty.String())
	}
	return string(current)
}

// spelled is JSON of the same value in which what cannot be seen is written as an escape.
func spelled(text string) string {
	var out strings.Builder
	for _, r := range text {
		within := "x" + string(r) + "x"
		if r < utf8.RuneSelf || slacktext.Draw(within) == within {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// blockID names the input of a part of an argument; the first part is the argument's.
func (f *field) blockID(part int) string {
	if part == 0 {
		return "arg:" + f.name
	}
	return fmt.Sprintf("arg:%s#%d", f.name, part+1)
}

// label is the argument's name, and which part of it.
func (f *field) label(part int) string {
	name := slacktext.Draw(f.name)
	if len(f.parts) > 1 {
		name += " (" + strconv.Itoa(part+1) + "/" + strconv.Itoa(len(f.parts)) + ")"
	}
	return name
}

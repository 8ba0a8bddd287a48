package card

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"countersign/bot/slacktext"
)

// argument is one argument of a call as it is drawn.
type argument struct {
	name   string
	raw    json.RawMessage
	label  string // the name, drawn
	kind   string // key of the word for what is not text; empty: text
	shown  string // the value, drawn and wrapped
	short  string // name and value in one line; empty: it needs lines of its own
	masked int
	warned []warning
}

// warning is something suspicious about an argument.
type warning struct {
	slacktext.Warning
	ofName bool
}

var errNoObject = errors.New("the arguments are not an object")

// member is one member of a JSON object.
type member struct {
	name string
	raw  json.RawMessage
}

// members reads a JSON object in the order in which it is written.
func members(raw json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	open, err := d.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errNoObject
	}
	var out []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		m := member{name: name}
		if err := d.Decode(&m.raw); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	_, err = d.Token()
	return out, err
}

// arguments draws every argument of a call; an error when they cannot be shown.
func (p pen) arguments(raw json.RawMessage) ([]argument, error) {
	ms, err := members(raw)
	if err != nil {
		return nil, err
	}
	out := make([]argument, len(ms))
	for i, m := range ms {
		out[i] = p.argument(m)
	}
	return out, nil
}

// simpleName needs no quotation marks.
var simpleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

func (p pen) argument(m member) argument {
	a := argument{name: m.name, raw: m.raw, label: m.name}
	if !simpleName.MatchString(m.name) {
		drawn, masked := p.draw(m.name)
		a.label, a.masked = quoted(drawn), masked
	}
	value, drawn := p.value(&a)
	if compact, n := p.draw(string(m.raw)); (a.kind == "kind.object" || a.kind == "kind.list") && n == a.masked && columns(compact) <= 40 {
		drawn = compact // as short as it was written
	}
	a.shown = wrap(drawn)
	if drawn == "" {
		a.shown = "⟨empty⟩"
	}
	a.short = shortForm(a, drawn)
	a.inspect(m.name, true)
	a.inspect(value, false)
	return a
}

// inspect notes what is suspicious about the name or the value.
func (a *argument) inspect(s string, ofName bool) {
	for _, w := range slacktext.Inspect(s) {
		if a.masked > 0 {
			w.Part = "" // it could hold what is masked
		}
		said := slices.ContainsFunc(a.warned, func(old warning) bool {
			return old.Kind == w.Kind && old.ofName == ofName && strings.Contains(old.Part, w.Part)
		})
		if !said {
			a.warned = append(a.warned, warning{w, ofName})
		}
	}
}

// value draws the argument's value and gives it as a person reads it.
func (p pen) value(a *argument) (value, drawn string) {
	var s string
	if json.Unmarshal(a.raw, &s) == nil && a.raw[0] == '"' {
		drawn, n := p.draw(s)
		if p.secretByName(a.name, s, n) {
			drawn, n = slacktext.Masked, 1
		}
		a.masked += n
		return s, drawn
	}
	a.kind = kindOf(a.raw)
	value = string(a.raw)
	var pretty bytes.Buffer
	if json.Indent(&pretty, a.raw, "", "  ") == nil {
		value = pretty.String()
	}
	drawn, n := p.draw(value)
	if a.kind == "kind.number" && p.secretByName(a.name, value, n) {
		drawn, n = slacktext.Masked, 1
	}
	a.masked += n
	return value, drawn
}

// secretByName says that the name makes a secret of a value that is none by itself.
func (p pen) secretByName(name, value string, already int) bool {
	if p.bare || p.r.Masker == nil {
		return false
	}
	_, n := p.r.Masker.Mask(name + ": " + value)
	return n > already
}

func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return ""
	case '{':
		return "kind.object"
	case '[':
		return "kind.list"
	case 't', 'f':
		return "kind.boolean"
	case 'n':
		return "kind.null"
	}
	return "kind.number"
}

// quoted sets a drawn text in quotation marks that it cannot close.
func quoted(drawn string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(drawn, `"`, "⟨U+0022⟩"), "\n", "⟨newline⟩") + `"`
}

// shortForm is name and value in one line, for values that fit in it and cannot be
// mistaken for anything else: text stands in quotation marks and holds none.
func shortForm(a argument, drawn string) string {
	if columns(a.label)+columns(drawn) > wrapColumns-6 || strings.ContainsAny(drawn, "\n\"\\") && a.kind == "" {
		return ""
	}
	switch a.kind {
	case "":
		return a.label + `: "` + drawn + `"`
	case "kind.object", "kind.list":
		if strings.Contains(drawn, "\n") {
			return ""
		}
	}
	return a.label + ": " + drawn
}

// size is how much of a card an argument takes, whatever the language.
func (a *argument) size() (units, lines int) {
	shown := a.shown
	if a.short != "" {
		shown = a.short
	}
	units = slacktext.Units(shown) + slacktext.Units(a.label) + 12
	return units, strings.Count(shown, "\n") + 1
}

// fits says whether all arguments can stand on a card.
func fits(args []argument) bool {
	units, lines, warned := 0, 0, 0
	for i := range args {
		u, l := args[i].size()
		units, lines, warned = units+u, lines+l, warned+len(args[i].warned)
		if units > maxArgs || lines > maxArgLines {
			return false
		}
	}
	return len(args) <= maxArgCount && warned <= maxWarnings
}

// sheet is arguments as rich text: short ones together, others each in lines of
// its own, what is suspicious right below.
func (p pen) sheet(args []argument) []slack.RichTextElement {
	var out []slack.RichTextElement
	var short []string
	flush := func() {
		for _, piece := range pieces(strings.Join(short, "\n")) {
			out = append(out, preformatted(piece))
		}
		short = nil
	}
	for _, a := range args {
		if a.short != "" {
			short = append(short, a.short)
			if len(a.warned) > 0 {
				flush()
			}
		} else {
			flush()
			out = append(out, line(p.labelled(a)...))
			for _, piece := range pieces(a.shown) {
				out = append(out, preformatted(piece))
			}
		}
		for _, w := range a.warned {
			out = append(out, line(text("⚠️ "), text(p.warn(a, w))))
		}
	}
	flush()
	return out
}

func (p pen) labelled(a argument) []slack.RichTextSectionElement {
	if a.kind == "" {
		return []slack.RichTextSectionElement{bold(a.label)}
	}
	return []slack.RichTextSectionElement{bold(a.label), text(" · " + p.say(a.kind))}
}

func (p pen) warn(a argument, w warning) string {
	name, part := slacktext.Truncate(a.label, 60), w.Part
	if w.ofName {
		part = ""
	}
	switch w.Kind {
	case slacktext.MixedScripts:
		return p.say("warn.mixed", "name", name, "part", part)
	case slacktext.Lookalike:
		return p.say("warn.lookalike", "name", name, "part", part)
	case slacktext.RightToLeft:
		return p.say("warn.rtl", "name", name)
	}
	return p.say("warn.hidden", "name", name)
}

// pieces cuts a drawn text between lines into pieces of at most maxPiece units. No
// piece begins or ends with an empty line, which would not be seen.
func pieces(drawn string) []string {
	if drawn == "" {
		return nil
	}
	var out []string
	var page []string
	used := 0
	for l := range strings.SplitSeq(drawn, "\n") {
		n := slacktext.Units(l) + 1
		if used+n > maxPiece && l != "" && len(page) > 0 && page[len(page)-1] != "" {
			out = append(out, strings.Join(page, "\n"))
			page, used = nil, 0
		}
		page, used = append(page, l), used+n
	}
	return append(out, strings.Join(page, "\n"))
}

// cutLines cuts a drawn text to a number of lines and units, and says whether it did.
func cutLines(drawn string, units, lines int) (string, bool) {
	used, count, end := 0, 0, 0
	for l := range strings.SplitAfterSeq(drawn, "\n") {
		used, count = used+slacktext.Units(l), count+1
		if used > units || count > lines {
			return strings.TrimRight(drawn[:end], "\n"), true
		}
		end += len(l)
	}
	return drawn, false
}

// headOf is as many arguments as fit on a card, the last one cut.
func headOf(args []argument, units, lines, count int) []argument {
	var out []argument
	warned := 0
	for _, a := range args {
		u, l := a.size()
		warned += len(a.warned)
		if len(out) == count || warned > maxWarnings {
			return out
		}
		if u > units || l > lines {
			a.short, a.warned = "", nil
			shown, _ := cutLines(a.shown, units-slacktext.Units(a.label)-12, lines)
			if shown == "" || slacktext.Units(a.label) > 200 {
				return out
			}
			a.shown = shown
			return append(out, a)
		}
		units, lines = units-u, lines-l
		out = append(out, a)
	}
	return out
}

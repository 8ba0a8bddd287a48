package card

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals/decisions"
)

// Typed reads an edit form's state: the arguments as JSON in the types of their
// schema, what was typed as text to be shown again, and what is wrong by block id.
// Optional arguments without a value are left out; numbers keep every digit.
func (r *Renderer) Typed(c *decisions.Case, values map[string]map[string]slack.BlockAction, lang string) (raw string, typed map[string]string, errs map[string]string) {
	p := r.pen(lang)
	typed, errs = map[string]string{}, map[string]string{}
	fields, ok := p.fields(c.Approval.Tool, c.Approval.Current().Args)
	if !ok {
		errs["reason"] = p.say("edit.unfit")
		return "", typed, errs
	}
	var out []member
	for i := range fields {
		f := &fields[i]
		said := f.read(values)
		typed[f.name] = said
		value, problem := f.value(said)
		if problem != "" {
			errs[f.blockID(0)] = p.say(problem)
			continue
		}
		if value != nil {
			out = append(out, member{f.name, value})
		}
	}
	if reason := values["reason"]["value"].Value; reason != "" {
		typed[p.say("edit.reason")] = reason
	}
	return object(out), typed, errs
}

// read joins what stands in the inputs of an argument.
func (f *field) read(values map[string]map[string]slack.BlockAction) string {
	said := ""
	for i := range max(len(f.parts), 1) {
		a := values[f.blockID(i)]["value"]
		switch f.widget {
		case choiceWidget:
			said = a.SelectedOption.Value
		case dateWidget:
			said = a.SelectedDate
		default:
			said += a.Value
		}
	}
	return said
}

// value makes JSON of what was typed: nil when the argument is left out, else a
// problem as a key of the catalogue.
func (f *field) value(said string) (value json.RawMessage, problem string) {
	switch f.widget {
	case choiceWidget:
		return f.chosen(said)
	case textWidget, dateWidget:
		return f.text(said), ""
	case numberWidget:
		return number(said)
	}
	said = strings.TrimSpace(said)
	if said == "" {
		return nil, ""
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(said)) != nil {
		return nil, "edit.badjson"
	}
	return compact.Bytes(), ""
}

func (f *field) chosen(said string) (json.RawMessage, string) {
	if said == "" || said == leftOut {
		return nil, ""
	}
	ok := slices.ContainsFunc(f.choices, func(c json.RawMessage) bool { return string(c) == said })
	if !ok {
		return nil, "edit.badchoice"
	}
	return json.RawMessage(said), ""
}

// text is a string. An empty input means the empty text where the argument is
// there now and has to stay or was empty before, else that it is left out.
func (f *field) text(said string) json.RawMessage {
	if said == "" && f.widget == dateWidget {
		return nil
	}
	if said == "" && (f.current == nil || !f.required && string(f.current) != `""`) {
		return nil
	}
	return quoteJSON(said)
}

func number(said string) (json.RawMessage, string) {
	said = strings.TrimSpace(said)
	if said == "" {
		return nil, ""
	}
	said = strings.TrimPrefix(said, "+")
	var n json.Number
	if json.Unmarshal([]byte(said), &n) != nil || said[0] == '"' {
		return nil, "edit.badnumber"
	}
	return json.RawMessage(said), ""
}

// object writes members as a JSON object.
func object(ms []member) string {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(quoteJSON(m.name))
		out.WriteByte(':')
		out.Write(m.raw)
	}
	out.WriteByte('}')
	return out.String()
}

func quoteJSON(s string) json.RawMessage {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

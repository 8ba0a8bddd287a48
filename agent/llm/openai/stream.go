package openai

import (
	"bytes"
	"errors"
	"strings"
)

var errCut = errors.New("the stream ended without a finish reason")

// fold puts a stream of server-sent events together into one completion. An end
// without a finish reason is no end, unless the server said that it was done.
func fold(body []byte) ([]byte, error) {
	f := folding{message: map[string]any{}, extras: map[string]any{}}
	for data := range events(body) {
		if data == "[DONE]" {
			f.done = true
			break
		}
		if err := f.add(data); err != nil {
			return nil, err
		}
	}
	if f.finish == "" && !(f.done && f.said()) {
		return nil, errCut
	}
	return f.whole()
}

// events yields the data of each event; comments and other fields are left out.
func events(body []byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		var data []string
		for _, l := range bytes.Split(body, []byte("\n")) {
			l := strings.TrimSuffix(string(l), "\r")
			if v, ok := strings.CutPrefix(l, "data:"); ok {
				data = append(data, strings.TrimPrefix(v, " "))
				continue
			}
			if l != "" || len(data) == 0 {
				continue
			}
			if !yield(strings.TrimSpace(strings.Join(data, "\n"))) {
				return
			}
			data = nil
		}
		if len(data) > 0 { // the last event, without its empty line
			yield(strings.TrimSpace(strings.Join(data, "\n")))
		}
	}
}

// folding is a completion under construction.
type folding struct {
	message   map[string]any
	extras    map[string]any
	text      strings.Builder
	reasoning strings.Builder
	calls     []*foldedCall
	finish    string
	usage     any
	done      bool
}

type foldedCall struct {
	index string // as the server numbers it; empty: it does not
	wire  map[string]any
	name  string
	args  strings.Builder
}

func (f *folding) add(data string) error {
	var top map[string]any
	if decode([]byte(data), &top) != nil {
		if f.finish != "" {
			return nil
		}
		return errCut // half an event: the connection ended within it
	}
	if top["usage"] != nil {
		f.usage = top["usage"]
	}
	c := &complaint{}
	if c.read(top["error"]) {
		return c
	}
	choices, _ := top["choices"].([]any)
	if len(choices) == 0 {
		return nil
	}
	choice, _ := choices[0].(map[string]any)
	if c.read(choice["error"]) {
		return c
	}
	if reason := inWords(choice["finish_reason"]); reason != "" {
		f.finish = reason
	}
	if delta, ok := orElse(choice["delta"], choice["message"]).(map[string]any); ok {
		f.delta(delta)
	}
	return nil
}

func (f *folding) delta(d map[string]any) {
	text, thinking := contentOf(d[keyContent])
	f.text.WriteString(text)
	f.reasoning.WriteString(thinking)
	for _, key := range []string{keyReasoning, "reasoning"} {
		if t, k := contentOf(d[key]); t+k != "" {
			f.reasoning.WriteString(t + k)
			f.extras[key] = inWords(f.extras[key]) + t + k
			break
		}
	}
	for k, v := range d {
		switch k {
		case keyContent, keyToolCalls, keyReasoning, "reasoning":
		default:
			f.unknown(k, v)
		}
	}
	list, _ := d[keyToolCalls].([]any)
	for _, v := range list {
		if call, ok := v.(map[string]any); ok {
			f.call(call)
		}
	}
}

// unknown keeps an extra; lists of several pieces are one list.
func (f *folding) unknown(k string, v any) {
	old, isList := f.message[k].([]any)
	more, areMore := v.([]any)
	if isList && areMore {
		v = append(old, more...)
	}
	if v != nil {
		f.message[k] = v
	}
}

// call adds a piece of a call. Pieces belong together by index or, where there
// is none, by id; a piece with neither belongs to the last call.
func (f *folding) call(piece map[string]any) {
	c := f.callOf(piece)
	for k, v := range piece {
		if k != "function" && k != "index" && v != nil && v != "" {
			c.wire[k] = v
		}
	}
	fn, _ := piece["function"].(map[string]any)
	if name := inWords(fn["name"]); name != c.name { // some servers repeat it in every piece
		c.name += name
	}
	c.args.WriteString(inWords(fn["arguments"]))
}

func (f *folding) callOf(piece map[string]any) *foldedCall {
	index, id := inWords(piece["index"]), inWords(piece["id"])
	for _, c := range f.calls {
		known := inWords(c.wire["id"])
		if index != "" && c.index == index && (id == "" || known == "" || id == known) || index == "" && id != "" && known == id {
			return c
		}
	}
	if index == "" && id == "" && len(f.calls) > 0 {
		return f.calls[len(f.calls)-1]
	}
	c := &foldedCall{index: index, wire: map[string]any{}}
	f.calls = append(f.calls, c)
	return c
}

func (f *folding) said() bool { return f.text.Len() > 0 || len(f.calls) > 0 }

// whole is the completion as if it had not been streamed.
func (f *folding) whole() ([]byte, error) {
	m := f.message
	for k, v := range f.extras {
		m[k] = v
	}
	m[keyContent] = f.text.String()
	if f.reasoning.Len() > 0 && m[keyReasoning] == nil && m["reasoning"] == nil {
		m[keyContent] = []any{
			map[string]any{"type": "thinking", "thinking": f.reasoning.String()},
			map[string]any{"type": "text", "text": f.text.String()},
		}
	}
	var calls []any
	for _, c := range f.calls {
		c.wire["function"] = map[string]any{"name": c.name, "arguments": c.args.String()}
		calls = append(calls, c.wire)
	}
	m[keyToolCalls] = calls
	return encode(map[string]any{
		"usage":   f.usage,
		"choices": []any{map[string]any{"finish_reason": f.finish, "message": m}},
	})
}

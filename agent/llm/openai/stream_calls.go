package openai

import (
	"encoding/json"
	"strings"
)

// foldedCall is a call under construction.
type foldedCall struct {
	index string // as the server numbers it; empty: it does not
	wire  map[string]any
	name  string
	args  strings.Builder
}

// callsIn are the calls, or pieces of calls, of a message: a list, a single
// object, or the form of old.
func callsIn(wire map[string]any) []map[string]any {
	var out []map[string]any
	switch v := wire[keyToolCalls].(type) {
	case []any:
		for _, e := range v {
			if call, ok := e.(map[string]any); ok {
				out = append(out, call)
			}
		}
	case map[string]any:
		if v["function"] != nil {
			out = append(out, v)
		}
	}
	if old, ok := wire[keyFunctionCall].(map[string]any); ok && len(out) == 0 {
		out = append(out, map[string]any{"index": keyFunctionCall, "function": old})
	}
	return out
}

// functionOf is the function of a call: apart, or flat beside the id.
func functionOf(call map[string]any) map[string]any {
	if f, ok := call["function"].(map[string]any); ok {
		return f
	}
	return call
}

// ofCalls are the keys of a call that we read; all others are the provider's.
var ofCalls = []string{"id", "type", "index", "function", "name", "arguments"}

// call adds a piece of a call.
func (f *folding) call(piece map[string]any) {
	fn := functionOf(piece)
	name, args := inWords(fn["name"]), inWords(fn["arguments"])
	c := f.callOf(piece, name, args)
	for k, v := range piece {
		if (!named(ofCalls, k) || k == "id") && v != nil && v != "" {
			c.wire[k] = v
		}
	}
	if name != c.name { // some servers repeat it in every piece
		c.name += name
	}
	c.add(args)
}

// callOf finds the call that a piece belongs to, the latest first: by index or,
// where there is none, by id; a piece with neither belongs to the last call. Some
// servers give several calls one number: what begins anew is another call.
func (f *folding) callOf(piece map[string]any, name, args string) *foldedCall {
	index, id := inWords(piece["index"]), inWords(piece["id"])
	for i := len(f.calls) - 1; i >= 0; i-- {
		c := f.calls[i]
		known := inWords(c.wire["id"])
		anew := name != "" && c.complete() && (name != c.name || args != "" && args != c.args.String())
		byIndex := index != "" && c.index == index && (id == "" || known == "" || id == known)
		byID := index == "" && id != "" && known == id
		if byIndex && !(anew && id == "") || byID && !anew {
			return c
		}
	}
	if last := len(f.calls) - 1; last >= 0 && id == "" && (index == "" || f.calls[last].index == "") {
		if c := f.calls[last]; name == "" || name == c.name && !c.complete() {
			return c
		}
	}
	c := &foldedCall{index: index, wire: map[string]any{}}
	f.calls = append(f.calls, c)
	return c
}

// add adds a piece of the arguments. An empty object in front of others is how
// some servers begin; arguments that come whole once more are not said twice.
func (c *foldedCall) add(piece string) {
	had := c.args.String()
	switch {
	case strings.TrimSpace(piece) == "":
	case strings.TrimSpace(had) == "{}":
		c.args.Reset()
	case piece == had && c.complete():
		return
	}
	c.args.WriteString(piece)
}

// complete says whether the arguments are a whole object.
func (c *foldedCall) complete() bool {
	s := strings.TrimSpace(c.args.String())
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

package openai

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

var errCut = errors.New("the stream ended without a finish reason")

// streamEnd is the event that ends a stream.
const streamEnd = "[DONE]"

// fold puts a stream of server-sent events together into one completion. An end
// without a finish reason is no end, unless the server said that it was done.
func fold(body []byte) ([]byte, error) {
	f := folding{message: map[string]any{}, extras: map[string]any{}, hidden: !utf8.Valid(body)}
	for data := range events(body) {
		if data == streamEnd {
			f.done = true
			break
		}
		if err := f.add(data); err != nil {
			return nil, err
		}
	}
	if f.finish == "" && !(f.done && f.said() && f.callsAreWhole()) {
		return nil, errCut
	}
	return f.whole()
}

// events yields the data of each event; comments and other fields are left out.
// An event ends with an empty line or, at servers that leave those out, where the
// next one begins.
func events(body []byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		data := ""
		for l := range strings.SplitSeq(newlines.Replace(string(body)), "\n") {
			more, isData := strings.CutPrefix(l, "data:")
			if l == "" || isData && isWhole(data) {
				if data != "" && !yield(data) {
					return
				}
				data = ""
			}
			if isData {
				data = strings.TrimSpace(data + "\n" + more)
			}
		}
		if data != "" { // the last event, without its empty line
			yield(data)
		}
	}
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// isWhole says that no further line can belong to the event: it is the end, JSON, or
// nothing that becomes JSON with more.
func isWhole(data string) bool {
	return data == streamEnd || data != "" && !strings.ContainsAny(data[:1], "{[") || json.Valid([]byte(data))
}

// folding is a completion under construction.
type folding struct {
	message   map[string]any
	extras    map[string]any
	text      strings.Builder
	pieces    int // of text
	refusal   strings.Builder
	reasoning strings.Builder
	calls     []*foldedCall
	finish    string
	usage     any
	done      bool
	hidden    bool // bytes of characters that were cut between events are hidden in the texts
}

// add takes in what one event says. What is no JSON object is a sign of life.
func (f *folding) add(data string) error {
	if c, ok := complaintOf([]byte(data)); ok && strings.HasPrefix(data, "[") {
		return c
	}
	if !strings.HasPrefix(data, "{") {
		return nil
	}
	if f.hidden {
		data = hide(data)
	}
	d := json.NewDecoder(strings.NewReader(data))
	d.UseNumber()
	for {
		var top map[string]any
		err := d.Decode(&top)
		switch {
		case errors.Is(err, io.EOF) || err != nil && f.finish != "":
			return nil
		case err != nil:
			return errCut // half an event: the connection ended within it
		}
		if err := f.chunk(top); err != nil {
			return err
		}
	}
}

func (f *folding) chunk(top map[string]any) error {
	if u := usageIn(top); u != nil {
		f.usage = u
	}
	choices, _ := top["choices"].([]any)
	if len(choices) == 0 {
		if c, ok := complaintIn(top); ok {
			return c
		}
		return nil
	}
	choice, _ := choices[0].(map[string]any)
	c := &complaint{}
	if c.read(top["error"]) || c.read(choice["error"]) {
		return c
	}
	reason := finishOf(choice)
	if reason != "" {
		f.finish = reason
	}
	if delta := f.deltaOf(choice); delta != nil {
		f.delta(delta, reason != "")
	}
	return nil
}

// deltaOf is what a choice adds. A whole message after its pieces adds nothing.
func (f *folding) deltaOf(choice map[string]any) map[string]any {
	if delta, ok := choice["delta"].(map[string]any); ok {
		return delta
	}
	if f.said() {
		return nil
	}
	return messageIn(choice)
}

func (f *folding) delta(d map[string]any, last bool) {
	text, thinking := contentOf(d[keyContent])
	if !last || f.pieces < 2 || text != f.text.String() { // else the last piece is the whole once more
		f.text.WriteString(text)
		f.pieces++
	}
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
		case keyContent, keyToolCalls, keyFunctionCall, keyRefusal, keyReasoning, "reasoning":
		default:
			f.unknown(k, v)
		}
	}
	f.refusal.WriteString(inWords(d[keyRefusal]))
	for _, piece := range callsIn(d) {
		f.call(piece)
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

// callsAreWhole says that every call has its arguments. Where no reason is given for
// the end, a call without any may have been cut after its name.
func (f *folding) callsAreWhole() bool {
	return !slices.ContainsFunc(f.calls, func(c *foldedCall) bool { return !c.complete() })
}

func (f *folding) said() bool { return f.text.Len() > 0 || len(f.calls) > 0 }

// whole is the completion as if it had not been streamed.
func (f *folding) whole() ([]byte, error) {
	m := f.message
	for k, v := range f.extras {
		m[k] = f.shown(inWords(v))
	}
	text, reasoning := f.shown(f.text.String()), f.shown(f.reasoning.String())
	m[keyContent] = text
	if reasoning != "" && m[keyReasoning] == nil && m["reasoning"] == nil {
		m[keyContent] = []any{
			map[string]any{"type": "thinking", "thinking": reasoning},
			map[string]any{"type": "text", "text": text},
		}
	}
	m[keyRefusal] = f.shown(f.refusal.String())
	var calls []any
	for _, c := range f.calls {
		c.wire["function"] = map[string]any{"name": f.shown(c.name), "arguments": f.shown(c.args.String())}
		calls = append(calls, c.wire)
	}
	m[keyToolCalls] = calls
	return encode(map[string]any{
		"usage":   f.usage,
		"choices": []any{map[string]any{"finish_reason": f.finish, "message": m}},
	})
}

// firstHidden is the character that stands for a byte 0 of a cut character; the
// characters from here on belong to nobody.
const firstHidden = '\U0010fe00'

// hide makes a text valid whose first or last character was cut: JSON's decoder
// would replace the pieces, and they could not be joined any more. The characters
// that stand for bytes are hidden too.
func hide(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || r >= firstHidden && r <= firstHidden+0xff {
			for i := range n {
				b.WriteRune(firstHidden + rune(s[i]))
			}
		} else {
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// shown puts the pieces of cut characters together.
func (f *folding) shown(s string) string {
	if !f.hidden {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r >= firstHidden && r <= firstHidden+0xff {
			b.WriteByte(byte(r - firstHidden))
			continue
		}
		b.WriteRune(r)
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

package playbook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// streaming says how a reply is streamed.
type streaming struct {
	usage bool // a last chunk with the usage
	cut   bool // stop in the middle, without a finish reason
}

// pieceLen is the length of a streamed piece in bytes, about.
const pieceLen = 24

// stream sends a reply as server-sent events.
func stream(w http.ResponseWriter, c completion, l line, o streaming) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	used := c.Usage
	c.Object, c.Usage = "chat.completion.chunk", nil
	deltas := deltasOf(l)
	if o.cut {
		deltas = deltas[:(len(deltas)+1)/2]
	}
	for i := range deltas {
		c.Choices = []choice{{Delta: &deltas[i]}}
		event(w, c)
	}
	if o.cut {
		return
	}
	finish := finishOf(l)
	c.Choices = []choice{{Delta: &said{}, FinishReason: &finish}}
	event(w, c)
	if o.usage {
		c.Choices, c.Usage = []choice{}, used
		event(w, c)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// deltasOf cuts a reply into the pieces that are streamed.
func deltasOf(l line) []said {
	all := []said{{Role: "assistant"}}
	for _, p := range pieces(l.text) {
		all = append(all, said{Content: &p})
	}
	for i, c := range l.calls {
		all = append(all, said{ToolCalls: []toolCall{{Index: &i, ID: c.ID, Type: c.Type, Function: function{Name: c.Function.Name}}}})
		for _, p := range pieces(c.Function.Arguments) {
			all = append(all, said{ToolCalls: []toolCall{{Index: &i, Function: function{Arguments: p}}}})
		}
	}
	return all
}

// pieces cuts a text without splitting a character.
func pieces(s string) []string {
	var all []string
	for len(s) > 0 {
		n := min(pieceLen, len(s))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		all, s = append(all, s[:n]), s[n:]
	}
	return all
}

func event(w http.ResponseWriter, c completion) {
	b, err := json.Marshal(c)
	if err != nil { // plain values always encode
		return
	}
	fmt.Fprintf(w, "data: %s\n\n", b)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

package openai

import (
	"strconv"
	"testing"

	"countersign/agent/llm"
)

// piece is an event with one piece of a call.
func piece(call string) string { return delta(`{"tool_calls":[` + call + `]}`) }

// argsOf are the calls of a stream, by name and arguments.
func argsOf(t *testing.T, events ...string) []string {
	t.Helper()
	f := newFake(t, sse(append(events, finished, counted, streamEnd)...))
	m, _ := f.client(streaming)
	got, err := complete(t, m, question())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range got.Calls {
		out = append(out, c.Name+" "+c.Arguments)
	}
	return out
}

// Rows C1, C2, C4, C5, C11: what servers send in one piece, they send in pieces too.
func TestStreamedCallsOfEveryKind(t *testing.T) {
	t.Parallel()
	rome, oslo := `weather {"city":"Rome"}`, `weather {"city":"Oslo"}`
	args := func(s string) string { return `"arguments":` + strconv.Quote(s) }
	for _, c := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"C1 empty ids", []string{piece(`{"index":0,"id":"","function":{"name":"weather",` + args(`{"city":`) + `}}`), piece(`{"index":0,"id":"","function":{` + args(`"Rome"}`) + `}}`)}, []string{rome}},
		{"C2 ids are numbers", []string{piece(`{"index":0,"id":7,"function":{"name":"weather",` + args(`{"city":`) + `}}`), piece(`{"index":0,"id":7,"function":{` + args(`"Rome"}`) + `}}`)}, []string{rome}},
		{"C4 null arguments", []string{piece(`{"index":0,"id":"x","function":{"name":"weather","arguments":null}}`)}, []string{"weather "}},
		{"C5 an object", []string{piece(`{"index":0,"id":"x","function":{"name":"weather","arguments":{"city":"Rome"}}}`)}, []string{rome}},
		{"C11 one object, no list", []string{delta(`{"tool_calls":` + goodCall + `}`)}, []string{rome}},
		{"the old function_call", []string{delta(`{"function_call":{"name":"weather","arguments":""}}`), delta(`{"function_call":{` + args(`{"city":`) + `}}`), delta(`{"function_call":{` + args(`"Rome"}`) + `}}`)}, []string{rome}},
		{"flat", []string{piece(`{"id":"x","name":"weather",` + args(`{"city":"Rome"}`) + `}`)}, []string{rome}},
		{"a null name later", []string{piece(`{"index":0,"id":"x","function":{"name":"weather",` + args(`{"city":`) + `}}`), piece(`{"index":0,"id":null,"function":{"name":null,` + args(`"Rome"}`) + `}}`)}, []string{rome}},
		{"numbers with a gap, interleaved", []string{
			piece(`{"index":1,"id":"x","function":{"name":"weather",` + args(`{"city":`) + `}}`), piece(`{"index":3,"id":"y","function":{"name":"weather",` + args(`{"ci`) + `}}`),
			piece(`{"index":1,"function":{` + args(`"Rome"}`) + `}}`), piece(`{"index":3,"function":{` + args(`ty":"Oslo"}`) + `}}`)}, []string{rome, oslo}},
		{"two calls of one event", []string{delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"weather",` + args(`{"city":"Rome"}`) + `}},{"index":1,"id":"y","function":{"name":"weather",` + args(`{"city":"Oslo"}`) + `}}]}`)}, []string{rome, oslo}},
		{"all are number 0, without ids", []string{piece(`{"index":0,"function":{"name":"weather",` + args(`{"city":"Rome"}`) + `}}`), piece(`{"index":0,"function":{"name":"weather",` + args(`{"city":"Oslo"}`) + `}}`)}, []string{rome, oslo}},
		{"number 0 twice, the second in pieces", []string{piece(`{"index":0,"function":{"name":"weather",` + args(`{"city":"Rome"}`) + `}}`), piece(`{"index":0,"function":{"name":"weather",` + args(`{"city":`) + `}}`), piece(`{"index":0,"function":{` + args(`"Oslo"}`) + `}}`)}, []string{rome, oslo}},
		{"one number for both, with ids", []string{piece(`{"index":0,"id":"x","function":{"name":"weather",` + args(`{"city":"Rome"}`) + `}}`), piece(`{"index":0,"id":"y","function":{"name":"weather",` + args(`{"city":"Oslo"}`) + `}}`)}, []string{rome, oslo}},
		{"one number for both, with ids, in pieces", []string{piece(`{"index":0,"id":"x","function":{"name":"weather",` + args(`{"city":`) + `}}`), piece(`{"index":0,"id":"x","function":{` + args(`"Rome"}`) + `}}`), piece(`{"index":0,"id":"y","function":{"name":"weather",` + args(`{"city":"Oslo"}`) + `}}`)}, []string{rome, oslo}},
		{"one id for both, without numbers", []string{piece(`{"id":"x","function":{"name":"weather",` + args(`{"city":"Rome"}`) + `}}`), piece(`{"id":"x","function":{"name":"weather",` + args(`{"city":"Oslo"}`) + `}}`)}, []string{rome, oslo}},
		{"one id for both, with numbers", []string{piece(`{"index":0,"id":"x","function":{"name":"weather",` + args(`{"city":"Rome"}`) + `}}`), piece(`{"index":1,"id":"x","function":{"name":"weather",` + args(`{"city":"Oslo"}`) + `}}`)}, []string{rome, oslo}},
		{"neither ids nor numbers, the name in every piece", []string{piece(`{"function":{"name":"weather",` + args(`{"city":`) + `}}`), piece(`{"function":{"name":"weather",` + args(`"Rome"}`) + `}}`), piece(`{"function":{"name":"weather",` + args(`{"city":"Oslo"}`) + `}}`)}, []string{rome, oslo}},
		{"an empty object first", []string{piece(`{"index":0,"id":"x","function":{"name":"weather","arguments":"{}"}}`), piece(`{"index":0,"function":{` + args(`{"city":`) + `}}`), piece(`{"index":0,"function":{` + args(`"Rome"}`) + `}}`)}, []string{rome}},
		{"an empty object is all", []string{piece(`{"index":0,"id":"x","function":{"name":"weather","arguments":"{}"}}`), piece(`{"index":0,"function":{"arguments":""}}`)}, []string{"weather {}"}},
		{"the whole once more at the end", []string{piece(`{"index":0,"id":"x","function":{"name":"weather",` + args(`{"city":`) + `}}`), piece(`{"index":0,"function":{` + args(`"Rome"}`) + `}}`), piece(`{"index":0,"id":"x","function":{"name":"weather",` + args(`{"city":"Rome"}`) + `}}`)}, []string{rome}},
		{"a number from the second piece on", []string{piece(`{"id":"x","function":{"name":"weather",` + args(`{"city":`) + `}}`), piece(`{"index":0,"function":{` + args(`"Rome"}`) + `}}`)}, []string{rome}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			same(t, c.want, argsOf(t, c.events...))
		})
	}
}

// One call under one id and one number that says two things is never guessed at:
// its arguments cannot be read, and so are not run.
func TestStreamedCallsThatContradictThemselves(t *testing.T) {
	t.Parallel()
	got := argsOf(t, piece(`{"index":0,"id":"x","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}`),
		piece(`{"index":0,"id":"x","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}`))
	same(t, []string{`weather {"city":"Rome"}{"city":"Oslo"}`}, got)
}

// Row C20: the signature comes with a piece of its own, and goes back.
func TestC20StreamedThoughtSignatureGoesBack(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(piece(`{"index":0,"id":"x","function":{"name":"weather","arguments":"{}"}}`), piece(`{"index":0,"extra_content":{"google":{"thought_signature":"s"}}}`), finished))
	m, _ := f.client(streaming)
	got, err := complete(t, m, question())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := complete(t, m, answered(got.Calls[0], llm.Message{})); err != nil {
		t.Fatal(err)
	}
	call := f.sentCall(1, 2)
	same(t, any(map[string]any{"google": map[string]any{"thought_signature": "s"}}), call["extra_content"])
	if _, ok := call[keyProviderID]; ok {
		t.Error("the provider's id was sent back beside its signature")
	}
}

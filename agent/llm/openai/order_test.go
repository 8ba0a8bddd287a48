package openai

import (
	"encoding/json"
	"testing"

	"countersign/agent/llm"
)

// followed is a conversation in which people speak twice in a row, and after a tool.
func followed() llm.Request {
	r := question()
	r.Messages = append(r.Messages, llm.Message{Role: llm.User, Text: "In Rome."},
		llm.Message{Role: llm.Assistant, Text: "I look.", Calls: []llm.Call{{ID: "a00000009", Name: "weather", Arguments: "{}"}}},
		llm.Message{Role: llm.Tool, CallID: "a00000009", Text: "sunny"}, llm.Message{Role: llm.User, Text: "And tomorrow?"})
	return r
}

// spoken are the roles and words of a request, in order.
func (f *fake) spoken(request int) []string {
	var out []string
	list, _ := f.requests()[request]["messages"].([]any)
	for i := range list {
		m := f.sentMessage(request, i)
		out = append(out, inWords(m["role"])+": "+inWords(m[keyContent]))
	}
	return out
}

// Servers whose models know two speakers in turn get them so, from the first refusal on.
func TestServersThatWantAnOrder(t *testing.T) {
	t.Parallel()
	inTurn := []string{"system: Be brief.", "user: How is the weather?\n\nIn Rome.", "assistant: I look.", "tool: sunny", "assistant: " + bridge, "user: And tomorrow?"}
	noSystem := []string{"user: Be brief.\n\nHow is the weather?", "user: In Rome.", "assistant: I look.", "tool: sunny", "user: And tomorrow?"}
	for _, c := range []struct {
		refusal string
		want    []string
	}{
		{`{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","code":"3230"}`, inTurn},
		{`{"error":{"message":"After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."}}`, inTurn},
		{`{"error":{"message":"System role not supported"}}`, noSystem},
	} {
		f := newFake(t, wire{status: 400, body: c.refusal}, plainAnswer)
		m, _ := f.client(nil)
		r := followed()
		for range 2 {
			if _, err := complete(t, m, r); err != nil {
				t.Fatal(err)
			}
		}
		same(t, 3, len(f.requests()))
		same(t, 6, len(f.spoken(0)))
		same(t, c.want, f.spoken(1))
		same(t, c.want, f.spoken(2))
		same(t, "In Rome.", r.Messages[2].Text) // the agent's own is untouched
	}
}

// Row C43: whatever a server takes beside calls without text is found by trying.
func TestC43RefusedContentIsReplaced(t *testing.T) {
	t.Parallel()
	refuse := func(words string) wire { return wire{status: 400, body: `{"error":{"message":"` + words + `"}}`} }
	f := newFake(t, refuse("messages: text content blocks must contain non-whitespace text"), refuse("messages.2.content: none is not an allowed value"), refuse("content must not be empty"), plainAnswer)
	m, _ := f.client(nil)
	r := answered(llm.Call{ID: "a00000009", Name: "weather", Arguments: "{}"}, llm.Message{})
	for range 2 {
		if _, err := complete(t, m, r); err != nil {
			t.Fatal(err)
		}
	}
	var sent []any
	for i := range f.requests() {
		content, there := f.sentMessage(i, 2)[keyContent]
		if !there {
			content = "omitted"
		}
		sent = append(sent, content)
	}
	same(t, []any{" ", nil, "", "omitted", "omitted"}, sent)
}

// A name that the model made up does not make the next request one that strict
// servers refuse, in either API.
func TestMadeUpNamesGoBackFit(t *testing.T) {
	t.Parallel()
	long := "x"
	for len(long) < 100 {
		long += "x"
	}
	for name, want := range map[string]string{"functions.weather": "functions_weather", "": "unnamed", "天气 now": "___now", long: long[:64], "weather": "weather"} {
		r := answered(llm.Call{ID: "a00000009", Name: name, Arguments: "{}"}, llm.Message{})
		f := newFake(t, plainAnswer)
		if _, err := f.complete(r); err != nil {
			t.Fatal(err)
		}
		fn, _ := f.sentCall(0, 2)["function"].(map[string]any)
		same(t, any(want), fn["name"])
		f = newFake(t, wire{body: respondedText})
		m := responsesClient(f)
		if _, err := complete(t, m, r); err != nil {
			t.Fatal(err)
		}
		input, _ := f.requests()[0]["input"].([]any)
		call, _ := input[2].(map[string]any)
		same(t, any(want), call["name"])
	}
}

// Row C41: taking out the nulls leaves everything else as it was written: large
// numbers, the order, and a name given twice, which is for the gate to refuse.
func TestC41NullsOnlyAreTakenOut(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"a":{}},"required":["must"]}`)
	for args, want := range map[string]string{
		`{"z":12345678901234567890,"a":null,"b":1.50}`: `{"z":12345678901234567890,"b":1.50}`,
		`{"id":"x","id":"y","a":null}`:                 `{"id":"x","id":"y"}`,
		`{"must":null}`:                                `{"must":null}`,
		`{"o":{"k":1,"k":2},"a":null}`:                 `{"o":{"k":1,"k":2}}`,
		`[null]`:                                       `[null]`,
		`{"a":null`:                                    `{"a":null`,
		``:                                             ``,
	} {
		same(t, want, withoutNulls(args, schema))
	}
}

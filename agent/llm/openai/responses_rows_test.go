package openai

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"countersign/agent/llm"
)

// responded is a response with these output items.
func responded(items string) string {
	return `{"id":"r","object":"response","status":"completed","output":[` + items + `],"usage":{"input_tokens":20,"output_tokens":5}}`
}

func called(args string) string {
	return `{"type":"function_call","call_id":"call_1","name":"weather","arguments":` + args + `}`
}

const saidB = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}`

// Rows C1, C2, C4, C5, C13, C16, C17, C38, C10: the other API has the same servers.
func TestResponsesOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body, text, args, reasoning string
		cut, estimated                    bool
	}{
		{name: "text", body: responded(saidB), text: "b"},
		{name: "content is a text", body: responded(`{"type":"message","content":"b"}`), text: "b"},
		{name: "unknown items", body: responded(`7,null,{"type":"web_search_call","id":9},` + saidB), text: "b"},
		{name: "C17 thinking left in the text", body: responded(`{"type":"message","content":"<think>r</think>b"}`), text: "b", reasoning: "r"},
		{name: "C14 open reasoning", body: responded(`{"type":"reasoning","content":[{"type":"reasoning_text","text":"r"}]},` + saidB), text: "b", reasoning: "r"},
		{name: "C2 ids are numbers", body: responded(`{"type":"function_call","id":1,"call_id":7,"name":"weather","arguments":"{}"}`), args: "{}"},
		{name: "C4 null arguments", body: responded(called("null")), args: ""},
		{name: "C5 an object keeps its numbers", body: responded(called(`{"n":12345678901234567890,"m":1.50}`)), args: `{"m":1.50,"n":12345678901234567890}`},
		{name: "C10 cut before the arguments", body: `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + called(`""`) + `],"usage":{"input_tokens":20,"output_tokens":5}}`, args: "{", cut: true},
		{name: "C38 no usage", body: `{"status":"completed","output":[` + saidB + `],"usage":null}`, text: "b", estimated: true},
		{name: "C38 floats", body: `{"status":"completed","output":[` + saidB + `],"usage":{"input_tokens":20.0,"output_tokens":"5"}}`, text: "b"},
		{name: "a stream that nobody asked for", body: "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"output\":[]}}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"response\":" + responded(saidB) + "}\n\n", text: "b"},
		{name: "a stream whose end is empty", body: "data: {\"type\":\"response.output_item.done\",\"item\":" + saidB + "}\n\ndata: {\"type\":\"response.completed\",\"response\":" + responded("") + "}\n\n", text: "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, wire{body: c.body})
			got, err := complete(t, responsesClient(f), question())
			if err != nil {
				t.Fatal(err)
			}
			args := ""
			if len(got.Calls) > 0 {
				args = got.Calls[0].Arguments
				same(t, strings.HasPrefix(c.name, "C2"), string(got.Calls[0].Extra) == `{"provider_id":"7"}`)
			}
			same(t, []string{c.text, c.args, c.reasoning}, []string{got.Text, args, got.Reasoning})
			same(t, []bool{c.cut, c.estimated}, []bool{got.Cut, got.Usage.Estimated})
			if got.Usage.Total() == 0 || !c.estimated && got.Usage.Total() != 25 {
				t.Errorf("usage %+v", got.Usage)
			}
		})
	}
}

// Rows C31, C32, C34: streams of the other API.
func TestResponsesStreamed(t *testing.T) {
	t.Parallel()
	ask := func(answer wire) (llm.Reply, *llm.Error, *fake) {
		f := newFake(t, answer)
		m, _ := f.client(func(c *Config) { c.API, c.Stream, c.Tries = Responses, true, 1 })
		got, err := complete(t, m, question())
		return got, err, f
	}
	end := "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":" + responded(called(strconv.Quote(`{"city":"Rome"}`))) + "}\n\n"
	open := streamOf("data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n" + end)
	open.open = true // the server leaves the connection open
	got, err, f := ask(open)
	if err != nil || len(got.Calls) != 1 || got.Calls[0].Arguments != `{"city":"Rome"}` || f.requests()[0]["stream"] != true {
		t.Errorf("%+v, %v", got, err)
	}
	for name, c := range map[string]struct {
		body string
		kind llm.Kind
	}{
		"cut":           {"data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n", llm.Overloaded},
		"cut in itself": {end[:len(end)-40], llm.Overloaded},
		"failed":        {"data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"m\"}}}\n\n", llm.Overloaded},
		"error event":   {"event: error\ndata: {\"type\":\"error\",\"code\":\"invalid_api_key\",\"message\":\"m\"}\n\n", llm.Config},
		"error object":  {"data: {\"error\":{\"code\":402,\"message\":\"m\"}}\n\n", llm.Quota},
		"filtered":      {"data: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"},\"output\":[]}}\n\n", llm.BadRequest},
	} {
		if _, err, _ := ask(streamOf(c.body)); err == nil || err.Kind != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An id that the provider gave to two calls is sent back for one of them only: each
// result must find its call.
func TestResponsesIDsThatRepeat(t *testing.T) {
	t.Parallel()
	f := newFake(t, wire{body: responded(called(`"{}"`) + "," + called(`"{}"`))}, wire{body: respondedText})
	m := responsesClient(f)
	got, err := complete(t, m, question())
	if err != nil {
		t.Fatal(err)
	}
	r := question()
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Calls: got.Calls},
		llm.Message{Role: llm.Tool, CallID: got.Calls[0].ID, Text: "one"}, llm.Message{Role: llm.Tool, CallID: got.Calls[1].ID, Text: "two"})
	if _, err := complete(t, m, r); err != nil {
		t.Fatal(err)
	}
	var items []struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}
	raw, _ := json.Marshal(f.requests()[1]["input"]) // it came out of JSON
	if err := json.Unmarshal(raw, &items); err != nil {
		t.Fatal(err)
	}
	first, second := items[2].CallID, items[3].CallID
	if first != "call_1" || second == first || items[4].CallID != first || items[5].CallID != second || items[5].Output != "two" {
		t.Errorf("items %+v", items)
	}
}

// Row C14: sealed reasoning goes back as it came, large numbers included.
func TestC14SealedReasoningGoesBackUnchanged(t *testing.T) {
	t.Parallel()
	item := `{"encrypted_content":"S","id":"rs_1","n":12345678901234567890,"summary":[],"type":"reasoning"}`
	f := newFake(t, wire{body: responded(item + "," + saidB)})
	m := responsesClient(f)
	got, err := complete(t, m, question())
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"sealed_reasoning":[`+item+`]}`, string(got.Extra))
	again := question()
	again.Messages = append(again.Messages, llm.Message{Role: llm.Assistant, Text: got.Text, Extra: got.Extra})
	if _, err := complete(t, m, again); err != nil {
		t.Fatal(err)
	}
	if sent := f.raw[1]; !strings.Contains(sent, item) {
		t.Errorf("%s is not in %s", item, sent)
	}
}

package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	api "github.com/sashabaranov/go-openai"
)

// FuzzPieces cuts arguments anywhere, within characters too: put together they are
// what they were.
func FuzzPieces(f *testing.F) {
	for _, s := range []string{`{"city":"Rome"}`, `{}`, ` {} `, `{"a":"{}"}`, `{"城市":"罗马"}`, `{"a":{"b":[1,2.50,"x"]}}`, `{"a":"` + "\U0010fe41罗" + `"}`} {
		f.Add(s, uint16(1), uint16(4), true)
		f.Add(s, uint16(2), uint16(11), false)
	}
	f.Fuzz(func(t *testing.T, args string, a, b uint16, numbered bool) {
		if !utf8.ValidString(args) || !json.Valid([]byte(args)) || !strings.HasPrefix(strings.TrimSpace(args), "{") {
			return
		}
		one, two := int(a)%(len(args)+1), int(b)%(len(args)+1)
		one, two = min(one, two), max(one, two)
		number := ""
		if numbered {
			number = `"index":0,`
		}
		body := "data: " + piece(`{`+number+`"id":"x","function":{"name":"weather","arguments":`+quotedBytes(args[:one])+`}}`) + "\n\n"
		for _, p := range []string{args[one:two], args[two:]} {
			body += "data: " + piece(`{`+number+`"function":{"arguments":`+quotedBytes(p)+`}}`) + "\n\n"
		}
		whole, err := fold([]byte(body + "data: " + finished + "\n\n"))
		if err != nil {
			t.Fatal(err)
		}
		n, err := normalise(whole)
		if err != nil {
			t.Fatal(err)
		}
		var response api.ChatCompletionResponse
		if err := json.Unmarshal(n.body, &response); err != nil {
			t.Fatal(err)
		}
		calls := response.Choices[0].Message.ToolCalls
		if len(calls) != 1 || calls[0].Function.Arguments != args {
			t.Fatalf("%q became %+v", args, calls)
		}
	})
}

// quotedBytes writes a text that may begin or end within a character, as servers do
// that cut by bytes.
func quotedBytes(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c < 0x20:
			b.WriteString(`\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// FuzzResponse reads any bytes as an answer of the Responses API.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		respondedCall, respondedText, responded(called(`{"n":1}`)), `{"status":"incomplete","output":[{"type":"message","content":7}]}`, "[]", "<html>", "",
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":" + responded(saidB) + "}\n\n", "data: {\"type\":\"response.failed\",\"response\":null}\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, r := New(Config{Model: "m"}), question()
		x := &exchange{m: m, request: &r, responses: true}
		normal, err := x.accept(&http.Response{StatusCode: http.StatusOK, Header: http.Header{}}, body)
		if err != nil {
			checkTrouble(t, err)
			return
		}
		var response api.CreateResponseResponse
		if err := json.Unmarshal(normal, &response); err != nil {
			t.Fatalf("go-openai cannot read %s: %v", normal, err)
		}
		reply, failed := m.responsesReply(context.Background(), x, response)
		if failed != nil {
			checkTrouble(t, failed)
			return
		}
		checkReply(t, &reply)
		if _, err := json.Marshal(m.responsesRequest(r, habits{})); err != nil {
			t.Fatal(err)
		}
	})
}

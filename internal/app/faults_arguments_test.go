package app_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// Rows C4, C5, C10: arguments as models and servers write them. What can be read in
// one way runs once as it was meant; anything else runs never, and the model hears
// why and calls again.
func TestArgumentsAsModelsWriteThem(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, raw, runs string }{ // runs: empty when it must not
		{"plain", `{"what":"a"}`, `{"what":"a"}`},
		{"quoted twice", `"{\"what\":\"a\"}"`, `{"what":"a"}`},
		{"a trailing comma", `{"what":"a",}`, `{"what":"a"}`},
		{"a code fence", "```json\n{\"what\":\"a\"}\n```", `{"what":"a"}`},
		{"a byte order mark", "\ufeff{\"what\":\"a\"}", `{"what":"a"}`},
		{"CRLF between", "{\r\n\"what\": \"a\"\r\n}", `{"what":"a"}`},
		{"a large number keeps its digits", `{"what":"a","n":12345678901234567890}`, `{"n":12345678901234567890,"what":"a"}`},
		{"none where one is needed", ``, ""},
		{"the text null", `null`, ""},
		{"a list", `[]`, ""},
		{"a text", `"a"`, ""},
		{"cut", `{"what":"a`, ""},
		{"cut after the value", `{"what":"a"`, ""},
		{"two objects", `{"what":"a"}{"what":"b"}`, ""},
		{"a name given twice", `{"what":"a","what":"b"}`, ""},
		{"half of a pair", `{"what":"\ud800"}`, ""},
		{"quoted three times", `"\"{\\\"what\\\":\\\"a\\\"}\""`, ""},
		{"nested beyond measure", `{"what":"a","x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, ""},
	}
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter := &apptest.Counter{Name: "wipe", Risk: tools.Medium, Schema: `{"type":"object","properties":{"what":{"type":"string"},"n":{"type":"integer"},"x":{}},"required":["what"]}`}
		first := apptest.Turn{From: func(r apptest.Request) apptest.Turn {
			for i := range cases {
				if isCase(r, i) {
					return apptest.Calls("wipe", cases[i].raw)
				}
			}
			return apptest.Says("Which case?")
		}}
		second := apptest.Turn{From: func(r apptest.Request) apptest.Turn {
			if refused := r.Messages[len(r.Messages)-1]; strings.Contains(r.Raw, "REFUSED (invalid_arguments)") && refused.Content != "" {
				return apptest.Calls("wipe", `{"what":"mended"}`)
			}
			return apptest.Says("That is all.")
		}}
		o.Extra, o.Model = []tools.Tool{counter}, apptest.Play(first, second, apptest.Says("That is all."))
		s := start(t, o)
		asks := make([]slacktest.Message, len(cases))
		for i := range cases {
			asks[i] = s.asks(caseName(i))
		}
		for i, c := range cases {
			s.answered(asks[i], "That is all.")
			w := s.runOf(asks[i], agent.Success)
			last := w.Steps[len(w.Steps)-1]
			want := c.runs
			if want == "" {
				want = `{"what":"mended"}`
			}
			if got := ranOnce(t, w); got != "wipe succeeded" || string(last.Executed) != want || (len(w.Steps) == 1) != (c.runs != "") {
				t.Errorf("%s: %q ran, with %s after %d steps", c.name, got, last.Executed, len(w.Steps))
			}
		}
		if counter.Count() != len(cases) {
			t.Errorf("%d calls for %d requests", counter.Count(), len(cases))
		}
	})
}

func caseName(i int) string { return fmt.Sprintf("wipe case %c please", 'A'+i) }

func isCase(r apptest.Request, i int) bool {
	for _, m := range r.Messages {
		if m.Role == "user" && strings.Contains(m.Content, caseName(i)) {
			return true
		}
	}
	return false
}

// Text of a model that no database or screen likes reaches the thread, made fit.
func TestTextAsModelsWriteIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		script := apptest.Play(apptest.Calls("wipe", "{\"thought\":\"nul \\u0000 here\",\"what\":\"nul \\u0000 there\"}"), apptest.Says("It holds a nul \x00 and a bell \a, then ends."))
		counter := &apptest.Counter{Name: "wipe", Risk: tools.Low}
		o.Extra, o.Model = []tools.Tool{counter}, script
		s := start(t, o)
		a := s.answered(s.asks("say it"), "then ends.")
		s.waits(agent.Success)
		if strings.ContainsAny(a.Shown(), "\x00\a") || counter.Count() != 1 {
			t.Errorf("shown %q, %d calls", a.Shown(), counter.Count())
		}
	})
}

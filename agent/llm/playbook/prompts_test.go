package playbook

import (
	"slices"
	"testing"

	"countersign/agent/prompts"
)

// TestTheSignsAreThoseOfThePrompts keeps the scenes true to what the agent
// really tells its model.
func TestTheSignsAreThoseOfThePrompts(t *testing.T) {
	t.Parallel()
	said, err := prompts.New()
	if err != nil {
		t.Fatal(err)
	}
	b, err := load(Scenes())
	if err != nil {
		t.Fatal(err)
	}
	failure := map[string]any{"Code": "c", "Reason": "r"}
	person := map[string]any{"By": "U2", "Reason": "r", "Text": "x", "Proposed": `{"id":"a"}`, "Executed": `{"id":"b"}`, "Result": "done"}
	failed := map[string]any{"By": "U2", "Reason": "", "Proposed": "{}", "Executed": "{}", "Result": "ERROR (c): r"}
	for _, c := range []struct {
		template string
		data     any
		signs    []string
	}{
		{"failed", failure, []string{"error"}},
		{"refused", failure, []string{"error"}},
		{"rejected", person, []string{"rejected"}},
		{"responded", person, []string{"responded"}},
		{"expired", nil, []string{"expired"}},
		{"edited", person, []string{"edited"}},
		{"edited", failed, []string{"edited", "error"}},
		{"happened", person, []string{"happened"}},
		{"stopped", person, []string{"stopped"}},
		{"loop", map[string]any{"Tool": "x", "Times": 2}, []string{"warned"}},
	} {
		text, err := said.Render(c.template, c.data)
		if err != nil {
			t.Fatal(err)
		}
		for name, sign := range b.words.signs {
			if got, want := sign.MatchString(text), slices.Contains(c.signs, name); got != want {
				t.Errorf("%s shows %s: %v\n%s", c.template, name, got, text)
			}
		}
	}
}

func TestTheNotesAreThoseOfThePrompts(t *testing.T) {
	t.Parallel()
	said, err := prompts.New()
	if err != nil {
		t.Fatal(err)
	}
	b, err := load(Scenes())
	if err != nil {
		t.Fatal(err)
	}
	quote := prompts.Quote("U1", "Ana", "Delete document doc_42")
	for template, data := range map[string]any{
		"history": []string{quote},
		"quote":   quote,
		"reflect": map[string]any{"Failures": []any{}, "Attempt": 1, "Most": 3},
		"check":   []string{"x"},
		"closing": map[string]string{"Reason": "x"},
		"retry":   "x",
		"rolled":  map[string]any{"Turns": 3, "Steps": 3, "Text": `"x"`, "Plan": "", "Lines": []string{quote}},
	} {
		text, err := said.Render(template, data)
		if err != nil {
			t.Fatal(err)
		}
		if !b.words.notes.MatchString(text) {
			t.Errorf("%s passes for a request: %s", template, text)
		}
	}
	steer, err := said.Render("steer", quote)
	if err != nil {
		t.Fatal(err)
	}
	if b.words.notes.MatchString(steer) {
		t.Error("a further message of the asker is no request")
	}
}

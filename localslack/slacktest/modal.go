package slacktest

import (
	"context"
	"encoding/json"
	"strings"

	"countersign/localslack"
	"countersign/localslack/blockkit"
)

// Modal is the form that lies on top of a person's screen.
type Modal struct {
	ID     string
	person Person
	values map[string]map[string]json.RawMessage
}

// ExpectModal waits until a person sees a form, with all of the texts in it.
func (s *Slack) ExpectModal(p Person, parts ...string) *Modal {
	s.t.Helper()
	m := &Modal{person: p, values: map[string]map[string]json.RawMessage{}}
	s.until("a modal with "+strings.Join(parts, ", "), func() bool {
		v, ok := p.top()
		m.ID = v.ID
		return ok && containsAll(viewText(v), parts)
	})
	return m
}

// ExpectNoModal waits until a person's screen is free of forms.
func (s *Slack) ExpectNoModal(p Person) {
	s.t.Helper()
	s.until("no modal", func() bool {
		_, open := p.top()
		return !open
	})
}

func (p Person) top() (localslack.View, bool) {
	stack := p.s.Server.Workspace().Views(p.ID)
	if len(stack) == 0 {
		return localslack.View{}, false
	}
	return stack[len(stack)-1], true
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

func viewText(v localslack.View) string {
	var out []string
	for _, raw := range []json.RawMessage{v.Title, v.Submit} {
		var t struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &t) == nil {
			out = append(out, t.Text)
		}
	}
	return strings.Join(append(out, blockkit.Texts(v.Blocks)...), "\n")
}

// View is the form as it stands.
func (m *Modal) View() localslack.View {
	for _, v := range m.person.s.Server.Workspace().Views(m.person.ID) {
		if v.ID == m.ID {
			return v
		}
	}
	return localslack.View{}
}

// Shown is every text of the form, a text a line.
func (m *Modal) Shown() string { return viewText(m.View()) }

func (m *Modal) input(blockID string) blockkit.Found {
	m.person.s.t.Helper()
	for _, f := range blockkit.Elements(m.View().Blocks) {
		if f.BlockID == blockID {
			return f
		}
	}
	m.person.s.t.Fatalf("no input %s in the modal:\n%s", blockID, m.Shown())
	return blockkit.Found{}
}

// Initial is what the app put into an input.
func (m *Modal) Initial(blockID string) string {
	m.person.s.t.Helper()
	v, _ := m.input(blockID).State()["value"].(string)
	return v
}

// Fill types a text into an input, or chooses the option with that value.
func (m *Modal) Fill(blockID, value string) *Modal {
	m.person.s.t.Helper()
	f := m.input(blockID)
	state := f.State()
	switch {
	case strings.HasSuffix(f.Type, "_input"):
		state["value"] = value
		if value == "" {
			state["value"] = nil
		}
	case f.Type == "static_select", f.Type == "radio_buttons":
		state["selected_option"] = m.option(f, value)
	case f.Type == "checkboxes":
		chosen := []any{}
		for _, v := range strings.Fields(value) {
			chosen = append(chosen, m.option(f, v))
		}
		state["selected_options"] = chosen
	default:
		m.person.s.t.Fatalf("Fill does not know %s", f.Type)
	}
	raw, err := json.Marshal(state)
	if err != nil {
		m.person.s.t.Fatal(err)
	}
	m.values[blockID] = map[string]json.RawMessage{f.ActionID: raw}
	return m
}

func (m *Modal) option(f blockkit.Found, value string) any {
	options, _ := f.Element["options"].([]any)
	for _, o := range options {
		if om, ok := o.(map[string]any); ok && om["value"] == value {
			return om
		}
	}
	m.person.s.t.Fatalf("input %s has no option %s", f.BlockID, value)
	return nil
}

// Submit presses the submit button and returns what the person sees.
func (m *Modal) Submit() localslack.Outcome {
	m.person.s.t.Helper()
	out, err := m.person.s.Server.Submit(context.Background(), localslack.Submission{User: m.person.ID, ViewID: m.ID, Values: m.values})
	m.person.done("submits", err)
	return out
}

// MustSubmit is Submit for a form that the app must accept.
func (m *Modal) MustSubmit() {
	m.person.s.t.Helper()
	if out := m.Submit(); !out.Acked || len(out.Errors) > 0 {
		m.person.s.t.Fatalf("the form was not accepted: %+v", out)
	}
}

// Clicks presses a button of the form.
func (m *Modal) Clicks(actionID string) localslack.Outcome {
	m.person.s.t.Helper()
	out, err := m.person.Press(localslack.Click{ViewID: m.ID, ActionID: actionID, State: m.values})
	m.person.done("clicks "+actionID, err)
	return out
}

// Close presses cancel.
func (m *Modal) Close() {
	m.person.s.t.Helper()
	_, err := m.person.s.Server.CloseView(context.Background(), m.person.ID, m.ID, false)
	m.person.done("closes the form", err)
}

package blockkit

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func inputOf(t *testing.T, element string, optional bool) Found {
	t.Helper()
	blocks := fmt.Sprintf(`[{"type":"input","block_id":"b","optional":%v,"label":{"type":"plain_text","text":"Label"},"element":%s}]`, optional, element)
	all := Elements(json.RawMessage(blocks))
	if len(all) != 1 {
		t.Fatalf("%d elements in %s", len(all), blocks)
	}
	return all[0]
}

func TestInitialState(t *testing.T) {
	t.Parallel()
	option := `{"text":{"type":"plain_text","text":"o"},"value":"v"}`
	for element, want := range map[string]string{
		`{"type":"plain_text_input"}`:                                                                  `{"type":"plain_text_input","value":null}`,
		`{"type":"plain_text_input","initial_value":"x"}`:                                              `{"type":"plain_text_input","value":"x"}`,
		`{"type":"number_input","is_decimal_allowed":true,"initial_value":"1.50"}`:                     `{"type":"number_input","value":"1.50"}`,
		`{"type":"static_select","options":[` + option + `]}`:                                          `{"type":"static_select","selected_option":null}`,
		`{"type":"static_select","options":[` + option + `],"initial_option":` + option + `}`:          `{"type":"static_select","selected_option":` + option + `}`,
		`{"type":"checkboxes","options":[` + option + `]}`:                                             `{"type":"checkboxes","selected_options":[]}`,
		`{"type":"users_select","initial_user":"U1"}`:                                                  `{"type":"users_select","selected_user":"U1"}`,
		`{"type":"multi_users_select","initial_users":["U1"]}`:                                         `{"type":"multi_users_select","selected_users":["U1"]}`,
		`{"type":"multi_static_select","options":[` + option + `],"initial_options":[` + option + `]}`: `{"type":"multi_static_select","selected_options":[` + option + `]}`,
		`{"type":"datepicker","initial_date":"2026-03-02"}`:                                            `{"type":"datepicker","selected_date":"2026-03-02"}`,
		`{"type":"timepicker"}`:                                                                        `{"type":"timepicker","selected_time":null}`,
		`{"type":"datetimepicker","initial_date_time":1}`:                                              `{"type":"datetimepicker","selected_date_time":1}`,
		`{"type":"file_input"}`:                                                                        `{"type":"file_input","files":[]}`,
		`{"type":"rich_text_input"}`:                                                                   `{"type":"rich_text_input","rich_text_value":null}`,
	} {
		raw, err := json.Marshal(inputOf(t, element, false).State())
		if err != nil {
			t.Fatal(err)
		}
		var got, wanted any
		if json.Unmarshal(raw, &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil {
			t.Fatalf("%s or %s", raw, want)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", element, diff)
		}
	}
	if s := (Found{Type: "button"}).State(); s != nil {
		t.Errorf("a button holds %v", s)
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	number := `{"type":"number_input","is_decimal_allowed":%v,"min_value":"-2.5","max_value":"10"}`
	whole, decimal := fmt.Sprintf(number, false), fmt.Sprintf(number, true)
	for _, tt := range []struct {
		element, value string
		optional, fine bool
	}{
		{`{"type":"plain_text_input"}`, "", false, false},
		{`{"type":"plain_text_input"}`, "", true, true},
		{`{"type":"plain_text_input","max_length":3}`, "abc", false, true},
		{`{"type":"plain_text_input","max_length":3}`, "abcd", false, false},
		{`{"type":"plain_text_input","min_length":3}`, "ab", false, false},
		{`{"type":"plain_text_input"}`, long(3001), false, false},
		{whole, "10", false, true}, {whole, "11", false, false}, {whole, "-3", false, false}, {whole, "1.5", false, false},
		{whole, "ten", false, false}, {whole, "0x10", false, false}, {whole, "1/2", false, false}, {whole, "1e1", false, false},
		{decimal, "1.5", false, true}, {decimal, "-2.50", false, true}, {decimal, "-2.51", false, false},
		{`{"type":"email_text_input"}`, "a@b.co", false, true}, {`{"type":"email_text_input"}`, "a", false, false},
		{`{"type":"url_text_input"}`, "https://a.example/x", false, true}, {`{"type":"url_text_input"}`, "a.example", false, false},
	} {
		f := inputOf(t, tt.element, tt.optional)
		state, err := json.Marshal(map[string]any{"type": f.Type, "value": tt.value})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Refuse(state); (got == "") != tt.fine {
			t.Errorf("%s with %.20q: %q", tt.element, tt.value, got)
		}
	}
}

func TestCompleteFillsInIDs(t *testing.T) {
	t.Parallel()
	n := 0
	id := func() string { n++; return fmt.Sprintf("id%d", n) }
	got := Complete(json.RawMessage(`[
		{"type":"divider"},
		{"type":"section","block_id":"mine","text":{"type":"mrkdwn","text":"x"},"accessory":{"type":"overflow","options":[]}},
		{"type":"actions","elements":[{"type":"button","action_id":"a"},{"type":"button"}]},
		{"type":"context","elements":[{"type":"mrkdwn","text":"x"}]}]`), id)
	want := []Found{
		{BlockID: "mine", ActionID: "id2", Type: "overflow"}, {BlockID: "id3", ActionID: "a", Type: "button"}, {BlockID: "id3", ActionID: "id4", Type: "button"},
	}
	all := Elements(got)
	for i := range all {
		all[i].Element = nil
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if raw := Complete(json.RawMessage("no"), id); string(raw) != "no" {
		t.Errorf("broken blocks became %s", raw)
	}
}

func TestTextsInReadingOrder(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`[
		{"type":"header","text":{"type":"plain_text","text":"Head"}},
		{"type":"section","text":{"type":"mrkdwn","text":"Body <@U1>"},"fields":[{"type":"plain_text","text":"Field"}],"accessory":{"type":"button","text":{"type":"plain_text","text":"Press"}}},
		{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"Rich"},{"type":"user","user_id":"U2"},{"type":"link","url":"http://x"}]}]},
		{"type":"table","rows":[[{"type":"raw_text","text":"Cell"}]]},
		{"type":"plan","title":"Plan","tasks":[{"type":"task_card","title":"Task","details":{"type":"rich_text","elements":[]}}]},
		{"type":"markdown","text":"**MD**"}]`)
	if diff := cmp.Diff([]string{"Head", "Body <@U1>", "Field", "Press", "Rich", "<@U2>", "http://x", "Cell", "Plan", "Task", "**MD**"}, Texts(raw)); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Body <@U1>", "**MD**"}, Interpreted(raw)); diff != "" {
		t.Errorf("interpreted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"@U2", "http://x"}, Mentions(raw)); diff != "" {
		t.Errorf("mentions (-want +got):\n%s", diff)
	}
}

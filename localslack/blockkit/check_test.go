package blockkit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func long(n int) string { return strings.Repeat("x", n) }

func plainText(s string) string { return fmt.Sprintf(`{"type":"plain_text","text":%q}`, s) }

func many(n int, one string) string {
	return strings.TrimSuffix(strings.Repeat(one+",", n), ",")
}

// numbered is n copies of one in which %d counts.
func numbered(n int, one string) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(one, i))
	}
	return strings.Join(out, ",")
}

func section(text string) string {
	return fmt.Sprintf(`{"type":"section","text":{"type":"mrkdwn","text":%q}}`, text)
}

func actions(elements string) string {
	return fmt.Sprintf(`{"type":"actions","elements":[%s]}`, elements)
}

func aButton(id, text, rest string) string {
	return fmt.Sprintf(`{"type":"button","action_id":%q,"text":%s%s}`, id, plainText(text), rest)
}

func TestLimitsOfBlocks(t *testing.T) {
	t.Parallel()
	options := func(n int) string {
		return numbered(n, `{"text":{"type":"plain_text","text":"o"},"value":"v%d"}`)
	}
	raw := `{"type":"raw_text","text":"c"}`
	for _, tt := range []struct {
		name   string
		blocks string
		want   string // part of the message; a code when it starts with !; empty: fine
	}{
		{"none", ``, ""},
		{"50 blocks", many(50, `{"type":"divider"}`), ""},
		{"51 blocks", many(51, `{"type":"divider"}`), "no more than 50 items"},
		{"unknown type", `{"type":"sparkle"}`, "unsupported type: sparkle"},
		{"unknown key", `{"type":"divider","colour":"red"}`, "invalid additional property: colour"},
		{"null", `{"type":"section","text":null}`, "must not be null"},
		{"no object", `3`, "must be an object"},
		{"section 3000", section(long(3000)), ""},
		{"section 3001", section(long(3001)), "must be less than 3001 characters"},
		{"emoji count twice", section(strings.Repeat("😀", 1501)), "must be less than 3001 characters"},
		{"empty text", section(""), "must be more than 0 characters"},
		{"section without text", `{"type":"section"}`, "missing required field: text"},
		{"section with fields only", `{"type":"section","fields":[` + many(10, plainText("f")) + `]}`, ""},
		{"11 fields", `{"type":"section","fields":[` + many(11, plainText("f")) + `]}`, "no more than 10 items"},
		{"long field", `{"type":"section","fields":[` + plainText(long(2001)) + `]}`, "must be less than 2001"},
		{"header 151", `{"type":"header","text":` + plainText(long(151)) + `}`, "must be less than 151"},
		{"header in mrkdwn", `{"type":"header","text":{"type":"mrkdwn","text":"x"}}`, "must be plain_text"},
		{"context 10", `{"type":"context","elements":[` + many(10, plainText("c")) + `]}`, ""},
		{"context 11", `{"type":"context","elements":[` + many(11, plainText("c")) + `]}`, "no more than 10 items"},
		{"25 buttons", actions(numbered(25, `{"type":"button","action_id":"a%d","text":`+plainText("b")+`}`)), ""},
		{"26 buttons", actions(numbered(26, `{"type":"button","action_id":"a%d","text":`+plainText("b")+`}`)), "no more than 25 items"},
		{"no buttons", actions(""), "no less than 1 items"},
		{"button 76", actions(aButton("a", long(76), "")), "must be less than 76"},
		{"button value 2001", actions(aButton("a", "b", `,"value":"`+long(2001)+`"`)), "must be less than 2001"},
		{"button style", actions(aButton("a", "b", `,"style":"loud"`)), "must be a valid enum value"},
		{"action id 256", actions(aButton(long(256), "b", "")), "must be less than 256"},
		{"same action id", actions(aButton("a", "b", "") + "," + aButton("a", "c", "")), "already exists for another action"},
		{"same action id elsewhere", actions(aButton("a", "b", "")) + "," + actions(aButton("a", "b", "")), ""},
		{"same block id", `{"type":"divider","block_id":"d"},{"type":"divider","block_id":"d"}`, "already exists for another block"},
		{"confirm", actions(aButton("a", "b", `,"confirm":{"title":`+plainText("t")+`,"text":`+plainText(long(301))+`,"confirm":`+plainText("y")+`,"deny":`+plainText("n")+`}`)), "must be less than 301"},
		{"100 options", actions(`{"type":"static_select","action_id":"s","options":[` + options(100) + `]}`), ""},
		{"101 options", actions(`{"type":"static_select","action_id":"s","options":[` + options(101) + `]}`), "no more than 100 items"},
		{"select without options", actions(`{"type":"static_select","action_id":"s"}`), "exactly one of options"},
		{"option text 76", actions(`{"type":"overflow","action_id":"s","options":[{"text":` + plainText(long(76)) + `,"value":"v"}]}`), "must be less than 76"},
		{"6 overflow options", actions(`{"type":"overflow","action_id":"s","options":[` + options(6) + `]}`), "no more than 5 items"},
		{"11 checkboxes", actions(`{"type":"checkboxes","action_id":"s","options":[` + options(11) + `]}`), "no more than 10 items"},
		{"text input among actions", actions(`{"type":"plain_text_input","action_id":"s"}`), "unsupported type: plain_text_input"},
		{"image", `{"type":"image","image_url":"http://x","alt_text":"a"}`, ""},
		{"image without alt", `{"type":"image","image_url":"http://x"}`, "missing required field: alt_text"},
		{"image without source", `{"type":"image","alt_text":"a"}`, "exactly one of image_url"},
		{"alert in a message", `{"type":"alert","text":` + plainText("x") + `}`, "not allowed here: alert"},
		{"markdown 12000", `{"type":"markdown","text":"` + long(12_000) + `"}`, ""},
		{"markdown 12001 in two", many(2, `{"type":"markdown","text":"`+long(6001)+`"}`), "!msg_blocks_too_long"},
		{"13200 of text", many(5, section(long(2640))), ""},
		{"13201 of text", many(5, section(long(2640))) + `,` + section("x"), "!msg_blocks_too_long"},
		{"rich text", `{"type":"rich_text","elements":[{"type":"rich_text_list","style":"bullet","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"a","style":{"bold":true}}]}]}]}`, ""},
		{"rich text too long", `{"type":"rich_text","elements":[{"type":"rich_text_preformatted","elements":[{"type":"text","text":"` + long(13_201) + `"}]}]}`, "!msg_blocks_too_long"},
		{"rich text element", `{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"sound"}]}]}`, "unsupported type: sound"},
		{"empty rich text element", `{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":""}]}]}`, "must be more than 0"},
		{"table", `{"type":"table","rows":[` + many(100, `[`+many(20, raw)+`]`) + `]}`, ""},
		{"table of 101 rows", `{"type":"table","rows":[` + many(101, `[`+raw+`]`) + `]}`, "no more than 100 items"},
		{"table of 21 columns", `{"type":"table","rows":[[` + many(21, raw) + `]]}`, "no more than 20 items"},
		{"table text", many(2, `{"type":"table","rows":[[{"type":"raw_text","text":"`+long(5001)+`"}]]}`), "!msg_blocks_too_long"},
		{"data table", `{"type":"data_table","caption":"c","rows":[[` + raw + `],[` + raw + `]]}`, ""},
		{"data table, uneven", `{"type":"data_table","caption":"c","rows":[[` + raw + `],[` + raw + `,` + raw + `]]}`, "same number of cells"},
		{"data table header", `{"type":"data_table","caption":"c","rows":[[{"type":"raw_number","value":1}],[` + raw + `]]}`, "header cells must be raw_text"},
		{"card", `{"type":"card","body":{"type":"mrkdwn","text":"` + long(200) + `"}}`, ""},
		{"card body 201", `{"type":"card","body":{"type":"mrkdwn","text":"` + long(201) + `"}}`, "must be less than 201"},
		{"empty card", `{"type":"card","subtext":{"type":"mrkdwn","text":"x"}}`, "one of hero_image"},
		{"carousel 11", `{"type":"carousel","elements":[` + many(11, `{"type":"card","body":`+plainText("b")+`}`) + `]}`, "no more than 10 items"},
		{"container", `{"type":"container","title":` + plainText("t") + `,"child_blocks":[` + section("x") + `]}`, ""},
		{"container in container", `{"type":"container","title":` + plainText("t") + `,"child_blocks":[{"type":"container"}]}`, "not allowed in a container"},
		{"task card", `{"type":"task_card","task_id":"1","title":"t","status":"complete"}`, ""},
		{"task status", `{"type":"task_card","task_id":"1","title":"t","status":"done"}`, "valid enum value"},
		{"plan", `{"type":"plan","title":"p","tasks":[{"type":"task_card","task_id":"1","title":"t"}]}`, ""},
		{"feedback", `{"type":"context_actions","elements":[{"type":"feedback_buttons","action_id":"f","positive_button":{"text":` + plainText("+") + `,"value":"1"},"negative_button":{"text":` + plainText("-") + `,"value":"0"}}]}`, ""},
		{"button among context actions", `{"type":"context_actions","elements":[` + aButton("a", "b", "") + `]}`, "unsupported type: button"},
	} {
		got := Check(json.RawMessage("["+tt.blocks+"]"), Message)
		switch {
		case tt.want == "":
			if got != nil {
				t.Errorf("%s: %v", tt.name, got)
			}
		case got == nil:
			t.Errorf("%s: accepted", tt.name)
		case tt.want[0] == '!':
			if got.Code != tt.want[1:] {
				t.Errorf("%s: %v, want %s", tt.name, got, tt.want[1:])
			}
		case got.Code != "invalid_blocks" || !slices.ContainsFunc(got.Messages, func(m string) bool { return strings.Contains(m, tt.want) }):
			t.Errorf("%s: %v, want invalid_blocks with %q", tt.name, got, tt.want)
		}
	}
}

func TestMessagesPointAtThePlace(t *testing.T) {
	t.Parallel()
	got := Check(json.RawMessage(`[`+section("ok")+`,`+actions(aButton("a", long(76), ""))+`]`), Message)
	want := []string{"[ERROR] must be less than 76 characters [json-pointer:/blocks/1/elements/0/text/text]"}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Check(json.RawMessage(`[`), Message); got == nil || got.Code != "invalid_blocks_format" {
		t.Errorf("broken JSON: %v", got)
	}
	if got := Check(nil, Message); got != nil {
		t.Errorf("no blocks: %v", got)
	}
}

func TestViews(t *testing.T) {
	t.Parallel()
	input := `{"type":"input","block_id":"b%d","label":` + plainText("l") + `,"element":{"type":"plain_text_input","action_id":"v"}}`
	for _, tt := range []struct {
		name  string
		view  string
		where Surface
		want  string
	}{
		{"modal", `{"type":"modal","title":` + plainText("t") + `,"submit":` + plainText("s") + `,"blocks":[` + numbered(100, input) + `]}`, Modal, ""},
		{"101 blocks", `{"type":"modal","title":` + plainText("t") + `,"submit":` + plainText("s") + `,"blocks":[` + numbered(101, input) + `]}`, Modal, "no more than 100"},
		{"title 25", `{"type":"modal","title":` + plainText(long(25)) + `,"blocks":[]}`, Modal, "must be less than 25"},
		{"no title", `{"type":"modal","blocks":[]}`, Modal, "missing required field: title"},
		{"input without submit", `{"type":"modal","title":` + plainText("t") + `,"blocks":[` + numbered(1, input) + `]}`, Modal, "missing required field: submit"},
		{"private metadata", `{"type":"modal","title":` + plainText("t") + `,"blocks":[],"private_metadata":"` + long(3001) + `"}`, Modal, "must be less than 3001"},
		{"home as modal", `{"type":"home","blocks":[]}`, Modal, "unsupported type: home"},
		{"home", `{"type":"home","blocks":[{"type":"divider"}]}`, Home, ""},
		{"home with title", `{"type":"home","title":` + plainText("t") + `,"blocks":[]}`, Home, "invalid additional property: title"},
		{"alert in a modal", `{"type":"modal","title":` + plainText("t") + `,"blocks":[{"type":"alert","text":` + plainText("x") + `,"level":"warning"}]}`, Modal, ""},
		{"markdown in a modal", `{"type":"modal","title":` + plainText("t") + `,"blocks":[{"type":"markdown","text":"x"}]}`, Modal, "not allowed here"},
		{"blocks null", `{"type":"modal","title":` + plainText("t") + `,"blocks":null}`, Modal, "must not be null"},
		{"initial value above max", `{"type":"modal","title":` + plainText("t") + `,"submit":` + plainText("s") + `,"blocks":[{"type":"input","label":` + plainText("l") + `,"element":{"type":"plain_text_input","max_length":3,"initial_value":"four"}}]}`, Modal, "must be less than 4"},
		{"text", `"modal"`, Modal, "view must be an object"},
	} {
		got := CheckView(json.RawMessage(tt.view), tt.where)
		switch {
		case tt.want == "" && got != nil:
			t.Errorf("%s: %v", tt.name, got)
		case tt.want != "" && (got == nil || !strings.Contains(strings.Join(got.Messages, "\n"), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, got, tt.want)
		}
	}
	big := `{"type":"modal","title":` + plainText("t") + `,"blocks":[` + many(99, section(long(2600))) + `]}`
	if got := CheckView(json.RawMessage(big), Modal); got == nil || got.Code != "view_too_large" {
		t.Errorf("257 kB: %v", got)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"[]", "[" + section("x") + "]", `[{"type":"rich_text","elements":[{}]}]`, `[{"type":"table","rows":[[null]]}]`, "{}", "[null]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if p := Check(raw, Message); p != nil && p.Code == "" {
			t.Errorf("a refusal without a code for %q", raw)
		}
		done := Complete(raw, func() string { return "id" })
		if Check(raw, Message) == nil && len(raw) > 0 && !json.Valid(done) {
			t.Errorf("completing %q gave %q", raw, done)
		}
		Texts(raw)
		Mentions(raw)
	})
}

package localslack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteAsPerson(t *testing.T) {
	t.Parallel()
	n := names{
		people: []Person{
			{ID: "U1", Name: "ana", RealName: "Ana"}, {ID: "U2", Name: "ana.lee", RealName: "Ana Lee"}, {ID: "UB", Name: "countersign", RealName: "countersign"},
			{ID: "U3", Name: "zhangsan", RealName: "张三"},
		},
		groups:   []Usergroup{{ID: "S1", Handle: "managers"}},
		channels: []Channel{{ID: "C1", Name: "ops"}, {ID: "C2", Name: "ops-eu"}},
	}
	for _, tt := range []struct{ typed, text, elements string }{
		{"hello", "hello", `[{"text":"hello","type":"text"}]`},
		{"@countersign 查余额", "<@UB> 查余额", `[{"type":"user","user_id":"UB"},{"text":" 查余额","type":"text"}]`},
		{"@countersign查余额", "<@UB>查余额", `[{"type":"user","user_id":"UB"},{"text":"查余额","type":"text"}]`},
		{"@张三你好", "<@U3>你好", `[{"type":"user","user_id":"U3"},{"text":"你好","type":"text"}]`},
		{"@anabel", "@anabel", `[{"text":"@anabel","type":"text"}]`},
		{"@Ana Lee, hi", "<@U2>, hi", `[{"type":"user","user_id":"U2"},{"text":", hi","type":"text"}]`},
		{"@managers @here", "<!subteam^S1> <!here>", `[{"type":"usergroup","usergroup_id":"S1"},{"text":" ","type":"text"},{"range":"here","type":"broadcast"}]`},
		{"in #ops-eu", "in <#C2|>", `[{"text":"in ","type":"text"},{"channel_id":"C2","type":"channel"}]`},
		{"<@U1> & <!here>", "&lt;@U1&gt; &amp; &lt;!here&gt;", `[{"text":"<@U1> \u0026 <!here>","type":"text"}]`},
		{"see https://a.example/x?y=1&z=2 now", "see <https://a.example/x?y=1&amp;z=2> now", `[{"text":"see ","type":"text"},{"type":"link","url":"https://a.example/x?y=1\u0026z=2"},{"text":" now","type":"text"}]`},
		{"refund a@b.co", "refund <mailto:a@b.co|a@b.co>", `[{"text":"refund ","type":"text"},{"text":"a@b.co","type":"link","url":"mailto:a@b.co"}]`},
		{"run `a < b`", "run `a &lt; b`", `[{"text":"run ","type":"text"},{"style":{"code":true},"text":"a < b","type":"text"}]`},
	} {
		got := writeAsPerson(tt.typed, n)
		if got.text != tt.text {
			t.Errorf("%q: text %q, want %q", tt.typed, got.text, tt.text)
		}
		section, _ := got.blocks[0].(element)
		if diff := cmp.Diff(unindented(t, tt.elements), unindented(t, string(marshal(section["elements"])))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.typed, diff)
		}
	}
}

// unindented decodes JSON, so that only its meaning is compared.
func unindented(t *testing.T, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return v
}

func TestCodeFences(t *testing.T) {
	t.Parallel()
	got := writeAsPerson("run\n```\nSELECT 1 < 2; -- @ana\n```\nplease", names{people: []Person{{ID: "U1", Name: "ana"}}})
	if want := "run\n```\nSELECT 1 &lt; 2; -- @ana\n```\nplease"; got.text != want {
		t.Errorf("text %q", got.text)
	}
	pre, _ := got.blocks[1].(element)
	if diff := cmp.Diff([]any{element{"type": "text", "text": "SELECT 1 < 2; -- @ana"}}, pre["elements"]); diff != "" || len(got.blocks) != 3 {
		t.Errorf("%d blocks (-want +got):\n%s", len(got.blocks), diff)
	}
	if open := writeAsPerson("a ``` b", names{}); open.text != "a ``` b" {
		t.Errorf("a fence without its end: %q", open.text)
	}
}

func TestStoreText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a & b":                     "a &amp; b",
		"a &amp; b &lt;c&gt;":       "a &amp; b &lt;c&gt;",
		"<@U1> < <https://x.y|z> >": "<@U1> &lt; <https://x.y|z> &gt;",
		"<!date^1^{date}|then> <b>": "<!date^1^{date}|then> &lt;b&gt;",
		"<!date^1^{date_short_pretty} {time}|2026-11-30 06:36 UTC> <!here x>": "<!date^1^{date_short_pretty} {time}|2026-11-30 06:36 UTC> &lt;!here x&gt;",
		"<script>alert(1)</script>":  "&lt;script&gt;alert(1)&lt;/script&gt;",
		"<!subteam^S1> <mailto:a@b>": "<!subteam^S1> <mailto:a@b>",
	} {
		if got := storeText(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if again := storeText(want); again != want {
			t.Errorf("%q is not stable: %q", want, again)
		}
	}
}

func TestMentionsMatchWholeIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"<@U12> x": false, "<@U1> x": true, "x<@U1|ana>y": true, "@U1": false, "&lt;@U1&gt;": false} {
		if got := mentions(text, "U1"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzWriteAsPerson(f *testing.F) {
	for _, s := range []string{"@ana hi", "```x", "`a`", "<@U1>", "a@b.co", "#ops", "&", "http://x"} {
		f.Add(s)
	}
	n := names{people: []Person{{ID: "U1", Name: "ana"}}, channels: []Channel{{ID: "C1", Name: "ops"}}}
	f.Fuzz(func(t *testing.T, s string) {
		got := writeAsPerson(s, n)
		for _, seq := range sequences(got.text) {
			if seq[0] == '@' && seq != "@U1" || strings.HasPrefix(seq, "!subteam") {
				t.Errorf("%q became %q: nobody typed a name for %s", s, got.text, seq)
			}
		}
	})
}

package slacktext_test

import (
	"strings"
	"testing"

	"countersign/bot/slacktext"

	"github.com/google/go-cmp/cmp"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	mixed := func(parts ...string) []slacktext.Warning {
		var out []slacktext.Warning
		for _, p := range parts {
			out = append(out, slacktext.Warning{Kind: slacktext.MixedScripts, Part: p})
		}
		return out
	}
	tests := []struct {
		name, in string
		want     []slacktext.Warning
	}{
		{"plain", "doc_42 /var/log/a.log https://example.com/x", nil},
		{"chinese", "查张三的balance余额，ID是C1001", nil},
		{"russian and english words", "удалить document из базы", nil},
		{"russian file with a latin extension", "/home/файл.txt", nil},
		{"accents", "café naïve Zürich", nil},
		{"cyrillic letter in an identifier", "dоc_42", mixed("dоc_42")},
		{"in a path part", "/etc/pаsswd", mixed("pаsswd")},
		{"in a host", "https://exаmple.com/x", mixed("exаmple.com", "exаmple")},
		{"whole label in another alphabet", "https://аррӏе.com:443/x", mixed("аррӏе.com")},
		{"mail address", "ana@аррӏе.com", mixed("аррӏе.com")},
		{"greek", "αdmin", mixed("αdmin")},
		{"joined by an underscore", "admin_роль", mixed("admin_роль")},
		{"fullwidth", "ａdmin", []slacktext.Warning{{Kind: slacktext.Lookalike, Part: "ａdmin"}}},
		{"mathematical", "𝐚dmin", []slacktext.Warning{{Kind: slacktext.Lookalike, Part: "𝐚dmin"}}},
		{"fullwidth punctuation of chinese", "你好，世界！（1）", nil},
		{"hebrew", "שלום/5", []slacktext.Warning{{Kind: slacktext.RightToLeft}}},
		{"hidden", "a\u202eb", []slacktext.Warning{{Kind: slacktext.Hidden}}},
		{"once", strings.Repeat("dоc ", 50), append([]slacktext.Warning{{Kind: slacktext.Hidden}}, mixed("dоc")...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, slacktext.Inspect(tt.in)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
	if got := slacktext.Inspect("aа bа cа dа eа fа gа hа iа jа"); len(got) != 8 {
		t.Errorf("%d warnings, want 8", len(got))
	}
}

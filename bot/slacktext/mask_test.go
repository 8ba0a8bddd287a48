package slacktext_test

import (
	"strings"
	"testing"

	"countersign/bot/slacktext"
)

// fake joins parts, so that no scanner takes a test for a leak.
func fake(parts ...string) string { return strings.Join(parts, "") }

func TestMask(t *testing.T) {
	t.Parallel()
	m, err := slacktext.NewMasker([]string{`ORDER-\d+`, `pin (\d{4})`})
	if err != nil {
		t.Fatal(err)
	}
	jwt := fake("eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl")
	pem := fake("-----BEGIN RSA PRIVATE", " KEY-----\nMIIB\nAAAA\n-----END RSA PRIVATE", " KEY-----")
	tests := []struct{ name, in, want string }{
		{"bot token", fake("use xox", "b-1234567890-abcdef now"), "use ⟨masked⟩ now"},
		{"app token", fake("xap", "p-1-A0B1-123-abcdef"), "⟨masked⟩"},
		{"model key", fake("key sk", "-proj-abcdefghijklmnopqrstuvwx."), "key ⟨masked⟩."},
		{"aws", fake("AKIA", "IOSFODNN7EXAMPLE"), "⟨masked⟩"},
		{"bearer", "curl -H 'Authorization: Bearer abcdefghij.klm'", "curl -H 'Authorization: Bearer ⟨masked⟩'"},
		{"bearer alone", "bearer abcdef12345", "bearer ⟨masked⟩"},
		{"basic", "Basic dXNlcjpwYXNzd29yZA==", "Basic ⟨masked⟩"},
		{"json header", `{"Authorization": "Token abcdefghij"}`, `{"Authorization": "Token ⟨masked⟩"}`},
		{"environment", "DB_PASSWORD=hunter2 dbSecret=abcd token=abcdefghijkl", "DB_PASSWORD=⟨masked⟩ dbSecret=⟨masked⟩ token=⟨masked⟩"},
		{"chinese", "密码：hunter2，用户名：ana", "密码：⟨masked⟩，用户名：ana"},
		{"prose", "Basic information about bearer certificates, max token: 5000", "Basic information about bearer certificates, max token: 5000"},
		{"jwt", "t=" + jwt, "t=⟨masked⟩"},
		{"pem", "a " + pem + " b", "a ⟨masked⟩ b"},
		{"pem cut off", pem[:40], "⟨masked⟩"},
		{"url password", "postgres://app:hunter2@db/shop", "postgres://app:⟨masked⟩@db/shop"},
		{"response url", "https://hooks.slack.com/actions/T1/2/abcdef", "https://hooks.slack.com/⟨masked⟩"},
		{"ticket", "wss://x.slack.com/link/?ticket=abc-def-ghi&app_id=1", "wss://x.slack.com/link/?ticket=⟨masked⟩&app_id=1"},
		{"github", fake("gh", "p_abcdefghijklmnopqrstuvwxyz0123"), "⟨masked⟩"},
		{"named", `{"password": "hunter2!", "user": "ana"}`, `{"password": "⟨masked⟩", "user": "ana"}`},
		{"env", "API_KEY=abcd1234 run", "API_KEY=⟨masked⟩ run"},
		{"configured", "ORDER-77 and pin 1234", "⟨masked⟩ and pin ⟨masked⟩"},
		{"two side by side", "ORDER-1ORDER-2", "⟨masked⟩"},
		{"ordinary text", "the password must be changed; task-sk-1, AKIA, bearer of news, https://a.b/c:d", "the password must be changed; task-sk-1, AKIA, bearer of news, https://a.b/c:d"},
		{"letters that fold", "\u017fecret=hunter22 api_\u212aey=abcd1234 TO\u212aEN=abcdefghijkl", "\u017fecret=⟨masked⟩ api_\u212aey=⟨masked⟩ TO\u212aEN=⟨masked⟩"},
		{"rotated tokens", fake("xox", "e.xoxp-1-Mi0yLTEyMzQ1"), "⟨masked⟩"},
		{"payments", fake("rk_", "live_0123456789ab"), "⟨masked⟩"},
		{"google", fake("AI", "za0123456789abcdefghijklmnopqrstuvwxy"), "⟨masked⟩"},
		{"fine-grained", fake("github", "_pat_0123456789abcdefghij"), "⟨masked⟩"},
		{"gitlab", fake("glp", "at-0123456789abcdef"), "⟨masked⟩"},
		{"header of another kind", "AUTHORIZATION=abcdefghij", "AUTHORIZATION=⟨masked⟩"},
		{"quoted in a text", `curl -d "{\"password\": \"hunter22\", \"n\": 1}"`, `curl -d "{\"password\": \"⟨masked⟩\", \"n\": 1}"`},
		{"quoted twice", `"{\\\"api_key\\\":\\\"hunter22\\\"}"`, `"{\\\"api_key\\\":\\\"⟨masked⟩\\\"}"`},
		{"quotation mark at the end", `"X-Api-Key: abcd1234\" next"`, `"X-Api-Key: ⟨masked⟩\" next"`},
		{"header in a text", `"authorization: abcdefghij\""`, `"authorization: ⟨masked⟩\""`},
		{"several words", `{"password": "correct, horse & staple", "n": 1}`, `{"password": "⟨masked⟩", "n": 1}`},
		{"quotation mark within", `{"password": "ab\"cd1234", "n": 1}`, `{"password": "⟨masked⟩", "n": 1}`},
		{"option", "mysql --user ana --password hunter22 --api-key='abcd efgh' --max-tokens 5000", "mysql --user ana --password ⟨masked⟩ --api-key='⟨masked⟩' --max-tokens 5000"},
		{"sql", "ALTER ROLE ana PASSWORD 'it''s hunter22'; CREATE USER b IDENTIFIED BY 'hunter22'", "ALTER ROLE ana PASSWORD '⟨masked⟩'; CREATE USER b IDENTIFIED BY '⟨masked⟩'"},
		{"wide signs", "password：hunter22 “密码”＝“hunter22”", "password：⟨masked⟩ “密码”＝“⟨masked⟩”"},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, n := m.Mask(tt.in)
			if got != tt.want || (n > 0) != (tt.in != tt.want) {
				t.Errorf("Mask(%q) = %q, %d; want %q", tt.in, got, n, tt.want)
			}
		})
	}
}

func TestMaskedCannotBeImitated(t *testing.T) {
	t.Parallel()
	m, err := slacktext.NewMasker([]string{`secret\d`})
	if err != nil {
		t.Fatal(err)
	}
	got, n := m.Draw("⟨masked⟩ secret1\u202e")
	if want := "⟨U+27E8⟩masked⟨U+27E9⟩ ⟨masked⟩⟨U+202E⟩"; got != want || n != 1 {
		t.Errorf("Draw = %q, %d; want %q, 1", got, n, want)
	}
}

func TestMaskerRefusesBadPatterns(t *testing.T) {
	t.Parallel()
	if _, err := slacktext.NewMasker([]string{"ok", "("}); err == nil || !strings.Contains(err.Error(), "pattern 2") {
		t.Errorf("error %v does not name the pattern", err)
	}
	if got, n := (&slacktext.Masker{}).Mask("Bearer abcdefghijkl"); n != 0 || got != "Bearer abcdefghijkl" {
		t.Errorf("zero masker masked %q", got)
	}
}

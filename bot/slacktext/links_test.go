package slacktext

import "testing"

func TestClickable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"https://docs.example/a?b=1#c", "https://docs.example/a?b=1#c", true},
		{"HTTP://Docs.Example:8080/%20", "HTTP://Docs.Example:8080/%20", true},
		{"mailto:me@docs.example", "mailto:me@docs.example", true},
		{"https://docs.example/充值", "https://docs.example/充值", true},
		{"https://例え.example:8080/x", "https://xn--r8jz45g.example:8080/x", true},
		{"https://exаmple.com/", "https://xn--exmple-4nf.com/", true}, // a Cyrillic а
		{"https://good.example@evil.example/", "", false},
		{"https://user:pass@evil.example/", "", false},
		{"https://good.example\\@evil.example/", "", false},
		{"https://docs.example/a b", "", false},
		{"https://docs.example/\u202egpj.exe", "", false},
		{"https://docs.example/\u200b", "", false},
		{"https://", "", false},
		{"https:docs.example", "", false},
		{"javascript:alert(1)", "", false},
		{"data:text/html,x", "", false},
		{"file:///etc/passwd", "", false},
		{"slack://open", "", false},
		{"mailto:", "", false},
		{"//docs.example", "", false},
		{"docs.example", "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		if got, ok := clickable(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("clickable(%q) = %q, %t; want %q, %t", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestFindURL(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"see https://a.example/x.":               "https://a.example/x",
		"(https://a.example/x)":                  "https://a.example/x",
		"https://a.example/x_(y) z":              "https://a.example/x_(y)",
		"[https://a.example/x]":                  "https://a.example/x",
		"详见https://a.example/x，谢谢":               "https://a.example/x",
		"http://a.example?x=1&y=2!":              "http://a.example?x=1&y=2",
		"ftp://a.example https://b.example":      "https://b.example",
		"https:// nothing, http://c.example":     "http://c.example",
		"x://y://z":                              "",
		"no address: a.example":                  "",
		"<https://a.example|b>":                  "https://a.example",
		"https://a.example/x\"onclick":           "https://a.example/x",
		"HTTPS://A.EXAMPLE":                      "HTTPS://A.EXAMPLE",
		"https://a.example/**":                   "https://a.example/",
		"https://a.example\u202e/evil":           "https://a.example",
		"https://a.example, https://b.example":   "https://a.example",
		"prefixhttps://a.example is an address!": "https://a.example",
	}
	for in, want := range tests {
		got := ""
		if at, end := findURL(in); at >= 0 {
			got = in[at:end]
		}
		if got != want {
			t.Errorf("findURL(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	tests := map[string]int{"": 0, "abc": 3, "张三": 4, "ａ": 2, "é": 1, "e\u0301": 1, "👨‍👩‍👧": 2, "🇩🇪": 2, "한": 2}
	for in, want := range tests {
		if got := columns(in); got != want {
			t.Errorf("columns(%q) = %d, want %d", in, got, want)
		}
	}
}

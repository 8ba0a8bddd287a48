package slacktext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/bot/slacktext"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		limit    int
		want     []string
	}{
		{"short", "abc", 5, []string{"abc"}},
		{"empty", "", 5, nil},
		{"after a word", "alpha beta gamma", 12, []string{"alpha beta ", "gamma"}},
		{"a sentence before a word", "One two. Three four", 15, []string{"One two. ", "Three four"}},
		{"a line before a sentence", "Ab. Cdefg\nhi. jk lm", 16, []string{"Ab. Cdefg\n", "hi. jk lm"}},
		{"a paragraph before a line", "aaaaa\n\nbb\ncccc dd", 13, []string{"aaaaa\n\n", "bb\ncccc dd"}},
		{"chinese sentence", "今天下雨。明天晴天", 7, []string{"今天下雨。", "明天晴天"}},
		{"no place", "abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"not so early", "a bcdefghij", 8, []string{"a bcdefg", "hij"}},
		{"family emoji", "👨‍👩‍👧👨‍👩‍👧", 10, []string{"👨‍👩‍👧", "👨‍👩‍👧"}},
		{"flags", "🇩🇪🇫🇷", 5, []string{"🇩🇪", "🇫🇷"}},
		{"skin tone", "a👍🏽b", 4, []string{"a", "👍🏽", "b"}},
		{"marks", "xxe\u0301\u0323y", 4, []string{"xx", "e\u0301\u0323y"}},
		{"region flag", "🏴󠁧󠁢󠁥󠁮󠁧󠁿🏴󠁧󠁢󠁥󠁮󠁧󠁿", 20, []string{"🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"}},
		{"hangul parts", "\u1112\u1161\u11ab\u1112\u1161", 4, []string{"\u1112\u1161\u11ab", "\u1112\u1161"}},
		{"carriage return", "abc\r\ndef", 4, []string{"abc", "\r\nde", "f"}},
		{"one character beyond the limit", "👨‍👩‍👧", 3, []string{"👨‍", "👩‍", "👧"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, slacktext.Split(tt.in, tt.limit)); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := trickyText().Draw(t, "text")
		limit := rapid.IntRange(2, 60).Draw(t, "limit")
		parts := slacktext.Split(s, limit)
		if strings.Join(parts, "") != s {
			t.Fatalf("parts %q do not make %q", parts, s)
		}
		for _, p := range parts {
			if p == "" || slacktext.Units(p) > limit {
				t.Fatalf("part %q has %d units, limit %d", p, slacktext.Units(p), limit)
			}
			if utf8.ValidString(s) && !utf8.ValidString(p) {
				t.Fatalf("part %q cuts a rune", p)
			}
		}
	})
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"余额不足", 3, "余额…"},
		{"ab👨‍👩‍👧", 9, "ab…"},
		{"ab👨‍👩‍👧", 10, "ab👨‍👩‍👧"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
	}
	for _, tt := range tests {
		if got := slacktext.Truncate(tt.in, tt.limit); got != tt.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestTruncateEscapedCountsWhatIsSent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"a&b", 7, "a&amp;b"},
		{"a&b", 6, "a…"},
		{"<!channel>", 100, "&lt;!channel&gt;"},
		{"&&&&", 11, "&amp;&amp;…"},
		{"We've", 9, "We've"},
	}
	for _, tt := range tests {
		if got := slacktext.TruncateEscaped(tt.in, tt.limit); got != tt.want {
			t.Errorf("TruncateEscaped(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

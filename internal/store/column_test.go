package store

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "plain", "查余额", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "\uFFFD"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := clean(s)
		if !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("clean(%q) = %q is not fit for Postgres", s, got)
		}
		if clean(got) != got {
			t.Errorf("clean(%q) is not stable", s)
		}
		if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && got != s {
			t.Errorf("clean(%q) = %q changed good text", s, got)
		}
	})
}

func TestInstantsSurvive(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{
		{}, time.Unix(0, 1000), time.Date(2026, 3, 29, 2, 30, 0, 999_999_000, time.FixedZone("x", -3*3600)), time.UnixMicro(-5),
	} {
		if got := instant(micros(at)); !got.Equal(at) {
			t.Errorf("%v became %v", at, got)
		}
	}
}

package config

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPatternsPromiseWhatIsRead holds the schema's patterns to the parsers: what
// an editor accepts, Load accepts, and the other way round.
func TestPatternsPromiseWhatIsRead(t *testing.T) {
	t.Parallel()
	duration, size := regexp.MustCompile(durationPattern), regexp.MustCompile(bytesPattern)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`([0-9]{1,3}d|([0-9]{1,3}(\.[0-9]{1,2})?(ms|s|m|h)){1,2})`),
			rapid.StringMatching(`[-+ ]?[0-9]{0,3}[.]?[0-9]?(d|h|m|s|ms|w|y)?`),
		).Draw(t, "duration")
		if _, err := parseDuration(text); (err == nil) != duration.MatchString(text) && !odd(text) {
			t.Fatalf("%q: parser says %v, pattern says %t", text, err, duration.MatchString(text))
		}
		text = rapid.OneOf(
			rapid.StringMatching(`[0-9]{1,4}(\.[0-9])? ?(KiB|MiB|kB|B)?`),
			rapid.StringMatching(`-?[0-9]{0,3} ?[kKMG]?i?B?`),
		).Draw(t, "size")
		var b Bytes
		if err := b.parse(text); (err == nil) != size.MatchString(text) && !odd(text) {
			t.Fatalf("%q: parser says %v, pattern says %t", text, err, size.MatchString(text))
		}
	})
}

// odd are spellings that Go's parsers take and that no editor need suggest.
func odd(text string) bool {
	return strings.HasPrefix(text, "+") || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "-0") || strings.HasPrefix(text, "-.0") ||
		regexp.MustCompile(`[0-9]\.([^0-9]|$)`).MatchString(text) || strings.TrimSpace(text) != text
}

func TestWordsAreReadExactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "30s": 30 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "1.5h": 90 * time.Minute,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s = %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]Bytes{
		"0": 0, "512": 512, "64KiB": 65536, "1.5 MiB": 1572864, "2GB": 2e9, "3B": 3,
	} {
		var got Bytes
		if err := got.parse(text); err != nil || got != want {
			t.Errorf("%s = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"9e99GiB", "MiB", "NaN", "-1B"} {
		if err := new(Bytes).parse(text); err == nil {
			t.Errorf("%s is read as a size", text)
		}
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	allowed := []string{"channels", "askers", "language"}
	got := map[string]string{}
	for _, unknown := range []string{"chanels", "lagnuage", "Askers", "max_steps", "prometheus_url", "zzz"} {
		got[unknown] = suggest(unknown, allowed)
	}
	want := map[string]string{
		"chanels":        "did you mean channels?",
		"lagnuage":       "did you mean language?",
		"Askers":         "did you mean askers?",
		"max_steps":      "did you mean limits.max_steps?",
		"prometheus_url": "did you mean tools.metrics.prometheus_url?",
		"zzz":            "known here: channels, askers, language",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

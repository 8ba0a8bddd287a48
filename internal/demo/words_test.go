package demo

import (
	"testing"
)

// What the page says of its own it says in every language, and nothing is translated
// that it does not say.
func TestThePageSpeaksEveryLanguage(t *testing.T) {
	t.Parallel()
	all, err := words()
	if err != nil || len(all["zh"]) == 0 {
		t.Fatalf("%d languages, %v", len(all), err)
	}
	said := map[string]bool{}
	for _, genuine := range []bool{false, true} {
		c := workspace(t.TempDir(), genuine, all)
		said[c.Page.Banner] = true
		for _, s := range c.Page.Scenes {
			said[s.Title], said[s.Details] = true, true
		}
		for _, ch := range c.Channels {
			said[ch.Topic] = ch.Topic != ""
		}
	}
	delete(said, "")
	for lang, says := range all {
		for text := range said {
			if says[text] == "" {
				t.Errorf("%s does not say %q", lang, text)
			}
		}
		for text := range says {
			if !said[text] {
				t.Errorf("%s says %q, which the page does not", lang, text)
			}
		}
	}
}

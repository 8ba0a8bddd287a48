package slacktext_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/bot/slacktext"
	"countersign/localslack/blockkit"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Each testdata/render/*.md is rendered and compared with the .json beside it.
func TestRenderGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(slacktext.Render(string(in)), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".md") + ".json"
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Errorf("posts (-want +got):\n%s", diff)
			}
		})
	}
}

// inlineOf returns all inline elements of a post.
func inlineOf(t interface{ Fatalf(string, ...any) }, p slacktext.Post) []slack.RichTextSectionElement {
	var out []slack.RichTextSectionElement
	var walk func(e slack.RichTextElement)
	walk = func(e slack.RichTextElement) {
		switch e := e.(type) {
		case *slack.RichTextSection:
			out = append(out, e.Elements...)
		case *slack.RichTextQuote:
			out = append(out, e.Elements...)
		case *slack.RichTextPreformatted:
			out = append(out, e.Elements...)
		case *slack.RichTextList:
			for _, item := range e.Elements {
				walk(item)
			}
		default:
			t.Fatalf("element %T", e)
		}
	}
	for _, b := range p.Blocks {
		rich, ok := b.(*slack.RichTextBlock)
		if !ok || len(rich.Elements) == 0 {
			t.Fatalf("block %T", b)
		}
		for _, e := range rich.Elements {
			walk(e)
		}
	}
	return out
}

// checkBlocks asks the local Slack whether the real one would take a post, and
// whether it would interpret anything in it.
func checkBlocks(t interface{ Fatalf(string, ...any) }, p slacktext.Post) {
	raw, err := json.Marshal(p.Blocks)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	if problem := blockkit.Check(raw, blockkit.Message); problem != nil {
		t.Fatalf("slack refuses %s: %+v", raw, *problem)
	}
	for _, found := range blockkit.Mentions(raw) { // lists links too
		if found[0] == '@' || found[0] == '!' {
			t.Fatalf("mention %q in %s", found, raw)
		}
	}
}

// checkPosts holds for whatever the model writes.
func checkPosts(t interface{ Fatalf(string, ...any) }, markdown string) {
	for _, p := range slacktext.Render(markdown) {
		checkBlocks(t, p)
		if strings.TrimSpace(p.Text) == "" || slacktext.Units(p.Text) > 3900 || strings.ContainsAny(p.Text, "<>") {
			t.Fatalf("fallback %q of %q", p.Text, markdown)
		}
		size := 0
		for _, e := range inlineOf(t, p) {
			switch e := e.(type) {
			case *slack.RichTextSectionTextElement:
				size += slacktext.Units(e.Text)
				if e.Text == "" || !utf8.ValidString(e.Text) || strings.ContainsAny(e.Text, "\u202e\u2066\x00\u200b") {
					t.Fatalf("text %q of %q", e.Text, markdown)
				}
			case *slack.RichTextSectionLinkElement:
				size += slacktext.Units(e.URL)
				scheme, rest, _ := strings.Cut(strings.ToLower(e.URL), ":")
				if scheme != "http" && scheme != "https" && scheme != "mailto" {
					t.Fatalf("link to %q of %q", e.URL, markdown)
				}
				if e.Text != "" && !strings.EqualFold(e.Text, rest) {
					t.Fatalf("link to %q is shown as %q", e.URL, e.Text)
				}
			default:
				t.Fatalf("inline element %T of %q", e, markdown)
			}
		}
		if size > 8000+3000 {
			t.Fatalf("%d units in one message", size)
		}
	}
}

func TestRenderIsSafe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkPosts(t, trickyText().Draw(t, "markdown")) })
}

func FuzzRender(f *testing.F) {
	for _, s := range tricky {
		f.Add(s)
	}
	f.Add("| a | b |\n|---|---|\n| 1 | <https://a.b/|x> |")
	f.Add("> - a\n>   1. b\n> ```\n> c")
	f.Fuzz(func(t *testing.T, s string) { checkPosts(t, s) })
}

func TestRenderNothing(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", " \n\n ", "<!-- -->"[:0]} {
		if got := slacktext.Render(in); len(got) != 0 {
			t.Errorf("Render(%q) = %+v", in, got)
		}
	}
}

// shownIn returns what people read in posts.
func shownIn(t *testing.T, posts []slacktext.Post) string {
	t.Helper()
	var out strings.Builder
	for _, p := range posts {
		for _, e := range inlineOf(t, p) {
			switch e := e.(type) {
			case *slack.RichTextSectionTextElement:
				out.WriteString(e.Text)
			case *slack.RichTextSectionLinkElement:
				out.WriteString(e.URL)
			}
		}
	}
	return out.String()
}

func TestLongAnswersAreSplitWithoutLoss(t *testing.T) {
	t.Parallel()
	words := strings.TrimSpace(strings.Repeat("word ", 5000))
	tests := []struct {
		name, in, want string
		posts          int
	}{
		{"words", words, words, 4},
		{"emoji", strings.Repeat("👨‍👩‍👧", 2900), strings.Repeat("👨‍👩‍👧", 2900), 3},
		{"chinese", strings.Repeat("余额不足。", 2000), strings.Repeat("余额不足。", 2000), 2},
		{"one code block", "```\n" + strings.Repeat("line\n", 4000) + "```", strings.Repeat("line\n", 3999) + "line", 3},
		{"one list", strings.Repeat("- item\n", 3000), strings.Repeat("item", 3000), 4},
		{"one list item", "- " + words, words, 4},
		{"quote", "> " + words, words, 4},
		{"beyond all limits", strings.Repeat("x", 150_000), strings.Repeat("x", 39_999) + "…", 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			posts := slacktext.Render(tt.in)
			if got := shownIn(t, posts); got != tt.want {
				t.Errorf("shown text has %d bytes, want %d", len(got), len(tt.want))
			}
			if len(posts) != tt.posts {
				t.Errorf("%d posts, want %d", len(posts), tt.posts)
			}
			checkPosts(t, tt.in)
		})
	}
}

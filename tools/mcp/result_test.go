package mcp

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTextOf(t *testing.T) {
	t.Parallel()
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	for name, c := range map[string]struct {
		result mcp.CallToolResult
		want   string
	}{
		"nothing":            {mcp.CallToolResult{}, ""},
		"texts":              {mcp.CallToolResult{Content: []mcp.Content{text("a"), text("余额\r\n80")}}, "a\n余额\n80"},
		"no character":       {mcp.CallToolResult{Content: []mcp.Content{text("a\x00b\x1b[2J\xff")}}, "a⟨U+0000⟩b⟨U+001B⟩[2J\uFFFD"},
		"structured":         {mcp.CallToolResult{StructuredContent: map[string]any{"a": 1.5}}, "{\n  \"a\": 1.5\n}"},
		"structured twice":   {mcp.CallToolResult{Content: []mcp.Content{text(`{"a": 1.5}`)}, StructuredContent: map[string]any{"a": 1.5}}, `{"a": 1.5}`},
		"structured besides": {mcp.CallToolResult{Content: []mcp.Content{text("see")}, StructuredContent: []any{"<"}}, "see\n[\n  \"<\"\n]"},
		"image":              {mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 9)}}}, "[image, image/png, 9 bytes]"},
		"audio":              {mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{Data: make([]byte, 9)}}}, "[audio, unknown type, 9 bytes]"},
		"link":               {mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{Name: "n", URI: "file:///a\u202E", MIMEType: "text/plain"}}}, "[link to resource n: file:///a⟨U+202E⟩, text/plain]"},
		"file": {mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "repo://a.go", MIMEType: "text/x-go", Text: "package a"}}}},
			"[resource repo://a.go, text/x-go]\npackage a"},
		"blob":           {mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:y", Blob: make([]byte, 3)}}}}, "[resource x:y, unknown type, 3 bytes]"},
		"empty resource": {mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{}}}, "[empty resource]"},
	} {
		if diff := cmp.Diff(c.want, textOf(&c.result)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	got := textOf(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("余", maxResult)}}})
	if !strings.HasSuffix(got, "余\n(cut after 1048576 bytes)") || !utf8.ValidString(got) || len(got) > maxResult+100 {
		t.Errorf("%d bytes, ending %q", len(got), got[len(got)-60:])
	}
}

func FuzzDraw(f *testing.F) {
	for _, seed := range []string{"a", "\u202E", "⟨U+202E⟩", "\r\n\x00", "\xff", "😀\u200d", "\U000E0041"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := draw(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
		}) {
			t.Errorf("%q is drawn as %q", text, got)
		}
		if n := len([]rune(oneLine(text, 20))); n > 20+30 || strings.Contains(oneLine(text, 20), "\n") {
			t.Errorf("%q is no line: %q", text, oneLine(text, 20))
		}
	})
}

func TestMask(t *testing.T) {
	t.Parallel()
	m := newMasker(Config{
		Headers: map[string]string{"Authorization": "Bearer abcdefghij", "Accept": "json"}, URL: "https://h/mcp?key=klmnopqrst",
		Env: map[string]string{
			"PATH": "/usr/local/bin", "TOKEN": "0123456789", "LONG_TOKEN": "0123456789abcdef", "REGION": "eu-central-1", "X": "ghp0a1b2c3d4e5f6g7h8i9", "DATABASE": "postgres://app:pa55word@h/shop",
		},
	})
	got := m.mask("Bearer abcdefghij, abcdefghij, json, key=klmnopqrst, /usr/local/bin, 0123456789, 0123456789abcdef, eu-central-1, ghp0a1b2c3d4e5f6g7h8i9, pa55word")
	if want := "•••, •••, json, •••, /usr/local/bin, •••, •••, eu-central-1, •••, •••"; got != want {
		t.Error(got)
	}
}

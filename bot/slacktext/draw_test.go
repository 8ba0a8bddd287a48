package slacktext_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"countersign/bot/slacktext"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestDraw(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", "doc_42", "doc_42"},
		{"chinese and emoji", "删除 doc_42 😀", "删除 doc_42 😀"},
		{"empty", "", ""},
		{"code", "SELECT *\n  FROM t\n WHERE a < 3 && b;", "SELECT *\n  FROM t\n WHERE a < 3 && b;"},
		{"right-to-left override", "a\u202Etxt.exe", "a⟨U+202E⟩txt.exe"},
		{"zero width", "a\u200bb", "a⟨U+200B⟩b"},
		{"tag characters", "\U000E0041\U000E0042", "⟨U+E0041⟩⟨U+E0042⟩"},
		{"variation selector", "❤\uFE0F", "❤⟨U+FE0F⟩"},
		{"no-break space", "a\u00a0b", "a⟨U+00A0⟩b"},
		{"ideographic space", "a\u3000b", "a⟨U+3000⟩b"},
		{"tab, return, null, escape", "a\tb\r\x00\x1b", "a⟨tab⟩b⟨U+000D⟩⟨U+0000⟩⟨U+001B⟩"},
		{"line separator", "a\u2028b", "a⟨U+2028⟩b"},
		{"brackets", "⟨U+202E⟩", "⟨U+27E8⟩U+202E⟨U+27E9⟩"},
		{"bytes", "a\xff\xfe", "a⟨0xFF⟩⟨0xFE⟩"},
		{"replacement character", "\uFFFD", "\uFFFD"},
		{"private use", "\uE000", "⟨U+E000⟩"},
		{"three newlines", "a\n\n\nb", "a\n\n\nb"},
		{"four newlines", "a\n\n\n\nb", "a⟨×4 newline⟩b"},
		{"many newlines", "rm x" + strings.Repeat("\n", 2000) + "&& rm y", "rm x⟨×2000 newline⟩&& rm y"},
		{"sixteen spaces", "a" + strings.Repeat(" ", 16) + "b", "a" + strings.Repeat(" ", 16) + "b"},
		{"seventeen spaces", "a" + strings.Repeat(" ", 17) + "b", "a⟨×17 space⟩b"},
		{"spaces at the ends", " a  ", "⟨space⟩a⟨×2 space⟩"},
		{"spaces at the end of a line", "a \nb", "a⟨space⟩\nb"},
		{"indentation", "a\n    b", "a\n    b"},
		{"repeated letter", strings.Repeat("A", 65), "⟨×65 A⟩"},
		{"ruler", strings.Repeat("=", 64), strings.Repeat("=", 64)},
		{"repeated invisible", "\u200b\u200b\u200b", "⟨×3 U+200B⟩"},
		{"composed", "caf\u00e9", "café"},
		{"decomposed looks the same", "cafe\u0301", "cafe⟨U+0301⟩"},
		{"mark that composes with nothing", "x\u0301", "x\u0301"},
		{"mark without a letter", "\u0301a", "⟨U+0301⟩a"},
		{"stacked marks", "x\u0323\u0301\u0301\u0301", "x\u0323⟨×3 U+0301⟩"},
		{"thai", "ที่", "ที่"},
		{"hindi", "हिन्दी", "हिन्दी"},
		{"korean syllable", "한", "한"},
		{"korean parts", "\u1112\u1161\u11ab", "⟨U+1112⟩⟨U+1161⟩⟨U+11AB⟩"},
		{"korean filler", "a\u3164", "a⟨U+3164⟩"},
		{"kelvin sign", "5\u212a", "5⟨U+212A⟩"},
		{"family", "👨\u200d👩", "👨⟨U+200D⟩👩"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := slacktext.Draw(tt.in); got != tt.want {
				t.Errorf("Draw(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
			if got, ok := undraw(tt.want); !ok || got != tt.in {
				t.Errorf("undraw(%q) = %q, %t; want %q", tt.want, got, ok, tt.in)
			}
		})
	}
}

// undraw is the inverse of Draw: its existence proves that no two values share
// a drawing.
func undraw(drawing string) (string, bool) {
	var out strings.Builder
	for drawing != "" {
		if !strings.HasPrefix(drawing, "⟨") {
			_, n := utf8.DecodeRuneInString(drawing)
			out.WriteString(drawing[:n])
			drawing = drawing[n:]
			continue
		}
		token, rest, ok := strings.Cut(strings.TrimPrefix(drawing, "⟨"), "⟩")
		if !ok {
			return "", false
		}
		drawing = rest
		count := 1
		if counted, ok := strings.CutPrefix(token, "×"); ok {
			digits, what, _ := strings.Cut(counted, " ")
			count, _ = strconv.Atoi(digits)
			token = what
		}
		what, ok := named(token)
		if !ok {
			return "", false
		}
		out.WriteString(strings.Repeat(what, count))
	}
	return out.String(), true
}

func named(token string) (string, bool) {
	switch token {
	case "newline":
		return "\n", true
	case "space":
		return " ", true
	case "tab":
		return "\t", true
	}
	if code, ok := strings.CutPrefix(token, "U+"); ok {
		n, err := strconv.ParseUint(code, 16, 32)
		return string(rune(n)), err == nil
	}
	if code, ok := strings.CutPrefix(token, "0x"); ok {
		n, err := strconv.ParseUint(code, 16, 8)
		return string([]byte{byte(n)}), err == nil
	}
	return token, utf8.RuneCountInString(token) == 1
}

// checkDrawing holds for every value.
func checkDrawing(t interface{ Fatalf(string, ...any) }, s string) {
	drawing := slacktext.Draw(s)
	if back, ok := undraw(drawing); !ok || back != s {
		t.Fatalf("Draw(%q) = %q, which reads back as %q", s, drawing, back)
	}
	if !norm.NFC.IsNormalString(drawing) {
		t.Fatalf("Draw(%q) = %q has an equivalent of the same look", s, drawing)
	}
	for _, r := range drawing {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("Draw(%q) = %q shows %U", s, drawing, r)
		}
	}
	if strings.Contains(drawing, strings.Repeat("\n", 4)) {
		t.Fatalf("Draw(%q) = %q has a long run of newlines", s, drawing)
	}
}

// tricky are pieces whose combinations the properties try.
var tricky = []string{
	"a", "e", "я", "ο", "张", "\u0301", "\u0323", "\u202e", "\u2066", "\u200b", "\u200d", "\ufe0f", "⟨", "⟩", "×", "U+", "0x",
	"space", " ", "\n", "\t", "\r", "\x00", "\xff", "\xe2\x9f", "\u1100", "\u1161", "\u11a8", "각", "👩", "🇩", "🇪", "🏽", "&", "<", ">",
	"`", "```", "*", "**", "_", "~~", "[", "](", ")", "http://", "https://a.b/", "|", "<!channel>", "<@U1>", "\\", "#", "-", "1.", "\n\n", "\n    ",
}

func trickyText() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.SampledFrom(tricky), rapid.String())
	repeated := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(piece.Draw(t, "piece"), rapid.IntRange(1, 70).Draw(t, "times"))
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(piece, piece, repeated), 0, 12).Draw(t, "pieces"), "")
	})
}

func TestDrawingIsInjectiveAndVisible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkDrawing(t, trickyText().Draw(t, "value")) })
}

func FuzzDraw(f *testing.F) {
	for _, s := range tricky {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkDrawing(t, s) })
}

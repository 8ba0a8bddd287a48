package slacktext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// How many equal characters in a row are drawn as themselves. Beyond that a
// count stands for them, so that no run can push what follows out of sight.
const (
	maxNewlines = 3
	maxSpaces   = 16
	maxRepeat   = 64
	// maxMarks is how many marks may be stacked on one letter; no living
	// script needs more.
	maxMarks = 2
)

// Draw makes an untrusted value visible, for preformatted text that a person
// judges. Whatever has no picture of its own becomes a name in the brackets ⟨
// and ⟩: ⟨U+202E⟩ for invisible, bidirectional, control, unassigned and
// private characters and for spaces other than the ordinary one, ⟨space⟩ for
// spaces at the ends of the value and of its lines, ⟨0xFF⟩ for bytes that are
// not UTF-8, ⟨×2000 newline⟩ for a run of more than 3 newlines, 16 spaces or 64
// of anything else. The brackets themselves are named as well, and so is every
// character that looks like another sequence by Unicode's own rules (canonical
// equivalence). Different values therefore have different drawings, for the
// machine and, as far as Unicode goes, for the eye; letters of different
// scripts that look alike are reported by Inspect.
//
// Newlines stay newlines. The drawing is not escaped for Slack's text fields.
func Draw(s string) string { return drawPiece(s, true, true) }

// drawPiece draws a piece of a value; first and last say whether it reaches
// the value's ends.
func drawPiece(s string, first, last bool) string {
	d := drawer{s: s, first: first, last: last}
	for d.pos < len(s) {
		d.step()
	}
	return d.out.String()
}

// drawer draws s from left to right.
type drawer struct {
	s     string
	first bool
	last  bool
	pos   int
	out   strings.Builder
	marks int  // marks drawn on the last letter
	base  bool // whether the last thing drawn can carry marks
}

// step draws the next run of equal characters.
func (d *drawer) step() {
	r, size := utf8.DecodeRuneInString(d.s[d.pos:])
	unit := d.s[d.pos : d.pos+size]
	count := runLength(d.s[d.pos:], unit)
	broken := r == utf8.RuneError && size == 1
	switch {
	case broken:
		d.token(fmt.Sprintf("0x%02X", unit[0]), count)
	case unicode.Is(unicode.M, r) && d.drawsMarks(count):
		d.out.WriteString(d.s[d.pos : d.pos+count*size])
		d.marks += count
	case unicode.Is(unicode.M, r), hidden(r), r == ' ' && d.edge(count):
		d.token(name(r), count)
	case count > maxRun(r):
		d.token(name(r), count)
	default:
		d.literal(unit, count)
	}
	d.pos += count * size
}

// literal draws characters as they are. The last of them may carry marks, but
// only if the two do not compose into another character.
func (d *drawer) literal(unit string, count int) {
	d.out.WriteString(strings.Repeat(unit, count))
	after := d.s[d.pos+count*len(unit):]
	marks := 0
	for marks < len(after) {
		r, n := utf8.DecodeRuneInString(after[marks:])
		if !unicode.Is(unicode.M, r) || hidden(r) {
			break
		}
		marks += n
	}
	d.marks, d.base = 0, unit != "\n" && norm.NFC.IsNormalString(unit+after[:marks])
}

// drawsMarks reports whether the next count marks can be drawn on the letter
// before them.
func (d *drawer) drawsMarks(count int) bool {
	r, _ := utf8.DecodeRuneInString(d.s[d.pos:])
	return d.base && d.marks+count <= maxMarks && !hidden(r)
}

// token draws a name in brackets.
func (d *drawer) token(name string, count int) {
	if count == 1 {
		fmt.Fprintf(&d.out, "⟨%s⟩", name)
	} else {
		fmt.Fprintf(&d.out, "⟨×%d %s⟩", count, name)
	}
	d.base = false
}

// edge reports whether a run of count spaces touches an end of the value or
// the end of a line, where it could not be seen.
func (d *drawer) edge(count int) bool {
	rest := d.s[d.pos+count:]
	if rest == "" {
		return d.last
	}
	return d.pos == 0 && d.first || rest[0] == '\n'
}

func runLength(s, unit string) int {
	n := 0
	for strings.HasPrefix(s[n*len(unit):], unit) {
		n++
	}
	return n
}

func maxRun(r rune) int {
	switch r {
	case '\n':
		return maxNewlines
	case ' ':
		return maxSpaces
	}
	return maxRepeat
}

// name is what stands in brackets for r: a word, the character itself if it
// can be seen, else its code.
func name(r rune) string {
	switch {
	case r == '\n':
		return "newline"
	case r == ' ':
		return "space"
	case r == '\t':
		return "tab"
	case hidden(r) || unicode.Is(unicode.M, r):
		return fmt.Sprintf("U+%04X", r)
	}
	return string(r)
}

// hidden reports whether r must be named: nothing is seen where it stands, or
// something that another sequence shows as well.
func hidden(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n':
		return false
	case r == '⟨', r == '⟩', !unicode.IsPrint(r), unicode.Is(blank, r):
		return true
	case isLeadingJamo(r), isVowelJamo(r), isTrailingJamo(r):
		return true // parts of Korean syllables, which exist as characters
	}
	return !norm.NFC.IsNormalString(string(r))
}

// blank holds what counts as printable and still shows nothing: fillers,
// variation selectors, the empty Braille cell.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1},
		{Lo: 0x115F, Hi: 0x1160, Stride: 1},
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1},
		{Lo: 0x180B, Hi: 0x180F, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1},
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1},
		{Lo: 0xFFFC, Hi: 0xFFFC, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13446, Stride: 1},
		{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1},
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1},
		{Lo: 0xE0100, Hi: 0xE01EF, Stride: 1},
	},
}

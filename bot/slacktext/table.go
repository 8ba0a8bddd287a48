package slacktext

import (
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"golang.org/x/text/width"
)

// maxTableWidth is the widest table, in columns of a monospaced font, that is
// drawn with aligned columns; wider ones would wrap and become unreadable.
const maxTableWidth = 60

// table appends a table: aligned in a code block if it is narrow enough, else
// one list item per row that names its columns, which reads on a phone.
func (l *layout) table(n *extast.Table) {
	rows := tableRows(n, l.source)
	if len(rows) == 0 {
		return
	}
	widths := columnWidths(rows)
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if total <= maxTableWidth {
		l.code(drawTable(rows, widths, n.Alignments), "")
		return
	}
	l.tableAsList(rows)
}

func tableRows(n *extast.Table, source []byte) [][]string {
	var rows [][]string
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, cellText(cell, source))
		}
		rows = append(rows, cells)
	}
	return rows
}

// cellText renders a cell as one line of plain text; links show their targets.
func cellText(cell ast.Node, source []byte) string {
	s := span{source: source}
	s.children(cell, slack.RichTextSectionTextStyle{})
	return strings.Join(strings.Fields(shown(s.elements)), " ")
}

func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range min(len(row), len(widths)) {
			widths[i] = max(widths[i], columns(row[i]))
		}
	}
	return widths
}

// columns is the width of s in a monospaced font, where characters of East
// Asian scripts and emoji take two columns.
func columns(s string) int {
	n := 0
	for s != "" {
		size := clusterLen(s)
		n++
		if r, _ := utf8.DecodeRuneInString(s); isWide(r) {
			n++
		}
		s = s[size:]
	}
	return n
}

func isWide(r rune) bool {
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth || isFlagLetter(r)
}

func drawTable(rows [][]string, widths []int, alignments []extast.Alignment) string {
	lines := make([]string, 0, len(rows)+1)
	for i, row := range rows {
		cells := make([]string, len(widths))
		for c, w := range widths {
			cell := ""
			if c < len(row) {
				cell = row[c]
			}
			cells[c] = pad(cell, w, c < len(alignments) && alignments[c] == extast.AlignRight)
		}
		lines = append(lines, strings.TrimRight(strings.Join(cells, " │ "), " "))
		if i == 0 {
			lines = append(lines, ruler(widths))
		}
	}
	return strings.Join(lines, "\n")
}

func pad(cell string, w int, right bool) string {
	space := strings.Repeat(" ", max(0, w-columns(cell)))
	if right {
		return space + cell
	}
	return cell + space
}

func ruler(widths []int) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat("─", w)
	}
	return strings.Join(parts, "─┼─")
}

func (l *layout) tableAsList(rows [][]string) {
	list := slack.NewRichTextList(slack.RTEListBullet, 0)
	for _, row := range rows[1:] {
		var s span
		for i := range min(len(row), len(rows[0])) {
			if i > 0 {
				s.text("\n", slack.RichTextSectionTextStyle{})
			}
			s.text(rows[0][i]+": ", slack.RichTextSectionTextStyle{Bold: true})
			s.text(row[i], slack.RichTextSectionTextStyle{})
		}
		list.Elements = append(list.Elements, slack.NewRichTextSection(s.elements...))
	}
	if len(list.Elements) == 0 {
		l.paragraph(textOnly(strings.Join(rows[0], " │ ")))
		return
	}
	l.elements = append(l.elements, list)
}

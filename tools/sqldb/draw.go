package sqldb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"countersign/tools"
)

const (
	cellRunes   = 2000 // of one value in an answer for the model
	shownRunes  = 200  // of one value on a card
	shownRows   = 10   // rows on a card
	planRunes   = 1500 // of a plan on a card
	sampleRunes = 30   // of one sample value
)

// cut shortens a text by characters and says so.
func cut(text string, limit int) string {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text
	}
	runes := []rune(text)
	return string(runes[:limit]) + fmt.Sprintf("…(+%d characters)", n-limit)
}

// shown writes a value so that NULL, "" and what cannot be seen are told apart.
func shown(c cell, limit int) string {
	if c.null {
		return "NULL"
	}
	text := cut(c.text, limit)
	if c.text == "" || c.text == "NULL" || strings.ContainsFunc(c.text, delicate) {
		return strconv.Quote(text)
	}
	return text
}

func delicate(r rune) bool {
	return r == '"' || r == '|' || r == '=' || r == '\\' || unicode.IsSpace(r) && r != ' ' || !unicode.IsPrint(r)
}

// asTable is the answer for a table view.
func (s rowSet) asTable() *tools.Table {
	t := &tools.Table{Columns: s.columns, More: s.more, Rows: make([][]string, len(s.rows))}
	for i, row := range s.rows {
		t.Rows[i] = make([]string, len(row))
		for j, c := range row {
			t.Rows[i][j] = cut(c.text, cellRunes)
			if c.null {
				t.Rows[i][j] = "NULL"
			}
		}
	}
	return t
}

// asText is the answer for the model: a head line, a line for each row, the count.
func (s rowSet) asText() string {
	var b strings.Builder
	b.WriteString(strings.Join(s.columns, " | "))
	for _, row := range s.rows {
		b.WriteByte('\n')
		for i, c := range row {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(shown(c, cellRunes))
		}
	}
	b.WriteString("\n(" + s.count() + ")")
	return b.String()
}

func (s rowSet) count() string {
	if s.more {
		return "the first " + plural(len(s.rows)) + "; there are more: narrow the query or aggregate"
	}
	return plural(len(s.rows))
}

// summary is the one line over a preview.
func (e effect) summary() string {
	return plural(e.count) + " of " + e.table + " would be " + pastTense(e.verb)
}

// clockNote tells approvers of a statement that may do another thing later.
const clockNote = "\n\nWhat it does depends on the clock. If it is no longer this when it runs, nothing is changed and you are asked again."

// draw shows the rows before (-) and after (+), key columns first.
func (e effect) draw() string {
	var b strings.Builder
	b.WriteString(e.summary())
	for _, r := range e.rows[:min(len(e.rows), shownRows)] {
		b.WriteByte('\n')
		if r.before != nil {
			b.WriteString("\n- " + e.line(r.before, r))
		}
		if r.after != nil {
			b.WriteString("\n+ " + e.line(r.after, r))
		}
	}
	if hidden := e.count - min(len(e.rows), shownRows); hidden > 0 {
		b.WriteString("\n\nand " + grouped(hidden) + " more")
	}
	return b.String()
}

func (e effect) line(row []cell, r rowChange) string {
	var parts []string
	for _, i := range e.order(r) {
		parts = append(parts, e.columns[i]+"="+e.value(row, i, r))
	}
	return strings.Join(parts, "  ")
}

// value draws a cell; one that is made when the statement runs is not drawn as if it were
// fixed, and one that changes only its kind says so.
func (e effect) value(row []cell, i int, r rowChange) string {
	if e.unknown(i, row, r.after) {
		return "(set when it runs)"
	}
	text := shown(row[i], shownRunes)
	if r.before != nil && r.after != nil && r.before[i].text == r.after[i].text && r.before[i].kind != r.after[i].kind {
		return text + " (" + row[i].kind + ")"
	}
	return text
}

// order puts the key first, then what changes, then the rest.
func (e effect) order(r rowChange) []int {
	order := slices.Clone(e.keys)
	for _, changing := range []bool{true, false} {
		for i := range e.columns {
			if differs := r.before != nil && r.after != nil && r.before[i] != r.after[i]; differs == changing && !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
	}
	return order
}

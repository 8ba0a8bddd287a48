package card

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/bot/slacktext"
	"countersign/tools"
)

// Result is what a step gave beside text.
type Result struct {
	Step  int
	Tool  string
	Table *tools.Table // nil: none
	Files []File
}

// Bounds of a table in a message. Slack takes 100 rows, 20 columns and about 13,200
// characters in all blocks together.
const (
	maxRows      = 100
	maxColumns   = 20
	maxCell      = 150
	maxTableText = 9000
	maxMessage   = 11_500
	rowsAPage    = 10
)

// PrivatelyAnswered tells the thread that the answer went to the asker alone, and
// what was changed.
func (r *Renderer) PrivatelyAnswered(w *agent.Work, at Where) Message {
	p := r.pen(at.Lang)
	m := Message{Meta: Meta{Subject: agent.AnswerSubject(w.Run.ID), Run: w.Run.ID}, Text: p.say("answer.private.text")}
	m.Blocks = []slack.Block{section(p.say("answer.private", "asker", person(w.Run.Asker))), slack.NewDividerBlock()}
	m.Blocks = append(m.Blocks, rich(p.changed(w, at)...)...)
	if w.Run.State == agent.WaitingInput && w.Run.Closing != agent.HaltNone {
		m.Blocks = append(m.Blocks, p.goOn(&w.Run)...)
	}
	return m
}

// ReadPrivate says that the run has results that are not for the channel.
func (r *Renderer) ReadPrivate(w *agent.Work) bool {
	return r.privateBefore(w, len(w.Steps)+1)
}

// HushedAt says that the run had read something private before a step.
func (r *Renderer) HushedAt(w *agent.Work, step int) bool { return r.privateBefore(w, step) }

// privateBefore says so of the steps before one.
func (r *Renderer) privateBefore(w *agent.Work, step int) bool {
	for i := range w.Steps {
		s := &w.Steps[i]
		if s.N < step && s.State.Settled() && s.State != agent.StepCancelled && (s.Attempts > 0 || len(s.Sources) > 0) && r.private(s.Tool, s) {
			return true
		}
	}
	return false
}

// results puts the last table below an answer, and attaches what people may want
// whole: the table when a part of it is missing, the files of the tools.
func (p pen) results(m *Message, answer string, results []Result) {
	room := maxMessage - slacktext.Units(answer)
	shown := ownTable.MatchString(answer)
	for i := len(results) - 1; i >= 0; i-- {
		r := &results[i]
		m.Files = append(m.Files, r.Files...)
		if r.Table == nil || shown || len(r.Table.Rows)*len(r.Table.Columns) < 3 {
			continue
		}
		shown = true
		block, part := p.table(r, min(room, maxTableText))
		if block != nil {
			m.Blocks = append(m.Blocks, block)
		}
		if part {
			m.Files = append(m.Files, p.sheetOf(r))
			m.Blocks = append(m.Blocks, note(p.say("table.file")))
		}
		if r.Table.More {
			m.Blocks = append(m.Blocks, note(p.say("table.more", "n", grouped(len(r.Table.Rows)))))
		}
	}
}

// ownTable finds the line under the head of a Markdown table: the model drew one itself.
var ownTable = regexp.MustCompile(`(?m)^\s*\|?\s*:?-{3,}:?\s*\|`)

// table draws as much of a table as there is room for; part says that something is missing.
func (p pen) table(r *Result, room int) (block slack.Block, part bool) {
	t := r.Table
	columns := min(len(t.Columns), maxColumns)
	part = columns < len(t.Columns)
	b := slack.NewDataTableBlock(p.say("table.caption", "tool", p.toolName(r.Tool), "n", grouped(len(t.Rows)))).WithPageSize(rowsAPage)
	for i, row := range append([][]string{t.Columns}, t.Rows...) {
		cells := make([]slack.DataTableCell, columns)
		size := 0
		for j := range cells {
			cell, cut := p.cell(row, j)
			part = part || cut
			size += slacktext.Units(cell)
			cells[j] = slack.NewDataTableRawTextCell(cell)
		}
		if room -= size; room < 0 || i > maxRows {
			part = true
			break
		}
		b.AddRow(cells...)
	}
	if len(b.Rows) < 2 || columns == 0 {
		return nil, true
	}
	return b, part
}

func (p pen) cell(row []string, j int) (cell string, cut bool) {
	if j >= len(row) {
		return "—", false
	}
	whole := oneLine(slacktext.Draw(p.mask(row[j])))
	cell = slacktext.Truncate(whole, maxCell)
	return some(cell), cell != whole
}

// sheetOf is the whole table as a file for spreadsheets.
func (p pen) sheetOf(r *Result) File {
	var b bytes.Buffer
	b.WriteString("\ufeff") // spreadsheets take it for UTF-8 then
	w := csv.NewWriter(&b)
	for _, row := range append([][]string{r.Table.Columns}, r.Table.Rows...) {
		cells := make([]string, len(row))
		for j, c := range row {
			cells[j] = inert(p.mask(c))
		}
		_ = w.Write(cells) // a buffer takes everything
	}
	w.Flush()
	return File{Name: fmt.Sprintf("%s-%d.csv", fileName.ReplaceAllString(r.Tool, "-"), r.Step), Title: p.say("table.title", "tool", p.toolName(r.Tool)), Content: b.Bytes()}
}

var fileName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// inert keeps a spreadsheet from running a value as a formula.
func inert(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}

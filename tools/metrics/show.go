package metrics

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"countersign/tools"
)

const (
	nameRunes = 300 // of one series' name
	readable  = 24  // points of a series in the text for the model
	detailed  = 6   // series whose points are in the text
)

// ordering are the functions whose answers have an order of their own.
var ordering = regexp.MustCompile(`\b(sort|sort_desc|sort_by_label|sort_by_label_desc|topk|bottomk)\b`)

// result shows an answer to the model and as a table.
func (a answer) result(p plan) tools.Result {
	if !ordering.MatchString(p.query) { // else equal answers would not read the same
		slices.SortStableFunc(a.series, func(x, y series) int { return strings.Compare(x.name(), y.name()) })
	}
	shown := a.series[:min(len(a.series), maxSeries)]
	table := &tools.Table{More: len(shown) < len(a.series)}
	head := fmt.Sprintf("%s at %s", counted(len(a.series)), p.at.Format(time.RFC3339))
	if a.kind == "matrix" && p.step > 0 {
		head = fmt.Sprintf("%s from %s to %s, step %s", counted(len(a.series)), p.from.Format(time.RFC3339), p.at.Format(time.RFC3339), p.step)
	}
	if a.kind == "matrix" {
		table.Columns = []string{"series", "first", "last", "min", "max", "mean", "points"}
	} else {
		table.Columns = []string{"series", "value"}
	}
	for _, s := range shown {
		table.Rows = append(table.Rows, s.row(a.kind))
	}
	text := head + "\n" + lines(table) + a.points() + a.remarks()
	return tools.Result{Text: strings.TrimRight(text, "\n"), Summary: head, Table: table}
}

func counted(n int) string {
	if n == 1 {
		return "1 series"
	}
	return fmt.Sprintf("%d series", n)
}

// lines writes a table with one row a line.
func lines(t *tools.Table) string {
	if len(t.Rows) == 0 {
		return "(nothing matches)\n"
	}
	var b strings.Builder
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		b.WriteString(strings.Join(row, " | ") + "\n")
	}
	if t.More {
		fmt.Fprintf(&b, "(only the first %d are shown; aggregate or narrow the query)\n", len(t.Rows))
	}
	return b.String()
}

// points lists the values of a few series, evenly thinned out.
func (a answer) points() string {
	if a.kind != "matrix" || len(a.series) > detailed {
		return ""
	}
	var b strings.Builder
	for _, s := range a.series {
		if len(s.Values) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:", s.name())
		count := min(len(s.Values), readable)
		for i := range count {
			v := s.Values[i*(len(s.Values)-1)/max(count-1, 1)]
			fmt.Fprintf(&b, " %s=%s", v.at.Format("2006-01-02T15:04:05Z"), v.value)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (a answer) remarks() string {
	var b strings.Builder
	for _, w := range a.warnings[:min(len(a.warnings), 5)] {
		b.WriteString("Prometheus remarks: " + clean(w, 300) + "\n")
	}
	return b.String()
}

// name is the series as Prometheus writes it.
func (s series) name() string {
	var labels []string
	for _, label := range slices.Sorted(maps.Keys(s.Metric)) {
		if label != "__name__" {
			labels = append(labels, label+"="+strconv.Quote(s.Metric[label]))
		}
	}
	name := s.Metric["__name__"]
	if len(labels) > 0 || name == "" {
		name += "{" + strings.Join(labels, ",") + "}"
	}
	return clean(name, nameRunes)
}

func (s series) row(kind string) []string {
	switch {
	case len(s.Histogram)+len(s.Histograms) > 0:
		row := []string{s.name(), "(native histogram; ask for histogram_quantile or histogram_count)"}
		if kind == "matrix" {
			row = append(row, "", "", "", "", "")
		}
		return row
	case kind != "matrix" && s.Value != nil:
		return []string{s.name(), clean(s.Value.value, nameRunes)}
	case kind != "matrix":
		return []string{s.name(), ""}
	case len(s.Values) == 0:
		return []string{s.name(), "", "", "", "", "", "0"}
	}
	low, high, mean := s.statistics()
	return []string{
		s.name(), s.Values[0].value, s.Values[len(s.Values)-1].value, short(low), short(high), short(mean), strconv.Itoa(len(s.Values)),
	}
}

// statistics leave out what is not a number.
func (s series) statistics() (low, high, mean float64) {
	low, high = math.Inf(1), math.Inf(-1)
	sum, count := 0.0, 0
	for _, v := range s.Values {
		f := v.number()
		if math.IsNaN(f) {
			continue
		}
		low, high, sum, count = math.Min(low, f), math.Max(high, f), sum+f, count+1
	}
	if count == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return low, high, sum / float64(count)
}

// short writes a computed number with six digits that count.
func short(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// clean bounds a foreign text, on one line; what cannot be seen is drawn.
func clean(text string, limit int) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	out := b.String()
	if n := utf8.RuneCountInString(out); n > limit {
		return string([]rune(out)[:limit]) + fmt.Sprintf("…(+%d characters)", n-limit)
	}
	return out
}

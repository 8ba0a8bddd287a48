package docs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Bounds of one answer.
const (
	maxHits     = 8   // passages
	maxPerDoc   = 3   // passages of one document
	maxPassage  = 300 // characters of a line
	reach       = 2   // lines before and after a hit that belong to its passage
	maxIDsShown = 20  // ids told when nothing was found
	maxRead     = 40  // documents that are read for one answer
)

// hit is one line that answers a query.
type hit struct {
	doc   *document
	line  int // from 0
	score float64
}

// place is where a hit stands, as people write it.
func (h hit) place() string { return fmt.Sprintf("%s:%d", h.doc.path, h.line+1) }

// term is one piece of a query and how much finding it says.
type term struct {
	text   string
	weight float64
}

// rank finds the lines that answer a query best: those with more of its terms
// and with rarer ones, in documents that have more of them.
func rank(documents []*document, weighed []term, query string) []hit {
	phrase := fold(strings.TrimSpace(query))
	var hits []hit
	for _, d := range documents {
		hits = append(hits, best(d, weighed, phrase)...)
	}
	return top(hits, maxHits)
}

// top keeps the n hits with the highest scores, equal ones in their order.
func top(hits []hit, n int) []hit {
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits[:min(len(hits), n)]
}

// weigh gives each term found anywhere a weight: the rarer, the heavier.
func (x *index) weigh(texts []string, total int) ([]term, error) {
	var weighed []term
	for _, text := range texts {
		found, err := x.words.having(text)
		if err != nil {
			return nil, err
		}
		if found > 0 {
			weighed = append(weighed, term{text, math.Log(1 + float64(total)/float64(found))})
		}
	}
	return weighed, nil
}

// best are the lines of one document with the highest scores. What its heading
// and the whole of it have of the terms counts a little for every line.
func best(d *document, terms []term, phrase string) []hit {
	heading, whole := score(d.heading, terms), score(d.body, terms)
	var hits []hit
	for i, line := range d.folded {
		own := score(line, terms)
		if own == 0 {
			continue
		}
		if strings.Contains(line, phrase) {
			own *= 2
		}
		hits = append(hits, hit{doc: d, line: i, score: own + heading/2 + whole/4})
	}
	if len(hits) == 0 && heading > 0 {
		hits = append(hits, hit{doc: d, score: heading})
	}
	return apart(top(hits, len(hits)))
}

// apart keeps the best hits of one document whose passages do not say the same.
func apart(hits []hit) []hit {
	var kept []hit
	for _, h := range hits {
		near := func(k hit) bool { return max(k.line-h.line, h.line-k.line) <= reach }
		if len(kept) < maxPerDoc && !slices.ContainsFunc(kept, near) {
			kept = append(kept, h)
		}
	}
	return kept
}

func score(folded string, terms []term) float64 {
	total := 0.0
	for _, t := range terms {
		if strings.Contains(folded, t.text) {
			total += t.weight
		}
	}
	return total
}

// fold makes two spellings of a word equal.
func fold(text string) string { return strings.ToLower(text) }

// terms takes a query apart. Words are what stands between spaces and signs.
// Chinese, Japanese and Korean write no spaces, so their runs become pairs of
// neighbours: 账户余额 is found by 余额, and by a question that has it inside.
func terms(query string) []string {
	var list []string
	for _, run := range runs(fold(query)) {
		runes := []rune(run)
		if !isCJK(runes[0]) || len(runes) <= 2 {
			list = append(list, run)
			continue
		}
		for i := range len(runes) - 1 {
			list = append(list, string(runes[i:i+2]))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// tokens takes a text apart for the index, so that each of its terms finds it: words, and
// of scripts without spaces the pairs of neighbours. The last sign of such a run stands
// alone, too: no pair begins with it.
func tokens(text string) []string {
	var list []string
	for _, run := range runs(fold(text)) {
		runes := []rune(run)
		if !isCJK(runes[0]) {
			list = append(list, run)
			continue
		}
		for i := range len(runes) - 1 {
			list = append(list, string(runes[i:i+2]))
		}
		list = append(list, string(runes[len(runes)-1:]))
	}
	return list
}

// runs splits at whatever is no letter or digit, and where a script without
// spaces begins or ends.
func runs(text string) []string {
	var list []string
	var run []rune
	end := func() {
		if len(run) > 0 {
			list = append(list, string(run))
		}
		run = nil
	}
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_' {
			end()
			continue
		}
		if len(run) > 0 && isCJK(run[0]) != isCJK(r) {
			end()
		}
		run = append(run, r)
	}
	end()
	return list
}

func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// passages writes the hits for the model, with id, file and line.
func passages(query string, a answer, hits []hit) string {
	var b strings.Builder
	if len(hits) == 0 {
		fmt.Fprintf(&b, "nothing found for %q in %d documents", query, len(a.entries))
		if len(a.entries) > 0 {
			fmt.Fprintf(&b, "; they are: %s", ids(a.entries))
		}
	}
	for i, h := range hits {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "%s (%s) %s\n%s", h.doc.id, h.place(), h.doc.title, passage(h))
	}
	if a.leftOut > 0 {
		fmt.Fprintf(&b, "\n\n(%d files are too large or too many and were not searched)", a.leftOut)
	}
	return b.String()
}

// passage is the line with those around it that say something.
func passage(h hit) string {
	var lines []string
	for i := max(0, h.line-reach); i <= min(len(h.doc.lines)-1, h.line+reach); i++ {
		if line := strings.TrimSpace(h.doc.lines[i]); line != "" {
			lines = append(lines, "  "+cut(line, maxPassage))
		}
	}
	return strings.Join(lines, "\n")
}

func ids(entries []entry) string {
	var list []string
	for _, e := range entries[:min(len(entries), maxIDsShown)] {
		list = append(list, e.id)
	}
	if more := len(entries) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("… and %d more", more))
	}
	return strings.Join(list, ", ")
}

package tools

import (
	"slices"
	"strings"
)

// maxNear is how many names are suggested: more would be a list, not a hint.
const maxNear = 3

// Near returns up to three of the candidates that somebody who wrote name may
// have meant, the nearest first: those a few slips of the pen away, and those
// that share its stem or contain it.
func Near(name string, candidates []string) []string {
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for _, c := range candidates {
		if d, ok := nearness(strings.ToLower(name), strings.ToLower(c)); ok {
			found = append(found, scored{c, d})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.name, b.name)
	})
	names := make([]string, 0, maxNear)
	for _, f := range found[:min(maxNear, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// DidYouMean says the near names as the tail of a sentence, or nothing.
func DidYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// nearness is a distance, smaller is nearer; false means not near at all.
func nearness(a, b string) (int, bool) {
	if a == "" || b == "" {
		return 0, false
	}
	if a == b {
		return 0, true
	}
	d := distance([]rune(a), []rune(b))
	longer := max(len([]rune(a)), len([]rune(b)))
	if d <= max(1, longer/3) {
		return d, true
	}
	if stem(a) == stem(b) {
		return d, true
	}
	if len(a) >= 3 && strings.Contains(b, a) || len(b) >= 3 && strings.Contains(a, b) {
		return d + longer, true
	}
	return 0, false
}

// stem is a name without its last extension: transactions.txt and
// transactions.log are near, whatever their extensions are.
func stem(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}

// distance counts insertions, deletions, substitutions and swaps of neighbours
// (optimal string alignment). Names beyond 256 runes are not compared closely.
func distance(a, b []rune) int {
	const longest = 256
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

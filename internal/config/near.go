package config

import (
	"reflect"
	"strings"
)

// suggest says which key was probably meant by an unknown one: a near name among
// the keys allowed here, else the same name at another place, else all that is allowed.
func suggest(unknown string, allowed []string) string {
	best, distance := "", 3
	for _, name := range allowed {
		if d := editDistance(unknown, name); d < distance {
			best, distance = name, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	if elsewhere := keyElsewhere(unknown); elsewhere != "" {
		return "did you mean " + elsewhere + "?"
	}
	return "known here: " + strings.Join(allowed, ", ")
}

// keyElsewhere finds a key of that name anywhere in the configuration.
func keyElsewhere(name string) string {
	for _, key := range allKeys(reflect.TypeFor[Config](), "") {
		if key == name || strings.HasSuffix(key, "."+name) {
			return key
		}
	}
	return ""
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range y {
		rows[0][j+1] = j + 1
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}

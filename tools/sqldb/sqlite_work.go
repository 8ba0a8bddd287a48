package sqldb

import (
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// SQLite is stopped by the time limit between two steps of its program, never within one,
// and one call of a function is one step. So the values are kept so small that the calls
// of a statement end soon, and its expressions so flat that the engine's stack holds them.
const (
	sqliteMaxDepth    = 100 // of an expression
	sqliteMaxCompound = 50  // queries of one UNION
	sqliteMaxPattern  = 1000
)

// sqliteBudget is how long, in nanoseconds, all calls that a statement names may take
// together with the largest values.
const sqliteBudget = 2e9

// Nanoseconds that a call takes for a byte of its values, on a slow machine.
const (
	perByte    = 30 // reading and writing it
	perCompare = 5  // comparing it with one byte of a pattern
)

// patternCalls search for one of their arguments in another one, so that their time grows
// with both; the number is that argument's place.
var patternCalls = map[string]int{"instr": 1, "replace": 1, "trim": 1, "ltrim": 1, "rtrim": 1, "like": 0, "glob": 0}

// squaredCalls go through one argument for each part of another. A short pattern of
// regexp may stand for a long one.
var squaredCalls = []string{"json_patch", "jsonb_patch", "regexp", "regexpi"}

// endlessCalls make huge numbers of short texts.
var endlessCalls = []string{
	"decimal", "decimal_add", "decimal_sub", "decimal_mul", "decimal_cmp", "decimal_sum", "decimal_pow2", "decimal_exp",
}

// bound keeps what a connection takes in within what it can end in time.
func bound(c *sqlite3.Conn) {
	c.Limit(sqlite3.LIMIT_LENGTH, sqliteMaxLength)
	c.Limit(sqlite3.LIMIT_ATTACHED, 0)
	c.Limit(sqlite3.LIMIT_EXPR_DEPTH, sqliteMaxDepth)
	c.Limit(sqlite3.LIMIT_COMPOUND_SELECT, sqliteMaxCompound)
	c.Limit(sqlite3.LIMIT_LIKE_PATTERN_LENGTH, sqliteMaxPattern)
	c.HardHeapLimit(sqliteMaxHeap)
}

// longest is how long values may be, so that the calls of the statement stay within the
// budget. Counts are SQLite's own, of views, too.
func (s statement) longest(calls map[string]int) int {
	var each, squared float64
	for name, n := range calls {
		each += perByte * float64(n)
		place, searches := patternCalls[name]
		pattern, known := s.patterns(name, place)
		switch {
		case searches && known:
			each += perCompare * float64(pattern)
		case name == "like" || name == "glob":
			each += perCompare * sqliteMaxPattern * float64(n)
		case searches, slices.Contains(squaredCalls, name):
			squared += perCompare * float64(n)
		}
	}
	length := float64(sqliteMaxLength)
	for each*length+squared*length*length > sqliteBudget {
		length /= 2
	}
	return int(length)
}

// patterns adds up the patterns of all calls of a function, if every one is written out.
func (s statement) patterns(name string, place int) (int, bool) {
	total, found := 0, false
	for i, t := range s.tokens {
		if !t.identifier() || lower(t.text) != name {
			continue
		}
		length, known := s.patternAt(i, place)
		if !known {
			return 0, false
		}
		total, found = total+length, true
	}
	return total, found
}

// patternAt is the pattern of the call or the operator at token i.
func (s statement) patternAt(i, place int) (int, bool) {
	if !s.punct(i+1, "(") {
		return s.literal(i+1, i+2) // an operator: what follows may go on
	}
	end := s.closing(i + 1)
	if end < 0 {
		return 0, false
	}
	args := s.split(i+2, end)
	if place >= len(args) {
		return 1, true // trim of blanks
	}
	at := i + 2
	for _, before := range args[:place] {
		at += len(before) + 1
	}
	return s.literal(at, at+len(args[place]))
}

// literal is the length of a text that stands alone from token i to before token j.
func (s statement) literal(i, j int) (int, bool) {
	if j != i+1 || i >= len(s.tokens) || s.tokens[i].kind != stringToken || s.punct(j, "|") || s.punct(j, "-") {
		return 0, false
	}
	return len(s.tokens[i].text), true
}

// guarded turns a panic of the engine into an error: it ends so when its memory or its
// stack is used up. Nothing is committed by then.
func guarded[T any](f func() (T, error)) (out T, err error) {
	defer func() {
		if recover() != nil {
			err = errTooBig
		}
	}()
	return f()
}

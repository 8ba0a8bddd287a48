package sqldb

import (
	"slices"
	"strings"
)

// What the clock says is another thing when an approved statement runs than when its
// effect was shown. A value that is nothing but a reading of the clock is left out of the
// comparison and drawn as unknown. Whatever else depends on the clock (a CASE, a
// comparison, a number computed from it) is compared, so that a difference asks again:
// else a statement could wait until it was approved and then do something else.

// madeAfresh says whether a column gets a value that nobody can know beforehand: the
// clock, or a key that the table itself makes.
func (c change) madeAfresh(col tableColumn) bool {
	values, named := c.valuesOf(col.name)
	if named && !allValues(values, isDefault) {
		return allValues(values, func(v []token) bool { return bareClock(c.dialect, v) })
	}
	return (named || c.verb == "insert") && (col.numbered || freshDefault(c.dialect, col.otherwise))
}

func allValues(values [][]token, is func([]token) bool) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(v []token) bool { return !is(v) })
}

func isDefault(value []token) bool { return len(value) == 1 && value[0].is(wordToken, "default") }

// freshDefault reads the default of a column as the database writes it.
func freshDefault(d dialect, text string) bool {
	tokens, err := lex(d, text)
	if err != nil {
		return false
	}
	s := statement{dialect: d, text: text, tokens: tokens}
	makesKey := slices.ContainsFunc(s.callable(), func(name string) bool { return slices.Contains(keyCalls, name) })
	return bareClock(d, tokens) || makesKey && !s.readsClock()
}

// dependsOnClock says whether the clock stands in a place where it is compared.
func (c change) dependsOnClock() bool {
	for i, t := range c.tokens {
		if c.clockAt(i) && !slices.ContainsFunc(c.assigned, func(a assignment) bool { return a.reads(c.dialect, t) }) {
			return true
		}
	}
	return false
}

// reads says whether token t stands in a value that is a reading of the clock, as all of
// the column's are.
func (a assignment) reads(d dialect, t token) bool {
	return allValues(a.values, func(v []token) bool { return bareClock(d, v) }) &&
		slices.ContainsFunc(a.values, func(v []token) bool { return slices.Contains(v, t) })
}

// readsClock says whether the clock stands anywhere in the statement.
func (s statement) readsClock() bool {
	for i := range s.tokens {
		if s.clockAt(i) {
			return true
		}
	}
	return false
}

func (s statement) clockAt(i int) bool {
	t := s.tokens[i]
	if t.kind == stringToken {
		return strings.EqualFold(t.text, "'now'")
	}
	if t.kind == wordToken && slices.Contains(clockWords, t.text) && (s.dialect == postgresDialect || !strings.HasPrefix(t.text, "local")) {
		return true
	}
	if !t.identifier() || !s.punct(i+1, "(") {
		return false
	}
	if s.dialect == postgresDialect {
		return slices.Contains(pgClockCalls, t.text)
	}
	instant, known := sqliteClockCalls[lower(t.text)]
	return known && s.arguments(i+1) <= instant
}

// arguments counts those in the bracket at i.
func (s statement) arguments(i int) int {
	end := s.closing(i)
	if end <= i+1 {
		return 0
	}
	return len(s.split(i+1, end))
}

// bareClock says whether a value is a reading of the clock and nothing else.
func bareClock(d dialect, value []token) bool {
	r := clockReader{statement: statement{dialect: d, tokens: value}}
	return r.sum() != noMoment && r.at == len(value)
}

// moment is what a part of a value is.
type moment int

const (
	noMoment moment = iota
	instant         // of any type: an interval may be added
	day             // CURRENT_DATE: a number of days may be added
	seconds         // a number, or a text: nothing may be added
)

// clockReader reads a value from left to right.
type clockReader struct {
	statement
	at int
}

// take passes the given words and characters if they come next.
func (r *clockReader) take(texts ...string) bool {
	for n, text := range texts {
		if !r.word(r.at+n, text) && !r.punct(r.at+n, text) {
			return false
		}
	}
	r.at += len(texts)
	return true
}

func (r *clockReader) takeString() bool {
	if r.at >= len(r.tokens) || r.tokens[r.at].kind != stringToken || r.tokens[r.at].text[0] != '\'' {
		return false
	}
	r.at++
	return true
}

func (r *clockReader) takeNumber() bool {
	if r.at >= len(r.tokens) || r.tokens[r.at].kind != numberToken {
		return false
	}
	r.at++
	return true
}

// sum is a reading, in Postgres with constant intervals added or taken away.
func (r *clockReader) sum() moment {
	m := r.shaped()
	for r.dialect == postgresDialect && (m == instant || m == day) && (r.take("+") || r.take("-")) {
		switch {
		case r.interval():
			m = instant
		case m == day && r.takeNumber():
		default:
			return noMoment
		}
	}
	return m
}

// interval is interval '1 day' or '1 day'::interval.
func (r *clockReader) interval() bool {
	if r.take("interval") {
		return r.takeString()
	}
	return r.takeString() && r.take(":", ":", "interval")
}

// shaped is a reading with casts and time zones behind it.
func (r *clockReader) shaped() moment {
	m := r.primary()
	for m != noMoment && r.dialect == postgresDialect {
		switch {
		case r.take("at", "time", "zone"):
			if !r.takeString() {
				return noMoment
			}
			if r.take(":", ":") && !r.take("text") {
				return noMoment
			}
		case r.take(":", ":"):
			m = r.castTo(m)
		default:
			return m
		}
	}
	return m
}

// castTo reads a type that leaves a moment what it is.
func (r *clockReader) castTo(m moment) moment {
	if m == noMoment || r.at >= len(r.tokens) || r.tokens[r.at].kind != wordToken || !slices.Contains(momentTypes, r.tokens[r.at].text) {
		return noMoment
	}
	name := r.tokens[r.at].text
	r.at++
	if r.take("(") && !(r.takeNumber() && r.take(")")) {
		return noMoment
	}
	if !r.take("with", "time", "zone") {
		r.take("without", "time", "zone")
	}
	switch {
	case m == seconds:
		return seconds
	case name == "date":
		return day
	case strings.HasPrefix(name, "time"):
		return instant
	default:
		return seconds
	}
}

func (r *clockReader) primary() moment {
	switch {
	case r.take("("):
		return r.closed(r.sum())
	case r.take("cast", "("):
		if m := r.sum(); m != noMoment && r.take("as") {
			return r.closed(r.castTo(m))
		}
		return noMoment
	case r.take("current_date"):
		return day
	case r.take("current_timestamp"), r.take("current_time"):
		return r.precise()
	case r.dialect == sqliteDialect:
		return r.sqliteCall()
	case r.take("localtime"), r.take("localtimestamp"):
		return r.precise()
	case r.take("extract", "(", "epoch", "from"):
		if r.closed(r.sum()) != noMoment {
			return seconds
		}
		return noMoment
	case r.take("date_trunc", "("):
		if r.takeString() && (!r.take(":", ":") || r.take("text")) && r.take(",") {
			return r.closed(r.sum())
		}
		return noMoment
	default:
		return r.postgresCall()
	}
}

// closed expects the bracket that ends m.
func (r *clockReader) closed(m moment) moment {
	if !r.take(")") {
		return noMoment
	}
	return m
}

// precise reads a number of digits in brackets, if there is one.
func (r *clockReader) precise() moment {
	if r.take("(") && !(r.takeNumber() && r.take(")")) {
		return noMoment
	}
	return instant
}

func (r *clockReader) postgresCall() moment {
	r.take("pg_catalog", ".")
	for _, name := range pgClockCalls {
		if r.take(name, "(", ")") {
			return instant
		}
	}
	return noMoment
}

// sqliteCall is a date function of SQLite with constant arguments, of 'now'.
func (r *clockReader) sqliteCall() moment {
	for name, place := range sqliteClockCalls {
		if !r.take(name, "(") {
			continue
		}
		if !r.clockAt(r.at - 2) {
			// An instant is named: it has to be this one.
			first := r.at + 2*place
			if first >= len(r.tokens) || !strings.EqualFold(r.tokens[first].text, "'now'") {
				return noMoment
			}
		}
		for r.takeString() && r.take(",") {
		}
		return r.closed(seconds)
	}
	return noMoment
}

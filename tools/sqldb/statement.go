package sqldb

import (
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/tools"
)

// statement is one SQL statement as its tokens show it.
type statement struct {
	dialect dialect
	text    string // without leading and trailing comments and semicolons
	tokens  []token
}

// parseOne reads exactly one statement.
func parseOne(d dialect, sql string) (statement, error) {
	if !utf8.ValidString(sql) || strings.ContainsRune(sql, 0) {
		return statement{}, refuse("The statement is not valid UTF-8 text.")
	}
	tokens, err := lex(d, sql)
	if err != nil {
		return statement{}, refuse("The statement cannot be read: " + err.Error() + ".")
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].is(punctToken, ";") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return statement{}, refuse("There is no statement.")
	}
	for _, t := range tokens {
		if t.is(punctToken, ";") {
			return statement{}, refuse("Only one statement at a time: there is more text after a semicolon.")
		}
		if t.kind == paramToken {
			return statement{}, refuse("The parameter " + t.text + " has no value; write the value into the statement.")
		}
	}
	return cutTo(statement{dialect: d, text: sql, tokens: tokens}), nil
}

// cutTo leaves out what stands before the first and after the last token.
func cutTo(s statement) statement {
	from := s.tokens[0].start
	s.text = s.text[from:s.tokens[len(s.tokens)-1].end]
	shifted := slices.Clone(s.tokens)
	for i := range shifted {
		shifted[i].start -= from
		shifted[i].end -= from
	}
	s.tokens = shifted
	return s
}

func refuse(message string) *tools.Failure {
	return &tools.Failure{Code: "invalid", Message: message, Pointer: "/sql"}
}

// verb is the first keyword.
func (s statement) verb() string {
	if s.tokens[0].kind == wordToken {
		return s.tokens[0].text
	}
	if s.tokens[0].is(punctToken, "(") {
		for _, t := range s.tokens {
			if t.kind == wordToken {
				return t.text
			}
		}
	}
	return ""
}

// word says whether token i is the given bare keyword.
func (s statement) word(i int, text string) bool {
	return i >= 0 && i < len(s.tokens) && s.tokens[i].is(wordToken, text)
}

// punct says whether token i is the given character.
func (s statement) punct(i int, text string) bool {
	return i >= 0 && i < len(s.tokens) && s.tokens[i].is(punctToken, text)
}

// has says whether the bare word stands anywhere.
func (s statement) has(word string) bool {
	return slices.ContainsFunc(s.tokens, func(t token) bool { return t.is(wordToken, word) })
}

// find gives the place of the first of the words outside brackets from i on, or -1.
func (s statement) find(i int, words ...string) int {
	depth := 0
	for ; i < len(s.tokens); i++ {
		t := s.tokens[i]
		switch {
		case t.is(punctToken, "("):
			depth++
		case t.is(punctToken, ")"):
			depth--
		case depth == 0 && t.kind == wordToken && slices.Contains(words, t.text):
			return i
		}
	}
	return -1
}

// split cuts tokens [from, to) at the commas outside brackets.
func (s statement) split(from, to int) [][]token {
	var parts [][]token
	depth, start := 0, from
	for i := from; i < to; i++ {
		switch t := s.tokens[i]; {
		case t.is(punctToken, "("):
			depth++
		case t.is(punctToken, ")"):
			depth--
		case depth == 0 && t.is(punctToken, ","):
			parts = append(parts, s.tokens[start:i])
			start = i + 1
		}
	}
	return append(parts, s.tokens[start:to])
}

// closing gives the place of the bracket that closes the one at i, or -1.
func (s statement) closing(i int) int {
	depth := 0
	for ; i < len(s.tokens); i++ {
		switch {
		case s.punct(i, "("):
			depth++
		case s.punct(i, ")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// span is the text from token i to before token j.
func (s statement) span(i, j int) string {
	if i >= j {
		return ""
	}
	return s.text[s.tokens[i].start:s.tokens[j-1].end]
}

// calls lists the names of everything that looks like a function call, qualified
// names with their schema. Keywords that take brackets are left out.
func (s statement) calls() []string {
	return s.named(func(i int) bool {
		return s.callAt(i) && !(s.tokens[i].kind == wordToken && slices.Contains(bracketKeywords, s.tokens[i].text))
	})
}

// callable lists every name that could be a function's, keywords included, without schemas.
func (s statement) callable() []string {
	names := s.named(s.callAt)
	for i, name := range names {
		names[i] = lastName(name)
	}
	return names
}

// fields lists the names that stand behind a dot without arguments: Postgres takes o.name
// for a call of name(o) where o is a row without such a column.
func (s statement) fields() []string {
	names := s.named(func(i int) bool { return s.tokens[i].identifier() && s.punct(i-1, ".") && !s.punct(i+1, "(") })
	for i, name := range names {
		names[i] = lastName(name)
	}
	return names
}

// operatorSigns are what operators of Postgres are made of.
const operatorSigns = "+-*/<>=~!@#%^&|`?"

// operators lists everything that could be an operator: the parts of each run of signs.
func (s statement) operators() []string {
	var names []string
	for i := range s.tokens {
		name := ""
		for j := i; j < len(s.tokens) && len(name) < 63 && s.tokens[j].kind == punctToken && strings.Contains(operatorSigns, s.tokens[j].text); j++ {
			if j > i && s.tokens[j].start != s.tokens[j-1].end {
				break
			}
			if name += s.tokens[j].text; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (s statement) named(wanted func(int) bool) []string {
	var names []string
	for i, t := range s.tokens {
		if !wanted(i) {
			continue
		}
		name := t.text
		if s.punct(i-1, ".") && i >= 2 {
			name = s.tokens[i-2].text + "." + name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// callAt says whether token i is a name before arguments: not before a list of
// columns after INTO or AS.
func (s statement) callAt(i int) bool {
	if !s.tokens[i].identifier() || !s.punct(i+1, "(") {
		return false
	}
	for s.punct(i-1, ".") && i >= 2 {
		i -= 2
	}
	return !s.word(i-1, "into") && !s.word(i-1, "as")
}

func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// castTypes lists the first word of every type that something is cast to.
func (s statement) castTypes() []string {
	var names []string
	for i, t := range s.tokens {
		switch {
		case s.punct(i-1, ":") && s.punct(i-2, ":"):
			names = append(names, typeName(s, i))
		case t.is(wordToken, "cast") && s.punct(i+1, "("):
			end := s.closing(i + 1)
			for j := i + 2; j < end; j++ {
				if s.word(j, "as") {
					names = append(names, typeName(s, j+1))
				}
			}
		}
	}
	return names
}

// typeName reads a type; one that is qualified by a schema other than pg_catalog keeps its dot.
func typeName(s statement, i int) string {
	if i >= len(s.tokens) {
		return ""
	}
	if s.punct(i+1, ".") && i+2 < len(s.tokens) {
		if s.word(i, "pg_catalog") {
			return s.tokens[i+2].text
		}
		return s.tokens[i].text + "." + s.tokens[i+2].text
	}
	return s.tokens[i].text
}

package sqldb

import (
	"slices"
	"strings"
)

// checkRead says whether query_sql may pass the statement to the database.
func checkRead(s statement) error {
	if !slices.Contains(readVerbs, s.verb()) {
		return refuse("query_sql reads only: the statement must start with SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW.")
	}
	if s.dialect == sqliteDialect && (s.verb() == "table" || s.verb() == "show") {
		return refuse("SQLite has no " + strings.ToUpper(s.verb()) + " statement; use get_schema or SELECT.")
	}
	if s.verb() == "explain" && !slices.Contains([]string{"select", "with", "values", "insert", "update", "delete"}, s.explained()) {
		return refuse("EXPLAIN takes a SELECT, WITH, VALUES, INSERT, UPDATE or DELETE.")
	}
	return checkOutside(s)
}

// explained is the verb behind EXPLAIN and its options.
func (s statement) explained() string {
	i := 1
	if s.punct(i, "(") {
		i = s.closing(i) + 1
	}
	for ; i < len(s.tokens); i++ {
		t := s.tokens[i]
		if t.kind == wordToken && !slices.Contains([]string{"analyze", "analyse", "verbose", "query", "plan"}, t.text) {
			return t.text
		}
	}
	return ""
}

// plannable says whether the database can explain the statement.
func (s statement) plannable() bool {
	return slices.Contains([]string{"insert", "update", "delete", "replace", "merge", "with"}, s.verb())
}

// checkWrite says whether execute_sql may pass the statement to the database.
func checkWrite(s statement) error {
	verb := s.verb()
	if slices.Contains(readVerbs, verb) && verb != "with" {
		return refuse("execute_sql changes data; use query_sql for " + strings.ToUpper(verb) + ".")
	}
	if !slices.Contains(writeVerbs, verb) {
		return refuse("execute_sql takes one INSERT, UPDATE, DELETE, REPLACE, MERGE, TRUNCATE, or CREATE, ALTER or DROP of a table, index, view, schema, sequence or type.")
	}
	if verb == "create" || verb == "alter" || verb == "drop" {
		if kind := s.definedKind(); !slices.Contains(definedKinds, kind) {
			return refuse("execute_sql may not " + strings.ToUpper(verb+" "+kind) + ": only tables, indexes, views, schemas, sequences and types.")
		}
	}
	return checkOutside(s)
}

func (s statement) definedKind() string {
	for _, t := range s.tokens[1:] {
		if t.kind != wordToken {
			return ""
		}
		if !slices.Contains(definedModifiers, t.text) {
			return t.text
		}
	}
	return ""
}

func checkOutside(s statement) error {
	for _, call := range s.calls() {
		bare := call[strings.LastIndexByte(call, '.')+1:]
		if slices.Contains(outsideCalls, bare) {
			return refuse("The function " + call + " reaches out of the database and is not accepted.")
		}
	}
	return nil
}

// change is what an INSERT, UPDATE or DELETE of the plain form says of itself.
type change struct {
	statement
	verb    string   // insert, update or delete
	table   string   // as written, with schema and quotes
	alias   string   // how the statement itself calls the table, as written
	columns []string // columns that it assigns, in lower case; nil: unknown or all
	clock   []string // columns of these whose value depends on when it runs
}

// untried is the reason why the effect of a statement cannot be shown beforehand.
type untried string

const (
	notPlain     untried = "Its effect cannot be previewed without doing it: only a single INSERT, UPDATE or DELETE is tried beforehand."
	notReadable  untried = "Its effect cannot be previewed without doing it: the form of the statement is not one that is tried beforehand."
	strangeCalls untried = "Its effect cannot be previewed without doing it: it calls "
)

// planChange reads a statement that may be tried and rolled back; otherwise it says why not.
func planChange(s statement) (change, untried) {
	c := change{statement: s, verb: s.verb()}
	var ok bool
	switch {
	case !slices.Contains([]string{"insert", "update", "delete"}, c.verb):
		return c, notPlain
	case s.find(0, "returning") >= 0:
		return c, "Its effect cannot be previewed without doing it: it has a RETURNING clause."
	case c.verb == "insert":
		ok = c.readInsert()
	case c.verb == "update":
		ok = c.readUpdate()
	default:
		ok = c.readDelete()
	}
	if !ok {
		return c, notReadable
	}
	return c, c.strange()
}

// strange says which functions or casts keep a statement from being tried.
func (c *change) strange() untried {
	for _, call := range c.calls() {
		call = strings.TrimPrefix(call, "pg_catalog.")
		if !slices.Contains(plainCalls, call) && !slices.Contains(clockCalls, call) {
			return strangeCalls + untried(call) + "(), which is not on the list of functions that only compute."
		}
	}
	for _, name := range c.castTypes() {
		if !slices.Contains(plainTypes, name) {
			return "Its effect cannot be previewed without doing it: it casts to the type " + untried(name) + "."
		}
	}
	return ""
}

// readTable reads a table name and its alias at token i and gives the place after them.
func (c *change) readTable(i int) (int, bool) {
	start := i
	if i >= len(c.tokens) || !c.tokens[i].identifier() || c.word(i, "only") {
		return i, false
	}
	for i++; c.punct(i, ".") && i+1 < len(c.tokens) && c.tokens[i+1].identifier(); i += 2 {
	}
	c.table = c.span(start, i)
	c.alias = c.table
	if c.word(i, "as") {
		i++
		if i >= len(c.tokens) || !c.tokens[i].identifier() {
			return i, false
		}
		c.alias = c.span(i, i+1)
		return i + 1, true
	}
	if i < len(c.tokens) && c.tokens[i].identifier() && !slices.Contains(afterTable, c.tokens[i].text) {
		c.alias = c.span(i, i+1)
		i++
	}
	return i, true
}

// afterTable are the keywords that may follow a table in place of an alias.
var afterTable = []string{
	"set", "where", "values", "select", "default", "from", "using", "on", "returning", "overriding", "with", "indexed", "not", "order", "limit",
}

func (c *change) readDelete() bool {
	if !c.word(1, "from") {
		return false
	}
	i, ok := c.readTable(2)
	return ok && (i == len(c.tokens) || c.word(i, "where") || c.word(i, "using"))
}

func (c *change) readUpdate() bool {
	i, ok := c.readTable(1)
	if !ok || !c.word(i, "set") {
		return false
	}
	end := c.find(i+1, "where", "from")
	if end < 0 {
		end = len(c.tokens)
	}
	for _, part := range c.split(i+1, end) {
		if len(part) < 3 || !part[0].identifier() || !part[1].is(punctToken, "=") {
			return false
		}
		c.assign(part[0].text, part[2:])
	}
	return true
}

func (c *change) readInsert() bool {
	if !c.word(1, "into") {
		return false
	}
	i, ok := c.readTable(2)
	if !ok || !c.punct(i, "(") {
		return false
	}
	end := c.closing(i)
	if end < 0 || !c.word(end+1, "values") && !c.word(end+1, "select") || c.has("conflict") {
		return false
	}
	for _, part := range c.split(i+1, end) {
		if len(part) != 1 || !part[0].identifier() {
			return false
		}
		c.columns = append(c.columns, strings.ToLower(part[0].text))
	}
	return c.readValues(end + 1)
}

// readValues finds the inserted columns that depend on the clock.
func (c *change) readValues(i int) bool {
	if !c.word(i, "values") {
		return !slices.ContainsFunc(c.tokens[i:], clockToken)
	}
	for _, row := range c.split(i+1, len(c.tokens)) {
		if len(row) < 2 || !row[0].is(punctToken, "(") {
			return false // also what stands behind the last row
		}
		inner := statement{dialect: c.dialect, text: c.text, tokens: row[1 : len(row)-1]}
		values := inner.split(0, len(inner.tokens))
		if len(values) != len(c.columns) {
			return false
		}
		for n, value := range values {
			c.noteClock(c.columns[n], value)
		}
	}
	return true
}

func (c *change) assign(column string, value []token) {
	column = strings.ToLower(column)
	c.columns = append(c.columns, column)
	c.noteClock(column, value)
}

func (c *change) noteClock(column string, value []token) {
	if slices.ContainsFunc(value, clockToken) && !slices.Contains(c.clock, column) {
		c.clock = append(c.clock, column)
	}
}

// clockToken says whether a token reads the clock. The date functions of SQLite
// do so only for 'now'; a disguised 'now' is not left out of the comparison, so
// that it lapses the approval instead of slipping through.
func clockToken(t token) bool {
	switch t.kind {
	case wordToken:
		return slices.Contains(clockWords, t.text) || t.text == "now" || t.text == "unixepoch" ||
			t.text == "transaction_timestamp" || t.text == "statement_timestamp"
	case stringToken:
		return strings.EqualFold(t.text, "'now'")
	default:
		return false
	}
}

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
		if err := s.checkRights(); err != nil {
			return err
		}
	}
	return checkOutside(s)
}

// checkRights refuses what goes beyond data in a statement about data: a schema may be
// made with grants and triggers in it, a table may be given to another owner.
func (s statement) checkRights() error {
	if s.verb() == "create" && s.definedKind() == "schema" {
		name := s.find(1, "schema") + 1
		if s.word(name, "if") {
			name += 3 // if not exists
		}
		if len(s.tokens) > name+1 {
			return refuse("execute_sql makes a schema and nothing in the same statement: no tables, owners or rights.")
		}
	}
	for i := range s.tokens {
		for _, phrase := range rights {
			if s.verb() == "alter" && s.phrase(i, phrase) && !s.word(i-1, "column") && !s.word(i-1, "rename") {
				return refuse("execute_sql may not ALTER … " + strings.ToUpper(strings.Join(phrase, " ")) + ": it changes data, not rights or code.")
			}
		}
	}
	return nil
}

// phrase says whether the words stand at token i, one after the other.
func (s statement) phrase(i int, words []string) bool {
	for n, word := range words {
		if !s.word(i+n, word) {
			return false
		}
	}
	return true
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
		if outside(lastName(call)) {
			return refuse("The function " + call + " reaches out of the database and is not accepted.")
		}
	}
	return nil
}

func outside(name string) bool {
	return slices.Contains(outsideCalls, name) ||
		slices.ContainsFunc(outsidePrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// change is what an INSERT, UPDATE or DELETE of the plain form says of itself.
type change struct {
	statement
	verb     string       // insert, update or delete
	table    string       // as written, with schema and quotes
	alias    string       // how the statement itself calls the table, as written
	assigned []assignment // columns that it gives values
}

// assignment is a column with the values that a statement gives it: one for each row
// of VALUES, none when they come from a SELECT.
type assignment struct {
	column string // as the dialect compares names
	values [][]token
}

// untried is the reason why the effect of a statement cannot be shown beforehand.
type untried string

const (
	cannot       untried = "Its effect cannot be previewed without doing it: "
	notPlain             = cannot + "only a single INSERT, UPDATE or DELETE is tried beforehand."
	notReadable          = cannot + "the form of the statement is not one that is tried beforehand."
	strangeCalls         = cannot + "it calls "
)

// planChange reads a statement that may be tried and rolled back; otherwise it says why not.
func planChange(s statement) (change, untried) {
	c := change{statement: s, verb: s.verb()}
	var ok bool
	switch {
	case !slices.Contains([]string{"insert", "update", "delete"}, c.verb):
		return c, notPlain
	case s.find(0, "returning") >= 0:
		return c, cannot + "it has a RETURNING clause."
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
			return cannot + "it casts to the type " + untried(name) + "."
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
		c.assign(part[0], part[2:])
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
	var columns []token
	if end < 0 || !c.word(end+1, "values") && !c.word(end+1, "select") || c.has("conflict") {
		return false
	}
	for _, part := range c.split(i+1, end) {
		if len(part) != 1 || !part[0].identifier() {
			return false
		}
		columns = append(columns, part[0])
	}
	return c.readValues(end+1, columns)
}

// readValues takes down what each inserted column is given. What a SELECT makes of the
// clock is not read.
func (c *change) readValues(i int, columns []token) bool {
	if !c.word(i, "values") {
		for _, column := range columns {
			c.assign(column, nil)
		}
		return !statement{dialect: c.dialect, tokens: c.tokens[i:]}.readsClock()
	}
	for _, row := range c.split(i+1, len(c.tokens)) {
		if len(row) < 2 || !row[0].is(punctToken, "(") {
			return false // also what stands behind the last row
		}
		inner := statement{dialect: c.dialect, text: c.text, tokens: row[1 : len(row)-1]}
		values := inner.split(0, len(inner.tokens))
		if len(values) != len(columns) {
			return false
		}
		for n, value := range values {
			c.assign(columns[n], value)
		}
	}
	return true
}

// assign adds a value, if there is one, to those of a column. A column may stand in a
// statement twice: then both values count.
func (c *change) assign(name token, value []token) {
	column := c.dialect.fold(name.text)
	i := slices.IndexFunc(c.assigned, func(a assignment) bool { return a.column == column })
	if i < 0 {
		i, c.assigned = len(c.assigned), append(c.assigned, assignment{column: column})
	}
	if value != nil {
		c.assigned[i].values = append(c.assigned[i].values, value)
	}
}

// valuesOf gives what the statement assigns to a column, and whether it does.
func (c change) valuesOf(column string) ([][]token, bool) {
	i := slices.IndexFunc(c.assigned, func(a assignment) bool { return a.column == c.dialect.fold(column) })
	if i < 0 {
		return nil, false
	}
	return c.assigned[i].values, true
}

package sqldb

import (
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// authorizer watches what SQLite compiles: the engine's own account of a
// statement, which no trick of spelling gets around.
type authorizer struct {
	write   bool
	refused string         // the first thing that was denied, for the message
	calls   map[string]int // functions, in lower case, and how often each is called
	targets []string       // tables that rows are written to
	read    []string       // tables and views that are read
	plain   bool           // nothing but reads and row changes of tables
}

func newAuthorizer(write bool) *authorizer {
	return &authorizer{write: write, plain: true, calls: map[string]int{}}
}

// schemaPragmas only describe.
var schemaPragmas = []string{"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}

// decide answers SQLite's question whether a part of a statement may be compiled.
func (a *authorizer) decide(action sqlite3.AuthorizerActionCode, third, fourth, _, _ string) sqlite3.AuthorizerReturnCode {
	switch action {
	case sqlite3.AUTH_READ:
		if third != "" && !slices.Contains(a.read, third) {
			a.read = append(a.read, third)
		}
		return sqlite3.AUTH_OK
	case sqlite3.AUTH_SELECT, sqlite3.AUTH_RECURSIVE:
		return sqlite3.AUTH_OK
	case sqlite3.AUTH_FUNCTION:
		return a.function(strings.ToLower(fourth))
	case sqlite3.AUTH_PRAGMA:
		if slices.Contains(schemaPragmas, strings.ToLower(third)) {
			return sqlite3.AUTH_OK
		}
		return a.deny("PRAGMA " + third)
	case sqlite3.AUTH_ATTACH, sqlite3.AUTH_DETACH:
		return a.deny("ATTACH and DETACH")
	case sqlite3.AUTH_TRANSACTION, sqlite3.AUTH_SAVEPOINT:
		return a.deny("transaction control")
	case sqlite3.AUTH_INSERT, sqlite3.AUTH_UPDATE, sqlite3.AUTH_DELETE:
		return a.change(third)
	default:
		return a.define(action)
	}
}

func (a *authorizer) function(name string) sqlite3.AuthorizerReturnCode {
	if outside(name) {
		return a.deny("the function " + name)
	}
	if slices.Contains(endlessCalls, name) {
		return a.deny("the function " + name + ", which may take time without end")
	}
	a.calls[name]++
	return sqlite3.AUTH_OK
}

func (a *authorizer) change(table string) sqlite3.AuthorizerReturnCode {
	if !a.write {
		return a.deny("a change of " + table)
	}
	if !slices.Contains(a.targets, table) {
		a.targets = append(a.targets, table)
	}
	return sqlite3.AUTH_OK
}

// define covers tables, indexes and views; triggers and virtual tables are code.
func (a *authorizer) define(action sqlite3.AuthorizerActionCode) sqlite3.AuthorizerReturnCode {
	a.plain = false
	switch action {
	case sqlite3.AUTH_CREATE_INDEX, sqlite3.AUTH_CREATE_TABLE, sqlite3.AUTH_CREATE_VIEW,
		sqlite3.AUTH_DROP_INDEX, sqlite3.AUTH_DROP_TABLE, sqlite3.AUTH_DROP_VIEW,
		sqlite3.AUTH_ALTER_TABLE, sqlite3.AUTH_REINDEX, sqlite3.AUTH_ANALYZE:
		if a.write {
			return sqlite3.AUTH_OK
		}
	}
	return a.deny("a change of the schema beyond tables, indexes and views")
}

func (a *authorizer) deny(what string) sqlite3.AuthorizerReturnCode {
	if a.refused == "" {
		a.refused = what
	}
	return sqlite3.AUTH_DENY
}

// strange says which function keeps a statement from being tried. Those that only make
// keys may stand in defaults; of the statement's own words that is known already.
func (a *authorizer) strange() untried {
	for _, call := range slices.Sorted(maps.Keys(a.calls)) {
		if !slices.Contains(plainCalls, call) && !slices.Contains(clockCalls, call) && !slices.Contains(keyCalls, call) {
			return strangeCalls + untried(call) + "(), which is not on the list of functions that only compute."
		}
	}
	return ""
}

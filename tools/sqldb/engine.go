package sqldb

import (
	"context"
	"strings"
)

// engine is one database, whichever kind. Every method opens its own connection
// and closes it, so that nothing a statement leaves behind (settings, locks,
// temporary tables) reaches another call.
type engine interface {
	// place says which database it is, without credentials.
	place() string
	// read runs one statement that cannot change anything.
	read(ctx context.Context, s statement) (rowSet, error)
	// tables describes what is there.
	tables(ctx context.Context) ([]table, error)
	// try runs a change and rolls it back. A non-empty untried is the reason why it was not run.
	try(ctx context.Context, c change) (effect, untried, error)
	// apply runs a statement in one transaction and commits it.
	apply(ctx context.Context, a application) (applied, error)
	// plan is the database's own account of how it would run the statement; empty when
	// it has none. Nothing is run.
	plan(ctx context.Context, s statement) (string, error)
	// explain turns an error of the database into one that a model can act on.
	explain(err error) error
}

// application is a statement to run for good.
type application struct {
	statement
	change *change // set when the effect was shown beforehand
	// agrees compares the effect with the one that was shown; an error rolls back.
	agrees func(effect) error
}

// applied is what a committed statement did.
type applied struct {
	rows int
}

// cell is one value as the database writes it.
type cell struct {
	text string
	kind string // of value, in SQLite, where it is not the column's alone
	null bool
}

// rowSet is the answer to a query, cut at the limits.
type rowSet struct {
	columns []string
	rows    [][]cell
	more    bool
}

// table is what get_schema tells of one.
type table struct {
	schema  string // empty in SQLite
	name    string
	kind    string // table, view …
	comment string
	columns []column
}

type column struct {
	name       string
	typ        string
	notNull    bool
	key        bool
	references string
	comment    string
	samples    []string
}

func (t table) fullName() string {
	if t.schema == "" || t.schema == "public" {
		return t.name
	}
	return t.schema + "." + t.name
}

func (t table) columnNames() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

// budget counts what an answer may still hold.
type budget struct{ rows, bytes int }

// take accounts for a row and says whether it still fits.
func (b *budget) take(row []cell) bool {
	b.rows--
	for _, c := range row {
		b.bytes -= len(c.text)
	}
	return b.rows >= 0 && b.bytes >= 0
}

package sqldb

import (
	"context"
	"errors"
	"strings"

	"countersign/tools"
)

// Errors of every kind of database, told to the model without addresses or paths.
var (
	errTimeout     = errors.New("the statement took too long and was stopped; narrow it")
	errBusy        = errors.New("the rows are locked by somebody else just now; try again later")
	errUnreachable = errors.New("the database cannot be reached")
	errTooBig      = errors.New("the statement is too deep, or its values are too big for what it does with them; make it simpler, or select fewer columns and rows")
	errUnknown     = errors.New("the connection was lost while the change was being committed; it is not known whether it happened")
)

// errKept refuses a database that no tool may reach. It is looked up on every connection:
// an address may lead elsewhere by now, and names of hosts say little.
var errKept = refuse("This database holds the approvals themselves; no tool may reach it.")

// databaseError is what a database answered.
type databaseError struct {
	code    string // SQLSTATE, empty in SQLite
	message string
	lookup  bool // a name may be wrong: the columns that there are would help
}

func (e *databaseError) Error() string { return e.message }

// failure tells an error that is known not to have changed anything. Others pass through.
func (d *database) failure(ctx context.Context, err error, s statement) error {
	if own, ok := errors.AsType[*tools.Failure](err); ok {
		return own
	}
	err = d.engine.explain(err)
	answer, ok := errors.AsType[*databaseError](err)
	switch {
	case ok:
		return &tools.Failure{Code: "sql_error", Message: answer.message + d.help(ctx, answer, s), Pointer: "/sql"}
	case errors.Is(err, errTimeout), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &tools.Failure{Code: "timeout", Message: sentence(errTimeout)}
	case errors.Is(err, errBusy):
		return &tools.Failure{Code: "busy", Message: sentence(errBusy)}
	case errors.Is(err, errTooBig):
		return &tools.Failure{Code: "too_big", Message: sentence(errTooBig)}
	default:
		return &tools.Failure{Code: "unavailable", Message: "The database " + d.Name + " cannot be reached."}
	}
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// help names the tables and columns that there are, after an error about one that is not.
func (d *database) help(ctx context.Context, answer *databaseError, s statement) string {
	if !answer.lookup {
		return ""
	}
	all, err := d.engine.tables(ctx)
	if err != nil {
		return ""
	}
	var named, names []string
	for _, t := range all {
		names = append(names, t.fullName())
		if s.mentions(t.name) {
			named = append(named, "Columns of "+t.fullName()+": "+t.columnNames()+".")
		}
	}
	if len(named) == 0 {
		named = []string{"Tables: " + strings.Join(names, ", ") + "."}
	}
	return ". " + cut(strings.Join(named, " "), cellRunes)
}

// mentions says whether a name stands in the statement.
func (s statement) mentions(name string) bool {
	for _, t := range s.tokens {
		if t.identifier() && strings.EqualFold(t.text, name) {
			return true
		}
	}
	return false
}

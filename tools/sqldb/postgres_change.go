package sqldb

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// commitTimeout is how long the answer to a COMMIT is waited for. It does not end
// with the call's own time: an answer that comes late is better than not knowing.
const commitTimeout = 10 * time.Second

// try runs a change behind a savepoint of a transaction that is never committed.
func (e postgresEngine) try(ctx context.Context, ch change) (effect, untried, error) {
	if why, err := e.foresee(ctx, ch); err != nil || why != "" {
		return effect{}, why, err
	}
	c, err := e.begin(ctx, readWrite)
	if err != nil {
		return effect{}, "", err
	}
	defer c.abandon()
	return c.trial(ctx, ch, e.limits.Changes)
}

// foresee inspects a change without running it, in a transaction that cannot write.
func (e postgresEngine) foresee(ctx context.Context, ch change) (untried, error) {
	c, err := e.begin(ctx, readOnly)
	if err != nil {
		return "", err
	}
	defer c.abandon()
	if why, err := c.inspectTable(ctx, ch); err != nil || why != "" {
		return why, err
	}
	return c.inspectPlan(ctx, ch)
}

// trial runs the change, rolls back to before it, and reads what its rows were:
// the snapshot is one and the same.
func (c pgConn) trial(ctx context.Context, ch change, limit int) (effect, untried, error) {
	e, why, err := c.target(ctx, ch)
	if err != nil || why != "" {
		return effect{}, why, err
	}
	if _, err := c.rows(ctx, "SAVEPOINT trial"); err != nil {
		return effect{}, "", err
	}
	if err := c.run(ctx, ch, &e, limit); err != nil {
		return effect{}, "", err
	}
	if _, err := c.rows(ctx, "ROLLBACK TO SAVEPOINT trial"); err != nil {
		return effect{}, "", err
	}
	if ch.verb != "update" || !e.complete() {
		return e, "", nil
	}
	if err := c.addBefore(ctx, ch, &e); err != nil {
		return effect{}, "", err
	}
	if slices.ContainsFunc(e.rows, func(r rowChange) bool { return r.before == nil }) {
		return effect{}, cannot + "it changes the key of a row.", nil
	}
	return e, "", nil
}

// run executes the change and takes down the rows that it returns.
func (c pgConn) run(ctx context.Context, ch change, e *effect, limit int) error {
	list := make([]string, len(e.columns))
	for i, name := range e.columns {
		list[i] = ch.alias + "." + quoteName(name)
	}
	r := c.ExecParams(ctx, ch.text+"\nRETURNING "+strings.Join(list, ", "), nil, nil, nil, nil)
	for r.NextRow() {
		row := rowChange{after: pgCells(r.Values())}
		if ch.verb == "delete" {
			row.before, row.after = row.after, nil
		}
		e.add(row, limit)
	}
	if _, err := r.Close(); err != nil {
		return err
	}
	_, err := c.rows(ctx, "SET CONSTRAINTS ALL IMMEDIATE")
	return err
}

// addBefore finds each row as it was, by its key.
func (c pgConn) addBefore(ctx context.Context, ch change, e *effect) error {
	for from := 0; from < len(e.rows); from += pgFetch {
		part := e.rows[from:min(from+pgFetch, len(e.rows))]
		if err := c.addPart(ctx, ch, e, part); err != nil {
			return err
		}
	}
	return nil
}

func (c pgConn) addPart(ctx context.Context, ch change, e *effect, part []rowChange) error {
	var args, tuples, keys []string
	for _, k := range e.keys {
		keys = append(keys, quoteName(e.columns[k]))
	}
	for _, r := range part {
		var places []string
		for _, k := range e.keys {
			args = append(args, r.after[k].text)
			places = append(places, "$"+strconv.Itoa(len(args)))
		}
		tuples = append(tuples, "("+strings.Join(places, ", ")+")")
	}
	list := make([]string, len(e.columns))
	for i, name := range e.columns {
		list[i] = quoteName(name)
	}
	rows, err := c.rows(ctx, "SELECT "+strings.Join(list, ", ")+" FROM "+ch.table+
		" WHERE ("+strings.Join(keys, ", ")+") IN ("+strings.Join(tuples, ", ")+")", args...)
	for _, before := range rows {
		i := slices.IndexFunc(part, func(r rowChange) bool { return e.sameKey(r.after, before) })
		if i >= 0 {
			part[i].before = before
		}
	}
	return err
}

func (e effect) sameKey(a, b []cell) bool {
	return !slices.ContainsFunc(e.keys, func(k int) bool { return a[k] != b[k] })
}

// apply runs a statement for good.
func (e postgresEngine) apply(ctx context.Context, a application) (applied, error) {
	if a.change != nil {
		if why, err := e.foresee(ctx, *a.change); err != nil || why != "" {
			return applied{}, lapsed(why, err)
		}
	}
	c, err := e.begin(ctx, readWrite)
	if err != nil {
		return applied{}, err
	}
	defer c.abandon()
	done, err := c.applyOpen(ctx, a, e.limits.Changes)
	if err != nil {
		return applied{}, err
	}
	if err := ctx.Err(); err != nil {
		return applied{}, err
	}
	return done, c.commit(ctx)
}

// lapsed turns a reason not to try into a refusal to go on.
func lapsed(why untried, err error) error {
	if err != nil {
		return err
	}
	return changed("The effect could be shown before and cannot now. " + string(why))
}

// applyOpen runs in the open transaction. A change that was shown runs twice: once to
// be compared, rows before included, and once for good.
func (c pgConn) applyOpen(ctx context.Context, a application, limit int) (applied, error) {
	if a.change == nil {
		if a.plannable() {
			if _, err := c.visitPlan(ctx, a.statement); err != nil {
				return applied{}, err
			}
		}
		r := c.ExecParams(ctx, a.text, nil, nil, nil, nil)
		tag, err := r.Close()
		return applied{rows: int(tag.RowsAffected())}, err
	}
	tried, why, err := c.trial(ctx, *a.change, limit)
	if err != nil || why != "" {
		return applied{}, lapsed(why, err)
	}
	if err := a.agrees(tried); err != nil {
		return applied{}, err
	}
	final := tried
	final.rows, final.count, final.bytes = nil, 0, 0
	if err := c.run(ctx, *a.change, &final, limit); err != nil {
		return applied{}, err
	}
	after := func(r rowChange) []cell { return r.after }
	if final.count != tried.count || final.digest(after) != tried.digest(after) {
		return applied{}, changed("The statement did not do the same twice; nothing was changed.")
	}
	return applied{rows: final.count}, nil
}

// commit sends COMMIT. An answer of the server that it failed is known; no answer is not.
func (c pgConn) commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	r := c.ExecParams(ctx, "COMMIT", nil, nil, nil, nil)
	tag, err := r.Close()
	if _, answered := errors.AsType[*pgconn.PgError](err); answered {
		return err
	}
	if err != nil {
		return errors.Join(errUnknown, err)
	}
	if tag.String() != "COMMIT" {
		return changed("The database rolled the change back.")
	}
	return nil
}

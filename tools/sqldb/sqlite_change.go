package sqldb

import (
	"context"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// try runs a change inside a transaction that is always rolled back.
func (e sqliteEngine) try(ctx context.Context, ch change) (effect, untried, error) {
	conn, err := e.begin(ctx, ch.statement)
	if err != nil {
		return effect{}, "", err
	}
	defer conn.abandon()
	done, err := guarded(func() (trial, error) { return conn.run(ch, e.limits.Changes) })
	return done.effect, done.why, err
}

// trial is what running a change showed, or why it was not run.
type trial struct {
	effect
	why untried
}

// begin opens a connection for writing and takes the write lock. The statement has
// been compiled once before: should the engine break down over it, it holds no lock, which
// it could not give back then.
func (e sqliteEngine) begin(ctx context.Context, s statement) (*sqliteConn, error) {
	c, err := e.open(ctx, true)
	if err != nil {
		return nil, err
	}
	_, err = guarded(func() (*sqlite3.Stmt, error) {
		stmt, err := c.compile(s, newAuthorizer(true))
		closeStmt(stmt)
		return nil, err
	})
	if err == nil {
		err = errors.Join(c.SetAuthorizer(nil), c.Exec("BEGIN IMMEDIATE"))
	}
	if err != nil {
		c.abandon()
		return nil, err
	}
	return c, nil
}

// abandon rolls back what is not committed and closes, also when time is over.
func (c *sqliteConn) abandon() {
	_, _ = guarded(func() (any, error) {
		c.SetInterrupt(context.Background())
		_ = c.SetAuthorizer(nil)
		if !c.GetAutocommit() {
			_ = c.Exec("ROLLBACK")
		}
		return nil, c.Close()
	})
}

// run executes a change in the open transaction and reports every row of it.
func (c *sqliteConn) run(ch change, limit int) (trial, error) {
	watch := newAuthorizer(true)
	stmt, err := c.compile(ch.statement, watch)
	if err != nil {
		return trial{}, err
	}
	defer stmt.Close()
	if why := watch.strange(); why != "" {
		return trial{why: why}, nil
	}
	if !watch.plain || len(watch.targets) != 1 {
		return trial{why: cannot + "it changes more than one table."}, nil
	}
	e, why, err := c.target(ch, watch.targets[0])
	if err != nil || why != "" {
		return trial{why: why}, err
	}
	e, why, err = c.record(stmt, e, limit)
	return trial{effect: e, why: why}, err
}

// record steps through the statement and collects every row as the engine changes it.
func (c *sqliteConn) record(stmt *sqlite3.Stmt, e effect, limit int) (effect, untried, error) {
	rec := recorder{effect: e, limit: limit}
	c.PreUpdateHook(rec.note)
	defer c.PreUpdateHook(nil)
	if err := stmt.Exec(); err != nil {
		return effect{}, "", err
	}
	switch {
	case rec.err != nil:
		return effect{}, "", rec.err
	case rec.elsewhere:
		return effect{}, cannot + "it changes other rows than it names.", nil
	}
	return rec.effect, "", nil
}

// recorder takes down the rows that a statement changes.
type recorder struct {
	effect
	limit     int
	elsewhere bool // rows changed by a cascade, a trigger or a replacement
	err       error
}

func (r *recorder) note(p sqlite3.PreUpdateData) {
	if p.Depth() > 0 || !strings.EqualFold(p.Table, r.table) || p.Op != opOf(r.verb) {
		r.elsewhere = true
		return
	}
	var row rowChange
	if r.verb != "insert" {
		row.before = r.cells(p.Old)
	}
	if r.verb != "delete" {
		row.after = r.cells(p.New)
	}
	r.add(row, r.limit)
}

func opOf(verb string) sqlite3.AuthorizerActionCode {
	switch verb {
	case "insert":
		return sqlite3.AUTH_INSERT
	case "delete":
		return sqlite3.AUTH_DELETE
	default:
		return sqlite3.AUTH_UPDATE
	}
}

func (r *recorder) cells(value func(int) (sqlite3.Value, error)) []cell {
	row := make([]cell, len(r.columns))
	for i := range row {
		v, err := value(i)
		if err != nil {
			r.err = err
			return row
		}
		row[i] = sqliteCell(v)
	}
	return row
}

// target describes the table of a change, or says why a change of it is not tried.
func (c *sqliteConn) target(ch change, name string) (effect, untried, error) {
	if why, err := c.reactions(ch.verb, name); err != nil || why != "" {
		return effect{}, why, err
	}
	rows, err := c.rows(`SELECT name, pk, hidden, dflt_value, upper(type) = 'INTEGER' AND pk > 0
		AND 1 = (SELECT count(*) FROM pragma_table_xinfo(?1) WHERE pk > 0) FROM pragma_table_xinfo(?1) ORDER BY cid`, name)
	if err != nil {
		return effect{}, "", err
	}
	var columns []tableColumn
	for _, r := range rows {
		if r[2].text != "0" {
			return effect{}, cannot + untried(name) + " has computed columns.", nil
		}
		columns = append(columns, tableColumn{name: r[0].text, key: r[1].text != "0", otherwise: r[3].text, numbered: r[4].text == "1"})
	}
	e, why := ch.effectOn(name, columns)
	return e, why, nil
}

// reactions says what else a change of the table would set off.
func (c *sqliteConn) reactions(verb, name string) (untried, error) {
	rows, err := c.rows(`SELECT
		(SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND name = ?1 COLLATE NOCASE AND type = 'table'),
		(SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE),
		(SELECT count(*) FROM sqlite_schema m, pragma_foreign_key_list(m.name) f
		  WHERE m.type = 'table' AND f."table" = ?1 COLLATE NOCASE
		  AND CASE ?2 WHEN 'delete' THEN f.on_delete WHEN 'update' THEN f.on_update ELSE 'NO ACTION' END NOT IN ('NO ACTION', 'RESTRICT'))`, name, verb)
	switch {
	case err != nil:
		return "", err
	case rows[0][0].text != "1":
		return cannot + untried(name) + " is not an ordinary table.", nil
	case rows[0][1].text != "0":
		return cannot + untried(name) + " has triggers.", nil
	case rows[0][2].text != "0":
		return cannot + "it would change rows of other tables that refer to " + untried(name) + ".", nil
	}
	return "", nil
}

// apply runs a statement for good.
func (e sqliteEngine) apply(ctx context.Context, a application) (applied, error) {
	conn, err := e.begin(ctx, a.statement)
	if err != nil {
		return applied{}, err
	}
	defer conn.abandon()
	done, err := guarded(func() (applied, error) { return conn.applyOpen(a, e.limits.Changes) })
	if err != nil {
		return applied{}, err
	}
	if err := ctx.Err(); err != nil {
		return applied{}, err
	}
	return done, conn.commit()
}

func (c *sqliteConn) applyOpen(a application, limit int) (applied, error) {
	if a.change == nil {
		stmt, err := c.compile(a.statement, newAuthorizer(true))
		if err != nil {
			return applied{}, err
		}
		defer stmt.Close()
		before := c.TotalChanges()
		err = stmt.Exec()
		return applied{rows: int(c.TotalChanges() - before)}, err
	}
	done, err := c.run(*a.change, limit)
	if err != nil {
		return applied{}, err
	}
	if done.why != "" {
		return applied{}, changed("The effect could be shown before and cannot now. " + string(done.why))
	}
	return applied{rows: done.count}, a.agrees(done.effect)
}

// commit ends the transaction. When SQLite still has it open afterwards, nothing happened.
func (c *sqliteConn) commit() error {
	c.SetInterrupt(context.Background())
	err := c.SetAuthorizer(nil)
	if err == nil {
		err = c.Exec("COMMIT")
	}
	if err == nil || !c.GetAutocommit() {
		return err
	}
	return errors.Join(errUnknown, err)
}

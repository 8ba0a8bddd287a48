package sqldb

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// pgTarget describes the table of a change: what it is, and what a change sets off.
const pgTarget = `SELECT n.nspname || '.' || c.relname, c.relkind::text,
	(SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D'),
	(SELECT count(*) FROM pg_rewrite w WHERE w.ev_class = c.oid),
	(SELECT count(*) FROM pg_inherits i WHERE i.inhparent = c.oid),
	(SELECT count(*) FROM pg_constraint k WHERE k.confrelid = c.oid AND k.contype = 'f'
	  AND CASE $2 WHEN 'delete' THEN k.confdeltype WHEN 'update' THEN k.confupdtype ELSE 'a' END NOT IN ('a', 'r')),
	(SELECT count(*) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'x'),
	(SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> ''),
	(SELECT count(*) FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode WHERE p.oid >= 16384 AND p.provolatile = 'v'),
	(SELECT count(*) FROM pg_cast k JOIN pg_proc p ON p.oid = k.castfunc WHERE p.oid >= 16384 AND p.provolatile = 'v')
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)`

// pgExpressions are the expressions that a change of the table evaluates beside its own.
const pgExpressions = `WITH target AS (SELECT to_regclass($1)::oid AS oid)
	SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d, target WHERE d.adrelid = target.oid
	UNION ALL SELECT pg_get_expr(k.conbin, k.conrelid) FROM pg_constraint k, target WHERE k.conrelid = target.oid AND k.conbin IS NOT NULL
	UNION ALL SELECT pg_get_expr(k.conbin, 0) FROM pg_constraint k, pg_attribute a, target WHERE a.attrelid = target.oid AND k.contypid = a.atttypid AND a.attnum > 0
	UNION ALL SELECT pg_get_expr(i.indexprs, i.indrelid) FROM pg_index i, target WHERE i.indrelid = target.oid AND i.indexprs IS NOT NULL
	UNION ALL SELECT pg_get_expr(i.indpred, i.indrelid) FROM pg_index i, target WHERE i.indrelid = target.oid AND i.indpred IS NOT NULL
	UNION ALL SELECT pg_get_expr(p.polwithcheck, p.polrelid) FROM pg_policy p, target WHERE p.polrelid = target.oid AND p.polwithcheck IS NOT NULL
	UNION ALL SELECT pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p, target WHERE p.polrelid = target.oid AND p.polqual IS NOT NULL`

// inspectTable says why a change of its table is not tried.
func (c pgConn) inspectTable(ctx context.Context, ch change) (untried, error) {
	rows, err := c.rows(ctx, pgTarget, ch.table, ch.verb)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", c.missing(ctx, ch)
	}
	r := rows[0]
	name := untried(r[0].text)
	for i, why := range []untried{
		"", "", name + " has triggers.", name + " has rules.", name + " has partitions or child tables.",
		"it would change rows of other tables that refer to " + name + ".", name + " has an exclusion constraint.",
		name + " has computed columns.", "the database has operators of its own with effects.", "the database has casts of its own with effects.",
	} {
		if i >= 2 && r[i].text != "0" {
			return cannot + why, nil
		}
	}
	if r[1].text != "r" {
		return cannot + name + " is not an ordinary table.", nil
	}
	return c.inspectExpressions(ctx, ch)
}

// missing lets the server itself say what is wrong with the table's name.
func (c pgConn) missing(ctx context.Context, ch change) error {
	_, err := c.rows(ctx, "EXPLAIN "+ch.text)
	if err == nil {
		return refuse("The table " + ch.table + " cannot be found.")
	}
	return err
}

func (c pgConn) inspectExpressions(ctx context.Context, ch change) (untried, error) {
	rows, err := c.rows(ctx, pgExpressions, ch.table)
	if err != nil {
		return "", err
	}
	allowed := slices.Concat(plainCalls, clockCalls, defaultCalls)
	names := ch.callable()
	for _, r := range rows {
		found, why := strangeIn(r[0].text, allowed)
		if why != "" {
			return why, nil
		}
		names = append(names, found...)
	}
	return c.inspectNames(ctx, names)
}

// strangeIn reads an expression that the server wrote.
func strangeIn(text string, allowed []string) (calls []string, why untried) {
	tokens, err := lex(postgresDialect, text)
	if err != nil {
		return nil, notReadable
	}
	s := statement{dialect: postgresDialect, text: text, tokens: tokens}
	for _, call := range s.calls() {
		if !slices.Contains(allowed, strings.TrimPrefix(call, "pg_catalog.")) {
			return nil, strangeCalls + untried(call) + "(), through the table or the plan, which is not on the list of functions that only compute."
		}
	}
	return s.callable(), ""
}

// inspectNames makes sure that a listed name is the server's own function and no
// namesake. Oids from 16384 on are not the server's own.
func (c pgConn) inspectNames(ctx context.Context, names []string) (untried, error) {
	rows, err := c.rows(ctx, `SELECT p.proname FROM pg_catalog.pg_proc p WHERE p.proname = ANY($1::name[])
		AND p.oid >= 16384 AND (p.provolatile <> 'i' OR p.prokind <> 'f') LIMIT 1`, pgArray(names))
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return strangeCalls + untried(rows[0][0].text) + "(), which this database defines in its own way.", nil
}

// plainNodes are plan nodes that compute from ordinary tables.
var plainNodes = []string{
	"ModifyTable", "Result", "Append", "MergeAppend", "Seq Scan", "Sample Scan", "Index Scan", "Index Only Scan", "Bitmap Index Scan",
	"Bitmap Heap Scan", "BitmapAnd", "BitmapOr", "Tid Scan", "Tid Range Scan", "Subquery Scan", "Values Scan", "Nested Loop", "Merge Join",
	"Hash Join", "Hash", "Materialize", "Memoize", "Sort", "Incremental Sort", "Group", "Aggregate", "WindowAgg", "Unique", "SetOp", "Limit",
}

// plainKeys of a plan hold no expressions.
var plainKeys = []string{
	"Node Type", "Operation", "Parent Relationship", "Subplan Name", "Relation Name", "Schema", "Alias", "Index Name", "Strategy",
	"Partial Mode", "Join Type", "Scan Direction", "Command",
}

// inspectPlan reads the server's plan of the change: foreign tables, functions in
// FROM, and what views and policies bring in show there.
func (c pgConn) inspectPlan(ctx context.Context, ch change) (untried, error) {
	v, err := c.visitPlan(ctx, ch.statement)
	if err != nil {
		return "", err
	}
	if v.why == "" && v.writes != 1 {
		v.why = cannot + "it changes more than one table."
	}
	if v.why != "" {
		return v.why, nil
	}
	return c.inspectNames(ctx, v.calls)
}

// visitPlan reads the server's plan of a statement. A change of the server's own tables
// is refused: rights and code are rows there.
func (c pgConn) visitPlan(ctx context.Context, s statement) (planVisitor, error) {
	rows, err := c.rows(ctx, "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) "+s.text)
	if err != nil {
		return planVisitor{}, err
	}
	var plans []map[string]any
	if len(rows) != 1 || json.Unmarshal([]byte(rows[0][0].text), &plans) != nil {
		return planVisitor{why: notReadable}, nil
	}
	v := planVisitor{}
	for _, p := range plans {
		v.node(p)
	}
	if v.system != "" {
		return v, refuse("execute_sql may not change " + v.system + ", a table of the server itself.")
	}
	return v, nil
}

// planVisitor walks a plan.
type planVisitor struct {
	why    untried
	writes int
	system string // a table of the server itself that would be changed
	calls  []string
}

func (v *planVisitor) node(fields map[string]any) {
	if kind, ok := fields["Node Type"].(string); ok {
		if !slices.Contains(plainNodes, kind) {
			v.why = cannot + "it needs a " + untried(kind) + "."
		}
		if kind == "ModifyTable" {
			v.writes++
			v.noteSystem(fields)
		}
		if _, found := fields["Conflict Resolution"]; found {
			v.why = notReadable
		}
	}
	for key, value := range fields {
		if !slices.Contains(plainKeys, key) {
			v.value(value)
		}
	}
}

// noteSystem looks at the table that a node changes.
func (v *planVisitor) noteSystem(fields map[string]any) {
	if schema, _ := fields["Schema"].(string); slices.Contains(systemSchemas, schema) {
		v.system, _ = fields["Relation Name"].(string)
	}
}

func (v *planVisitor) value(value any) {
	switch value := value.(type) {
	case map[string]any:
		v.node(value)
	case []any:
		for _, item := range value {
			v.value(item)
		}
	case string:
		found, why := strangeIn(value, slices.Concat(plainCalls, clockCalls, defaultCalls))
		if why != "" {
			v.why = why
		}
		v.calls = append(v.calls, found...)
	}
}

// target lists the columns of the table of a change.
func (c pgConn) target(ctx context.Context, ch change) (effect, untried, error) {
	rows, err := c.rows(ctx, `SELECT n.nspname || '.' || c.relname, a.attname,
		EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY(i.indkey)),
		a.attidentity <> '', coalesce(pg_get_expr(d.adbin, d.adrelid), pg_get_expr(t.typdefaultbin, 0), '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.oid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, ch.table)
	if err != nil {
		return effect{}, "", err
	}
	var table string
	var columns []tableColumn
	for _, r := range rows {
		table = strings.TrimPrefix(r[0].text, "public.")
		columns = append(columns, tableColumn{name: r[1].text, key: r[2].text == "t", numbered: r[3].text == "t", otherwise: r[4].text})
	}
	e, why := ch.effectOn(table, columns)
	switch {
	case why != "" || ch.verb != "update":
		return e, why, nil
	case len(e.keys) == 0:
		return e, cannot + untried(e.table) + " has no primary key.", nil
	case slices.ContainsFunc(e.keys, func(k int) bool { _, sets := ch.valuesOf(e.columns[k]); return sets }):
		return e, cannot + "it changes the key of a row.", nil
	}
	return e, "", nil
}

package sqldb

import (
	"strconv"
	"strings"

	"countersign/tools"
)

// rowsPerUnit is how many rows SQLite looks at for the cost that Postgres' planner gives
// to a hundred of its own (cpu_tuple_cost is a hundredth), so that one limit suits both.
const rowsPerUnit = 100

// mostCounted is where counting the rows of a table without row ids ends.
const mostCounted = 1_000_000

// planStep is one line of SQLite's account of a query.
type planStep struct{ id, parent, what string }

// checkCost refuses queries that look at too many rows, as far as the planner's account
// tells: whole tables that are read, times each other where one is read for each row of
// another. What it does not tell (a recursion, an index that finds much) is left to the
// time limit.
func (c *sqliteConn) checkCost(s statement, read []string, limit float64) error {
	if limit <= 0 || s.verb() == "explain" || s.verb() == "pragma" {
		return nil
	}
	rows, err := c.rows("EXPLAIN QUERY PLAN " + s.text)
	if err != nil {
		return err
	}
	p := sqlitePlan{sizes: map[string]float64{}}
	for _, name := range read {
		if p.sizes[name], err = c.size(name); err != nil {
			return err
		}
		p.largest = max(p.largest, p.sizes[name])
	}
	for _, r := range rows {
		p.steps = append(p.steps, planStep{r[0].text, r[1].text, r[3].text})
	}
	if cost := p.looksAt("0") / rowsPerUnit; cost > limit {
		return tooExpensive(cost, limit)
	}
	return nil
}

func tooExpensive(cost, limit float64) error {
	return &tools.Failure{Code: "too_expensive", Pointer: "/sql", Message: "The database expects this query to cost " +
		strconv.FormatFloat(cost, 'f', 0, 64) + ", more than the limit of " + strconv.FormatFloat(limit, 'f', 0, 64) + "; narrow it."}
}

// size is about how many rows a table has. A row id is never smaller than their number
// unless somebody chose it so.
func (c *sqliteConn) size(name string) (float64, error) {
	rows, err := c.rows("SELECT max(rowid) FROM " + quoteName(name))
	if err != nil {
		rows, err = c.rows("SELECT count(*) FROM (SELECT 1 FROM " + quoteName(name) + " LIMIT " + strconv.Itoa(mostCounted) + ")")
	}
	if err != nil || len(rows) == 0 || rows[0][0].null {
		return 0, err
	}
	return strconv.ParseFloat(rows[0][0].text, 64)
}

// sqlitePlan is an account with the sizes of the tables that are read.
type sqlitePlan struct {
	steps   []planStep
	sizes   map[string]float64
	largest float64
}

// looksAt is how many rows the steps under a parent look at: scans beside each other are
// loops within each other.
func (p sqlitePlan) looksAt(parent string) float64 {
	loops, total := 1.0, 0.0
	for _, s := range p.steps {
		if s.parent == parent && strings.HasPrefix(s.what, "SCAN ") {
			loops *= max(1, p.scanned(s.what))
		}
	}
	for _, s := range p.steps {
		if s.parent != parent || s.id == parent {
			continue
		}
		below := p.looksAt(s.id)
		if strings.HasPrefix(s.what, "CORRELATED") {
			below *= loops
		}
		total += below
	}
	return loops + total
}

// scanned is the size of the table of a scan. Where the query gave it another name, it
// may be any of those that are read.
func (p sqlitePlan) scanned(what string) float64 {
	fields := strings.Fields(what)
	if size, ok := p.sizes[fields[1]]; ok {
		return size
	}
	if fields[1] == "CONSTANT" {
		return 1
	}
	return p.largest
}

package sqldb

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"
	"strings"

	"countersign/tools"
)

// effect is what a change did, or would do, to the rows of one table.
type effect struct {
	verb    string // insert, update or delete
	table   string // full name, for people
	columns []string
	keys    []int // places of the key columns
	afresh  []int // places of the columns whose new value nobody can know beforehand
	rows    []rowChange
	count   int // rows in all; more than len(rows) when a cap was reached
	bytes   int // of the values of rows
}

// tableColumn is a column of the table of a change.
type tableColumn struct {
	name      string
	key       bool
	numbered  bool   // the database numbers rows by it
	otherwise string // its default, as the database writes it
}

// effectOn is the effect of a change on a table, still without rows. A name that is none
// of its columns would change something that is not compared: a row's number in SQLite.
func (c change) effectOn(table string, columns []tableColumn) (effect, untried) {
	e := effect{verb: c.verb, table: table}
	for i, col := range columns {
		e.columns = append(e.columns, col.name)
		if col.key {
			e.keys = append(e.keys, i)
		}
		if c.madeAfresh(col) {
			e.afresh = append(e.afresh, i)
		}
	}
	for _, a := range c.assigned {
		if !slices.ContainsFunc(e.columns, func(name string) bool { return c.dialect.fold(name) == a.column }) {
			return e, cannot + untried(a.column) + " is no column of " + untried(table) + "."
		}
	}
	return e, ""
}

// heldBytes is how much of the values of changed rows is held for comparison.
const heldBytes = 8 << 20

// add takes down one more row, unless there are too many or they are too big.
func (e *effect) add(r rowChange, limit int) {
	e.count++
	for _, c := range slices.Concat(r.before, r.after) {
		e.bytes += len(c.text)
	}
	if e.count <= limit && e.bytes <= heldBytes {
		e.rows = append(e.rows, r)
	}
}

// rowChange is one row; before is nil for an insert, after for a delete.
type rowChange struct{ before, after []cell }

// complete says whether every row is held, so that the effect can be compared.
func (e effect) complete() bool { return e.count == len(e.rows) }

// material is what must be the same when the statement runs for good.
func (e effect) material(sql string) map[string]string {
	return map[string]string{
		"statement": hexOf(sha256.Sum256([]byte(sql))),
		"table":     e.table,
		"count":     strconv.Itoa(e.count),
		"before":    e.digest(func(r rowChange) []cell { return r.before }),
		"after":     e.digest(func(r rowChange) []cell { return r.after }),
	}
}

// digest is over the rows in any order, as the database may give them in another one.
// Of the rows as they were nothing is left out.
func (e effect) digest(side func(rowChange) []cell) string {
	sums := make([]string, 0, len(e.rows))
	for _, r := range e.rows {
		sums = append(sums, e.rowDigest(side(r), r.after))
	}
	slices.Sort(sums)
	return hexOf(sha256.Sum256([]byte(strings.Join(sums, "\n"))))
}

func (e effect) rowDigest(row, after []cell) string {
	h := sha256.New()
	for i, c := range row {
		if !e.unknown(i, row, after) {
			writePart(h, e.columns[i])
			writePart(h, strconv.FormatBool(c.null))
			writePart(h, c.kind)
			writePart(h, c.text)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// unknown says whether column i of a row is made when the statement runs, so that it is
// neither compared nor shown as if it were fixed.
func (e effect) unknown(i int, row, after []cell) bool {
	return after != nil && &row[0] == &after[0] && slices.Contains(e.afresh, i)
}

func writePart(h hash.Hash, text string) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(text)))
	h.Write(size[:])
	h.Write([]byte(text))
}

func hexOf(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }

// agreement compares what runs with what the approvers were shown.
func agreement(sql string, shown tools.Preview) func(effect) error {
	return func(e effect) error {
		now := e.material(sql)
		switch {
		case now["count"] != shown.Material["count"]:
			return changed(rowsOf(shown.Material["count"]) + " when shown, " + grouped(e.count) + " now; nothing was changed.")
		case now["before"] != shown.Material["before"]:
			return changed("The rows are not what they were when they were shown; nothing was changed.")
		case now["after"] != shown.Material["after"]:
			return changed("The rows would not become what was shown; nothing was changed.")
		case now["statement"] != shown.Material["statement"], now["table"] != shown.Material["table"]:
			return changed("This is not the statement that was shown; nothing was changed.")
		}
		return nil
	}
}

func changed(message string) *tools.Failure {
	return &tools.Failure{Code: "changed", Message: message}
}

// rowsOf writes a stored count as "3 rows".
func rowsOf(count string) string {
	n, err := strconv.Atoi(count)
	if err != nil {
		return "an unknown number of rows"
	}
	return plural(n)
}

func plural(n int) string {
	if n == 1 {
		return "1 row"
	}
	return grouped(n) + " rows"
}

// grouped writes 3000 as 3,000.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func pastTense(verb string) string {
	switch verb {
	case "insert":
		return "inserted"
	case "delete":
		return "deleted"
	default:
		return "updated"
	}
}

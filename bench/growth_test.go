package bench

import (
	"fmt"
	"strings"
	"testing"
)

// Row B22: what is kept of a run grows by the same for each step, however many there were.
func TestBytesGrowWithTheSteps(t *testing.T) {
	t.Parallel()
	e := open(t, Config{Database: databases()["sqlite"](t), Hands: Hands{Effects: &effects{}}})
	size := func(n int) int {
		name := fmt.Sprint("run of ", n)
		must(t, Outcome{Done, fmt.Sprintf("done after %d", n)})(e.Start(t.Context(), name, fmt.Sprintf("calls append_note %d", n)))
		r, err := e.find(t.Context(), name)
		if err != nil || r == nil {
			t.Fatal(r, err)
		}
		return kept(t, e, r.ID)
	}
	small, middle, large := size(50), size(100), size(200)
	each := (middle - small) / 50
	t.Logf("%d, %d and %d bytes: %d a step", small, middle, large, each)
	if each < 100 {
		t.Errorf("a step keeps %d bytes: not all of it was counted", each)
	}
	if line := middle + 100*each; large > line*102/100 || large < line*98/100 {
		t.Errorf("200 steps keep %d bytes, on the line of 50 and 100 would be %d", large, line)
	}
}

// kept is how many characters all tables have of a run.
func kept(t *testing.T, e *Engine, run string) (n int) {
	t.Helper()
	var sums []string
	var args []any
	for table, key := range map[string]string{"runs": "id", "turns": "run", "steps": "run", "inbox": "run", "approvals": "run", "audit_entries": "run"} {
		sums, args = append(sums, "(SELECT COALESCE(SUM("+lengths(t, e, table)+"), 0) FROM "+table+" WHERE "+key+" = ?)"), append(args, run)
	}
	sums, args = append(sums, "(SELECT COALESCE(SUM("+lengths(t, e, "deliveries")+"), 0) FROM deliveries WHERE subject LIKE ?)"), append(args, "run/"+run+"/%")
	if err := e.store.Writer().QueryRowContext(t.Context(), "SELECT "+strings.Join(sums, " + "), args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// lengths adds up the lengths of all columns of a table.
func lengths(t *testing.T, e *Engine, table string) (sum string) {
	t.Helper()
	const columns = "SELECT group_concat('length(' || name || ')', ' + ') FROM pragma_table_info(?)"
	if err := e.store.Writer().QueryRowContext(t.Context(), columns, table).Scan(&sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

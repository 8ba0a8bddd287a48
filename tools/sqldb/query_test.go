package sqldb_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		got, err := p.query(t, "SELECT name, balance FROM customers WHERE id < 3 ORDER BY id; -- done")
		if err != nil {
			t.Fatal(err)
		}
		want := tools.Result{
			Text:    "name | balance\n张三 | 42.5\nAna | 250\n(2 rows)",
			Summary: "2 rows",
			Table:   &tools.Table{Columns: []string{"name", "balance"}, Rows: [][]string{{"张三", "42.5"}, {"Ana", "250"}}},
			Sources: []string{"database shop"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWrongColumnNamesTheRightOnes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		_, err := p.query(t, "SELECT week, sum(amount) FROM orders GROUP BY week")
		message := failed(t, err, "sql_error")
		if !strings.Contains(message, "week") || !strings.Contains(message, "Columns of ") || !strings.Contains(message, "orders: id, customer_id, amount, status, created_at") {
			t.Errorf("message = %q", message)
		}
		_, err = p.query(t, "SELECT * FROM order_items")
		if message := failed(t, err, "sql_error"); !strings.Contains(message, "Tables: ") || !strings.Contains(message, "customers") {
			t.Errorf("message = %q", message)
		}
	})
}

func TestUpdateIsShownAndThenDone(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		const sql = "UPDATE orders SET status = 'refunded' WHERE customer_id = 1"
		shown := p.preview(t, sql)
		if shown.Untried != "" {
			t.Fatalf("untried: %s", shown.Untried)
		}
		for _, want := range []string{"2 rows of ", "- id=2  status=open  customer_id=1", "+ id=2  status=refunded  customer_id=1"} {
			if !strings.Contains(shown.Detail, want) {
				t.Errorf("detail lacks %q:\n%s", want, shown.Detail)
			}
		}
		if got := p.value(t, "SELECT count(*) FROM orders WHERE status = 'refunded'"); got != "0" {
			t.Fatalf("the preview changed %s rows", got)
		}
		got, err := p.execute(t, sql, &shown)
		if err != nil {
			t.Fatal(err)
		}
		if got.Effect != "updated 2 rows in shop.orders" {
			t.Errorf("effect = %q", got.Effect)
		}
		if got := p.value(t, "SELECT count(*) FROM orders WHERE status = 'refunded'"); got != "2" {
			t.Errorf("%s rows changed, want 2", got)
		}
	})
}

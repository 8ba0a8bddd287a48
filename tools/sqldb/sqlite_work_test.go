package sqldb_test

import (
	"strings"
	"testing"

	"countersign/tools"
)

// long writes a text of n signs into a statement without making the statement long.
func long(n string) string { return "printf('%.*c', " + n + ", 'a')" }

// TestOneCallEndsInTime: SQLite cannot be stopped within one call of a function, so none
// gets values with which it would take minutes.
func TestOneCallEndsInTime(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t)
	for sql, code := range map[string]string{
		"SELECT instr(" + long("8000000") + ", " + long("4000000") + " || 'b')":                       "too_big",
		"SELECT replace(" + long("8000000") + ", " + long("4000000") + " || 'b', 'c')":                "too_big",
		"SELECT trim(" + long("100000") + ", 'b' || " + long("90000") + ")":                           "too_big",
		"SELECT " + long("8000000") + " LIKE '%' || " + long("900") + " || 'b'":                       "too_big",
		"SELECT " + long("8000000") + " GLOB '*' || " + long("900") + " || 'b'":                       "too_big",
		"SELECT " + long("100000") + " REGEXP '(a?){90}(a?){90}b'":                                    "too_big",
		"SELECT " + long("200") + " LIKE '%' || " + long("1100"):                                      "sql_error",
		"SELECT " + strings.Repeat("instr(hex(zeroblob(90000)), 'x' || id), ", 500) + "1 FROM orders": "too_big",
		"SELECT decimal_mul('1e-999999', '1.1e-999999')":                                              "invalid",
		"SELECT decimal_pow2(20000)":                                                                  "invalid",
	} {
		_, err := p.query(t, sql)
		failed(t, err, code)
	}
	for sql, want := range map[string]string{
		"SELECT length(replace(" + long("2000000") + ", 'aaaaaaaaaa', 'b'))":             "200000",
		"SELECT " + long("2000000") + " LIKE '%needle%' OR " + long("9") + " GLOB '*z*'": "0",
		"SELECT instr(name, upper('a')) FROM customers WHERE id = 2":                     "1",
		"SELECT length(trim(' ' || " + long("2000000") + "))":                            "2000000",
		"SELECT " + long("250000") + " LIKE '%' || " + long("900") + " || 'b'":           "0",
	} {
		got, err := p.query(t, sql)
		if err != nil || got.Table.Rows[0][0] != want {
			t.Errorf("%s: %v, %v", sql, got.Table, err)
		}
	}
}

// TestDeepStatementsAreRefused: the engine's stack holds what it takes in, and a statement
// over which it would break down leaves no lock behind.
func TestDeepStatementsAreRefused(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t)
	deep := map[string]func(n int) string{
		"sum":      func(n int) string { return strings.Repeat("1+", n) + "1" },
		"brackets": func(n int) string { return strings.Repeat("abs(", n) + "1" + strings.Repeat(")", n) },
		"not":      func(n int) string { return strings.Repeat("NOT ", n) + "1" },
		"case":     func(n int) string { return strings.Repeat("CASE WHEN 1 THEN ", n) + "1" + strings.Repeat(" END", n) },
		"queries":  func(n int) string { return strings.Repeat("(SELECT ", n) + "1" + strings.Repeat(")", n) },
		"union":    func(n int) string { return "(" + strings.Repeat("SELECT 1 UNION ALL ", n) + "SELECT 1)" },
	}
	for name, value := range deep {
		for _, n := range []int{120, 300, 600, 1200} {
			sql := "UPDATE orders SET amount = " + value(n) + " WHERE id = 2"
			_, err := p.tool(t, "execute_sql").(tools.Previewer).Preview(t.Context(), call(sql))
			failed(t, err, "sql_error")
			_, err = p.execute(t, sql, nil)
			failed(t, err, "sql_error")
			_, err = p.query(t, "SELECT "+value(n))
			failed(t, err, "sql_error")
			p.exec(t, "UPDATE orders SET status = '"+name+"' WHERE id = 1")
		}
	}
	for _, sql := range []string{"SELECT " + deep["brackets"](90), "VALUES " + strings.Repeat("(1), ", 900) + "(1)", "SELECT id IN (" + strings.Repeat("1, ", 900) + "1) FROM orders"} {
		if _, err := p.query(t, sql); err != nil {
			t.Errorf("%.40s: %v", sql, err)
		}
	}
}

// TestMemoryThatIsUsedUp: it ends as a failure of which nothing is left, not as a crash
// after which nobody knows.
func TestMemoryThatIsUsedUp(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t)
	wide := "SELECT length(max(" + strings.Repeat("x || id, ", 60) + "1)) FROM orders, (SELECT " + long("8000000") + " AS x)"
	_, err := p.query(t, wide)
	failed(t, err, "too_big")
	_, err = p.execute(t, "INSERT INTO notes "+wide, nil)
	failed(t, err, "too_big")
	p.exec(t, "UPDATE orders SET status = 'free' WHERE id = 1")
	if got := p.value(t, "SELECT count(*) FROM notes"); got != "2" {
		t.Errorf("%s notes", got)
	}
}

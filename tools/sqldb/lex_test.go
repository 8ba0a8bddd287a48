package sqldb

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"
	"pgregory.net/rapid"
)

// texts are what tokens name, one after the other.
func texts(tokens []token) []string {
	var all []string
	for _, t := range tokens {
		all = append(all, t.text)
	}
	return all
}

func TestLex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect dialect
		sql     string
		want    []string
	}{
		{sqliteDialect, "SELECT Name, 'it''s' FROM [my table] WHERE `a`=\"b\"\"c\"", []string{"select", "name", ",", "'it''s'", "from", "my table", "where", "a", "=", `b"c`}},
		{sqliteDialect, "a--b\nc/*d*/e/*;/*f*/g", []string{"a", "c", "e", "g"}},
		{postgresDialect, "a--b\rc/*d/*;*/e*/f", []string{"a", "c", "f"}},
		{sqliteDialect, "a--b\rc\nd", []string{"a", "d"}},
		{postgresDialect, "$$a;b$$ $x$ $$ $x$ $1", []string{"$$a;b$$", "$x$ $$ $x$", "$1"}},
		{postgresDialect, `E'\'' e'a''b' 'c\' B'01'`, []string{`E'\''`, `e'a''b'`, `'c\'`, "B'01'"}},
		{sqliteDialect, `X'00' e'a\'`, []string{"X'00'", "e", `'a\'`}},
		{sqliteDialect, "? ?1 :a @b $c 1.5e-3 .5 0xff 张三", []string{"?", "?1", ":a", "@b", "$c", "1.5e-3", ".5", "0xff", "张三"}},
		{postgresDialect, "a::int->>'b'", []string{"a", ":", ":", "int", "-", ">", ">", "'b'"}},
	} {
		tokens, err := lex(c.dialect, c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if diff := cmp.Diff(c.want, texts(tokens)); diff != "" {
			t.Errorf("%s %s:\n%s", c.dialect, c.sql, diff)
		}
	}
}

func TestLexRefuses(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{"'a", `"a`, "/* a", "a /*", "\x02", "[a", "a\ufeffb", "\u200b", "a\u00a0"} {
		if tokens, err := lex(sqliteDialect, sql); err == nil {
			t.Errorf("sqlite %q: %v", sql, texts(tokens))
		}
	}
	for _, sql := range []string{"'a", "/* /* */", "$$a", "$x$ $$", "$a", `E'\'`, "U&'a'", `u&"a"`} {
		if tokens, err := lex(postgresDialect, sql); err == nil {
			t.Errorf("postgres %q: %v", sql, texts(tokens))
		}
	}
}

// fragments are what stacked statements and hidden ends are made of.
var fragments = []string{
	"SELECT 1", "SELECT", "1", "'", "''", `"`, "`", "[", "]", "--", "/*", "*/", "/", "*", "\n", "\r", " ", ";", "x'", "X'41'", "a", "e'", `\`, "$$", "$a$", "(", ")", ",",
	"E'", "U&'", "\t", "\f", "?", ":a", "0x", "1e", ".", "张", "\u00a0", "\ufeff", "DELETE FROM t", "-",
}

func anySQL() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(fragments), 1, 12), func(parts []string) string { return strings.Join(parts, "") })
}

// TestOneStatementIsOneForSQLite: what parses as one statement leaves SQLite itself
// nothing behind it, and what is cut off around it means nothing.
func TestOneStatementIsOneForSQLite(t *testing.T) {
	t.Parallel()
	c, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec("CREATE TABLE t (a)"); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s, err := parseOne(sqliteDialect, anySQL().Draw(t, "sql"))
		if err != nil {
			return
		}
		stmt, tail, err := c.Prepare(s.text)
		if err != nil {
			return
		}
		if stmt == nil {
			t.Fatalf("%q is no statement for SQLite", s.text)
		}
		stmt.Close()
		if strings.TrimSpace(tail) != "" {
			t.Fatalf("%q: SQLite leaves %q behind", s.text, tail)
		}
		// What is added on a line of its own is seen by SQLite, not swallowed.
		if _, tail, err := c.Prepare(s.text + "\n; SELECT 2"); err == nil && strings.TrimSpace(tail) != "SELECT 2" {
			t.Fatalf("%q swallows what follows: %q is left", s.text, tail)
		}
	})
}

// FuzzLex: tokens lie in order within the text, and between them stands nothing but
// blanks and comments, so that no part of a statement escapes classification.
func FuzzLex(f *testing.F) {
	for _, seed := range fragments {
		f.Add(seed, true)
		f.Add("SELECT 1 "+seed+" x", false)
	}
	f.Fuzz(func(t *testing.T, sql string, postgres bool) {
		d := sqliteDialect
		if postgres {
			d = postgresDialect
		}
		tokens, err := lex(d, sql)
		if err != nil {
			return
		}
		at := 0
		for _, token := range append(tokens, token{start: len(sql), end: len(sql)}) {
			if token.start < at || token.end < token.start || token.end > len(sql) {
				t.Fatalf("%q: token %+v out of order", sql, token)
			}
			gap := sql[at:token.start]
			if strings.TrimSpace(gap) != "" && !strings.Contains(gap, "--") && !strings.Contains(gap, "/*") {
				t.Fatalf("%q: %q is skipped", sql, gap)
			}
			at = token.end
		}
		_, _ = parseOne(d, sql)
	})
}

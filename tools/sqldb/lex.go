package sqldb

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dialect names whose rules of quoting a text follows.
type dialect string

const (
	sqliteDialect   dialect = "sqlite"
	postgresDialect dialect = "postgres"
)

// fold gives the form of a name in which the dialect compares it: SQLite knows no
// capitals, Postgres lowers those of bare words, which the tokenizer does.
func (d dialect) fold(name string) string {
	if d == sqliteDialect {
		return lower(name)
	}
	return name
}

// lower lowers as databases do: a letter beyond ASCII is never taken for one of a keyword.
func lower(word string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, word)
}

type tokenKind int

const (
	wordToken   tokenKind = iota // a bare keyword or identifier; text is in lower case
	nameToken                    // a quoted identifier; text is what it names
	stringToken                  // a string literal; text is as written
	numberToken                  // a number
	paramToken                   // $1, ?, :name, @name: nobody could fill it
	punctToken                   // one operator character or bracket
)

// token is one piece of a statement; start and end are byte offsets into it.
type token struct {
	kind       tokenKind
	text       string
	start, end int
}

func (t token) is(kind tokenKind, text string) bool { return t.kind == kind && t.text == text }

// identifier says whether the token can name a table, a column or a function.
func (t token) identifier() bool { return t.kind == wordToken || t.kind == nameToken }

// errUnterminated is a comment, string or name that has no end. Whatever follows
// would be swallowed by it, so such a text is never passed on.
var errUnterminated = errors.New("unterminated comment, string or quoted name")

// lex splits a text into tokens without comments and white space. It classifies;
// the database's own parser stays the judge of what a statement means.
func lex(d dialect, sql string) ([]token, error) {
	l := lexer{dialect: d, src: sql}
	var tokens []token
	for {
		if err := l.skipBlank(); err != nil {
			return nil, err
		}
		if l.pos >= len(l.src) {
			return tokens, nil
		}
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
}

type lexer struct {
	dialect dialect
	src     string
	pos     int
}

func (l *lexer) rest() string { return l.src[l.pos:] }

// skipBlank passes white space and comments.
func (l *lexer) skipBlank() error {
	for l.pos < len(l.src) {
		r, size := utf8.DecodeRuneInString(l.rest())
		switch {
		case strings.HasPrefix(l.rest(), "--"):
			l.skipLine()
		case strings.HasPrefix(l.rest(), "/*"):
			if err := l.skipBlock(); err != nil {
				return err
			}
		case r < utf8.RuneSelf && unicode.IsSpace(r):
			l.pos += size
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) skipLine() {
	if i := strings.IndexAny(l.rest(), "\n\r"); i >= 0 {
		// Postgres ends a line comment at a carriage return too, SQLite only at a newline.
		if l.src[l.pos+i] == '\r' && l.dialect == sqliteDialect {
			i = strings.IndexByte(l.rest(), '\n')
		}
		if i >= 0 {
			l.pos += i + 1
			return
		}
	}
	l.pos = len(l.src)
}

// skipBlock passes a block comment; those of Postgres nest.
func (l *lexer) skipBlock() error {
	depth := 0
	for l.pos < len(l.src) {
		switch {
		case strings.HasPrefix(l.rest(), "/*") && (depth == 0 || l.dialect == postgresDialect):
			depth++
			l.pos += 2
		case strings.HasPrefix(l.rest(), "*/"):
			depth--
			l.pos += 2
			if depth == 0 {
				return nil
			}
		default:
			l.pos++
		}
	}
	return errUnterminated
}

func (l *lexer) next() (token, error) {
	start := l.pos
	c := l.src[l.pos]
	switch {
	case c == '\'':
		return l.quoted(start, '\'', stringToken, false)
	case c == '"' || c == '`' && l.dialect == sqliteDialect:
		return l.quoted(start, c, nameToken, false)
	case c == '[' && l.dialect == sqliteDialect:
		return l.bracketed(start)
	case c == '$' && l.dialect == postgresDialect:
		return l.dollar(start)
	case c >= '0' && c <= '9', c == '.' && l.digitAt(l.pos+1):
		return l.number(start), nil
	case isWordStart(c):
		return l.word(start)
	case strings.IndexByte("?@$", c) >= 0 && l.dialect == sqliteDialect, c == ':' && l.dialect == sqliteDialect:
		return l.param(start), nil
	case c < ' ' || c == 0x7f:
		return token{}, fmt.Errorf("control character U+%04X", c)
	default:
		l.pos++
		return l.made(punctToken, start), nil
	}
}

func (l *lexer) made(kind tokenKind, start int) token {
	return token{kind: kind, text: l.src[start:l.pos], start: start, end: l.pos}
}

func (l *lexer) digitAt(i int) bool { return i < len(l.src) && l.src[i] >= '0' && l.src[i] <= '9' }

// quoted reads to the closing quote; a doubled quote stands for itself, and with
// escapes a backslash protects the next character.
func (l *lexer) quoted(start int, quote byte, kind tokenKind, escapes bool) (token, error) {
	var text strings.Builder
	for l.pos++; l.pos < len(l.src); l.pos++ {
		c := l.src[l.pos]
		switch {
		case c == '\\' && escapes:
			l.pos++
		case c == quote && l.pos+1 < len(l.src) && l.src[l.pos+1] == quote:
			text.WriteByte(quote)
			l.pos++
		case c == quote:
			l.pos++
			t := l.made(kind, start)
			if kind == nameToken {
				t.text = text.String()
			}
			return t, nil
		default:
			text.WriteByte(c)
		}
	}
	return token{}, errUnterminated
}

func (l *lexer) bracketed(start int) (token, error) {
	end := strings.IndexByte(l.rest(), ']')
	if end < 0 {
		return token{}, errUnterminated
	}
	l.pos += end + 1
	t := l.made(nameToken, start)
	t.text = t.text[1 : len(t.text)-1]
	return t, nil
}

// dollar reads $1 or a dollar-quoted string of Postgres.
func (l *lexer) dollar(start int) (token, error) {
	if l.digitAt(l.pos + 1) {
		return l.param(start), nil
	}
	end := l.pos + 1
	for end < len(l.src) && isWordPart(l.src[end]) && l.src[end] != '$' {
		end++
	}
	if end >= len(l.src) || l.src[end] != '$' {
		return token{}, errUnterminated
	}
	tag := l.src[l.pos : end+1]
	l.pos = end + 1
	i := strings.Index(l.rest(), tag)
	if i < 0 {
		return token{}, errUnterminated
	}
	l.pos += i + len(tag)
	return l.made(stringToken, start), nil
}

func (l *lexer) number(start int) token {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		exponent := (c == '+' || c == '-') && (l.src[l.pos-1] == 'e' || l.src[l.pos-1] == 'E') && l.digitAt(l.pos+1)
		if !isWordPart(c) && c != '.' && !exponent {
			break
		}
		l.pos++
	}
	return l.made(numberToken, start)
}

func (l *lexer) param(start int) token {
	for l.pos++; l.pos < len(l.src) && isWordPart(l.src[l.pos]); l.pos++ {
	}
	return l.made(paramToken, start)
}

// word reads a keyword or identifier, or a string with a prefix: E”, B”, X”, U&”.
func (l *lexer) word(start int) (token, error) {
	for l.pos < len(l.src) && isWordPart(l.src[l.pos]) {
		l.pos++
	}
	prefix := lower(l.src[start:l.pos])
	if prefix == "u" && l.dialect == postgresDialect && (strings.HasPrefix(l.rest(), "&'") || strings.HasPrefix(l.rest(), `&"`)) {
		return token{}, errors.New("escapes of the kind U& are not accepted; write the characters themselves")
	}
	if l.pos < len(l.src) && l.src[l.pos] == '\'' && stringPrefix(l.dialect, prefix) {
		t, err := l.quoted(start, '\'', stringToken, prefix == "e")
		t.start = start
		return t, err
	}
	t := l.made(wordToken, start)
	if strings.ContainsFunc(t.text, invisible) {
		return token{}, errors.New("an invisible character outside of quotes")
	}
	t.text = lower(t.text)
	return t, nil
}

// invisible characters in a bare word are blanks for one parser and letters for the
// other, and nothing at all for a reader.
func invisible(r rune) bool { return r >= utf8.RuneSelf && !unicode.IsPrint(r) }

func stringPrefix(d dialect, prefix string) bool {
	if d == sqliteDialect {
		return prefix == "x"
	}
	return prefix == "e" || prefix == "b" || prefix == "x" || prefix == "n"
}

func isWordStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func isWordPart(c byte) bool { return isWordStart(c) || c >= '0' && c <= '9' || c == '$' }

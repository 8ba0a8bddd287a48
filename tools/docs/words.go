package docs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
)

// words is SQLite's full-text index (FTS5) of a folder. It holds no texts, only which
// words are in which file: what is answered is read from the files themselves.
//
// Its tokenizer sees what tokens made: words, and pairs of neighbours where a script
// writes no spaces. It is never the only copy of anything, and may be deleted.
type words struct{ *sqlite3.Conn }

// stamp is what a file looked like when it was indexed.
type stamp struct{ id, size, modified int64 }

// The marks of an index file of ours, so that no other database is taken for one.
const (
	wordsApplication = 0x63736978
	wordsVersion     = 2
)

// A number is never used twice: another process may still be about to drop it.
const wordsSchema = `
DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS documents;
CREATE TABLE documents (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, modified INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1,
	tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Co' tokenchars '_'");
`

// errForeign is a file that is something else.
var errForeign = errors.New("the file is a database of something else, not an index of documents")

// openWords opens an index file, or makes it; without a file it is in memory.
func openWords(file string) (*words, error) {
	name := ":memory:"
	if file != "" {
		name = "file:" + (&url.URL{Path: file}).EscapedPath() + "?_pragma=busy_timeout(2000)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)"
	}
	c, err := sqlite3.Open(name)
	if err != nil {
		return nil, err
	}
	w := &words{c}
	if err := errors.Join(fts5.Register(c), w.prepare()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return w, nil
}

// prepare makes the tables where there are none, or those of another version.
func (w *words) prepare() error {
	var application, version, tables int64
	err := w.each(func(s *sqlite3.Stmt) {
		application, version, tables = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2)
	},
		"SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)")
	switch {
	case err != nil:
		return err
	case application != wordsApplication && tables > 0:
		return errForeign
	case version == wordsVersion && tables > 0:
		return nil
	}
	return w.Exec(fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", wordsSchema, wordsApplication, wordsVersion))
}

// each runs a statement and gives each of its rows.
func (w *words) each(row func(*sqlite3.Stmt), sql string, args ...any) error {
	s, _, err := w.Prepare(sql)
	if err != nil {
		return err
	}
	defer s.Close()
	for i, a := range args {
		switch v := a.(type) {
		case string:
			err = errors.Join(err, s.BindText(i+1, v))
		case int64:
			err = errors.Join(err, s.BindInt64(i+1, v))
		}
	}
	for err == nil && s.Step() {
		if row != nil {
			row(s)
		}
	}
	return errors.Join(err, s.Err())
}

// known is every file that is indexed.
func (w *words) known() (map[string]stamp, error) {
	all := map[string]stamp{}
	err := w.each(func(s *sqlite3.Stmt) {
		all[s.ColumnText(1)] = stamp{s.ColumnInt64(0), s.ColumnInt64(2), s.ColumnInt64(3)}
	}, "SELECT id, path, size, modified FROM documents")
	return all, err
}

// put indexes the text of a file, in place of what another process may have put there
// meanwhile.
func (w *words) put(path string, at stamp, text string) error {
	err := errors.Join(w.each(nil, "DELETE FROM words WHERE rowid IN (SELECT id FROM documents WHERE path = ?)", path), w.each(nil, "DELETE FROM documents WHERE path = ?", path))
	if err != nil {
		return err
	}
	if err := w.each(nil, "INSERT INTO documents (path, size, modified) VALUES (?, ?, ?)", path, at.size, at.modified); err != nil {
		return err
	}
	return w.each(nil, "INSERT INTO words (rowid, text) VALUES (?, ?)", w.LastInsertRowID(), strings.Join(tokens(text), " "))
}

// drop forgets a file.
func (w *words) drop(id int64) error {
	return errors.Join(w.each(nil, "DELETE FROM words WHERE rowid = ?", id), w.each(nil, "DELETE FROM documents WHERE id = ?", id))
}

// together makes several changes in one transaction.
func (w *words) together(change func() error) error {
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := change()
	if err == nil {
		err = w.Exec("COMMIT")
	}
	if err != nil && !w.GetAutocommit() {
		w.SetInterrupt(context.Background()) // also when time is over
		return errors.Join(err, w.Exec("ROLLBACK"))
	}
	return err
}

// having counts the files with a term.
func (w *words) having(term string) (n int64, err error) {
	err = w.each(func(s *sqlite3.Stmt) { n = s.ColumnInt64(0) }, "SELECT count(*) FROM words WHERE words MATCH ?", match([]string{term}))
	return n, err
}

// best gives the files that have the most and the rarest of the terms.
func (w *words) best(terms []string, limit int64) (paths []string, err error) {
	if len(terms) == 0 {
		return nil, nil
	}
	err = w.each(func(s *sqlite3.Stmt) { paths = append(paths, s.ColumnText(0)) },
		"SELECT d.path FROM words JOIN documents d ON d.id = words.rowid WHERE words MATCH ? ORDER BY words.rank LIMIT ?", match(terms), limit)
	return paths, err
}

// match asks for any of the terms, each also as the beginning of a longer word. They
// hold letters and digits alone, so that nothing in them has a meaning of its own.
func match(terms []string) string {
	parts := make([]string, len(terms))
	for i, t := range terms {
		parts[i] = `"` + t + `"*`
	}
	return strings.Join(parts, " OR ")
}

package docs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"countersign/tools"
	"countersign/tools/docs"
)

// Scripts without spaces are found by one sign, by two, and by a question.
func TestScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.write(t, "ja.md", "返金の手続き\nサーバー再起動")
	s.write(t, "ko.md", "환불 절차 안내")
	s.write(t, "mixed.md", "把Redis缓存清空")
	for query, want := range map[string]string{
		"余": "doc_42.md:3", "额": "doc_42.md:3", "余额": "doc_42.md:3", "账户余额低怎么办": "doc_42.md:3", "部": "doc_42.md:4",
		"再起動": "ja.md:2", "サーバー": "ja.md:2", "환불": "ko.md:1", "redis": "mixed.md:1", "缓存": "mixed.md:1", "空": "mixed.md:1",
	} {
		if got := s.search(t, query).Sources; len(got) == 0 || got[0] != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

// An index file is taken up where it was left; what changed meanwhile is found, and what
// did not is not read again.
func TestAnIndexOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.index = filepath.Join(t.TempDir(), "index")
	first := s.reopen(t)
	if n := len(s.search(t, "refund").Sources); n == 0 {
		t.Fatal("nothing is found")
	}
	first()
	s.write(t, "late.md", "a zebra")
	if err := os.Remove(filepath.Join(s.dir, "doc_42.md")); err != nil {
		t.Fatal(err)
	}
	defer s.reopen(t)()
	for query, want := range map[string][]string{"zebra": {"late.md:1"}, "余额": nil, "finance team": {"doc_43.md:4"}} {
		if diff := cmp.Diff(want, s.search(t, query).Sources); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
}

// reopen makes the tools anew, and gives what ends them.
func (s *shelf) reopen(t *testing.T) func() {
	t.Helper()
	kinds, closer, err := docs.New(t.Context(), docs.Config{Path: s.dir, Index: s.index, Now: clock, Warm: true})
	if err != nil {
		t.Fatal(err)
	}
	if s.registry, err = tools.NewRegistry(kinds...); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A database of something else is left alone; the index is in memory then.
func TestAForeignFileIsNoIndex(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.index = filepath.Join(t.TempDir(), "other.db")
	c, err := sqlite3.Open(s.index)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec("CREATE TABLE documents (precious TEXT); INSERT INTO documents VALUES ('x')"); err != nil {
		t.Fatal(err)
	}
	defer s.reopen(t)()
	if n := len(s.search(t, "余额").Sources); n != 1 {
		t.Errorf("%d hits", n)
	}
	stmt, _, err := c.Prepare("SELECT precious FROM documents")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	if !stmt.Step() || stmt.ColumnText(0) != "x" {
		t.Error("it was changed")
	}
}

// Several processes at one index file neither wait for ever nor find wrong things.
func TestIndexesOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	one := newShelf(t)
	one.index = filepath.Join(t.TempDir(), "index")
	two := shelf{dir: one.dir, index: one.index}
	defer one.reopen(t)()
	defer two.reopen(t)()
	var both sync.WaitGroup
	for i, s := range []shelf{one, two} {
		both.Go(func() {
			for j := range 10 {
				s.write(t, fmt.Sprintf("n%d.md", i), strings.Repeat("zebra ", j+1))
				if n := len(s.search(t, "zebra").Sources); n == 0 {
					t.Errorf("process %d does not find what it wrote", i)
				}
			}
		})
	}
	both.Wait()
	if diff := cmp.Diff([]string{"n0.md:1", "n1.md:1"}, one.search(t, "zebra").Sources); diff != "" {
		t.Error(diff)
	}
}

// What is not searched is told, and a deadline that cuts the indexing off loses little.
func TestLargeFolders(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.write(t, "huge.md", strings.Repeat("refund ", 400_000))
	if text := s.search(t, "refund").Text; !strings.Contains(text, "(1 files are too large or too many and were not searched)") {
		t.Error(text)
	}
	for i := range 300 {
		s.write(t, fmt.Sprintf("many/%03d.md", i), strings.Repeat(fmt.Sprintf("word%d and 余额 ", i), 500))
	}
	tool, _ := s.registry.Get("search_docs")
	cuts := 0
	for found := false; !found && cuts < 100; {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		r, err := tool.Call(ctx, tools.Call{Args: []byte(`{"query":"word299"}`)})
		cancel()
		found = err == nil && len(r.Sources) > 0 && r.Sources[0] == "many/299.md:1"
		if err != nil {
			cuts++
		}
	}
	if cuts == 100 {
		t.Error("a short deadline never lets the index be finished")
	}
	t.Logf("%d deadlines", cuts)
}

// Replicas that keep an index each, in memory, follow one folder: what one deletes or
// somebody writes is seen by the other at its next question.
func TestReplicasWithIndexesOfTheirOwn(t *testing.T) {
	t.Parallel()
	one := newShelf(t)
	two := shelf{dir: one.dir}
	two.open(t)
	for _, s := range []shelf{one, two} {
		if got := s.search(t, "余额").Sources; len(got) != 1 {
			t.Fatalf("at first: %v", got)
		}
	}
	r := one.remover(t, "doc_42")
	r.show(t)
	other := two.remover(t, "doc_42")
	other.show(t)
	if _, err := r.run(t); err != nil {
		t.Fatal(err)
	}
	if got := two.search(t, "余额"); len(got.Sources) != 0 || strings.Contains(got.Text, "doc_42") {
		t.Errorf("the other still answers %s", got.Text)
	}
	_, err := other.run(t)
	wantFailure(t, err, "not_found", "doc_42")
	if _, err := docs.Restore(docs.Config{Path: one.dir}, "doc_42"); err != nil {
		t.Fatal(err)
	}
	one.write(t, "doc_43.md", "a zebra")
	if got := two.search(t, "余额 zebra").Sources; len(got) != 2 {
		t.Errorf("after it came back: %v", got)
	}
}

// Links inside the folder are documents, as Kubernetes mounts the files of a ConfigMap
// so; links out of it and pipes are nothing.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.write(t, "../outside.md", "a zebra outside")
	s.write(t, "..2026_01/map.md", "a zebra in a map")
	s.write(t, "..2026_02/map.md", "a newer lion in a map")
	for name, target := range map[string]string{
		"..data": "..2026_01", "map.md": "..data/map.md", "out.md": "../outside.md", "absolute.md": filepath.Join(filepath.Dir(s.dir), "outside.md"),
		"nowhere.md": "nothing.md", "loop.md": "loop.md", "self.md": "/proc/self/environ", "folder.md": "guides", "zero.md": "/dev/zero",
	} {
		if err := os.Symlink(target, filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(s.dir, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"map.md:1"}, s.search(t, "zebra").Sources); diff != "" {
		t.Error(diff)
	}
	if err := os.Rename(filepath.Join(s.dir, "..data"), filepath.Join(s.dir, "..old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..2026_02", filepath.Join(s.dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"map.md:1"}, s.search(t, "lion").Sources); diff != "" {
		t.Error(diff)
	}
	for id, code := range map[string]string{"map": "not_a_file", "out": "not_found", "pipe": "not_found", "self.md": "not_found", "..data/map.md": "not_found"} {
		_, err := s.remover(t, id).run(t)
		wantFailure(t, err, code, "")
	}
}

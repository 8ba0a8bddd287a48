package docs_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
	"countersign/tools/docs"
)

// shelf is a folder of documents and the tools over it.
type shelf struct {
	dir      string
	index    string // file of the index; empty: in memory
	registry *tools.Registry
}

func newShelf(t *testing.T) shelf {
	t.Helper()
	s := shelf{dir: t.TempDir()}
	s.write(t, "doc_42.md", "# 充值说明\n\n账户余额低于一百元时，系统会提醒充值。\n联系财务部。\n")
	s.write(t, "doc_43.md", "# Refunds\n\nA refund of more than 1,000 EUR needs two people.\nAsk the finance team.\n")
	s.write(t, "guides/holidays.txt", "Holidays\n\nTell your manager two weeks before.\n")
	s.write(t, "page.html", "<html><head><title>Price &amp; terms</title><style>p{refund}</style></head>\n<body><p>Prices\nare <b>net</b>.</p></body></html>\n")
	s.write(t, "image.png", "refund")
	s.write(t, ".hidden/note.md", "refund in secret")
	s.open(t)
	return s
}

// open makes the tools anew, as after a restart.
func (s *shelf) open(t *testing.T) {
	t.Helper()
	kinds, closer, err := docs.New(t.Context(), docs.Config{Path: s.dir, Index: s.index, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closer.Close() }) // some tests close earlier
	if s.registry, err = tools.NewRegistry(kinds...); err != nil {
		t.Fatal(err)
	}
}

func clock() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8000, time.FixedZone("", 3600)) }

func (s shelf) write(t *testing.T, name, content string) {
	t.Helper()
	full := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s shelf) search(t *testing.T, query string) tools.Result {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := s.registry.Get("search_docs")
	args, err := tools.Parse(s.registry.Schema("search_docs"), string(raw))
	if err != nil {
		t.Fatal(err)
	}
	result, err := tools.Execute(t.Context(), tool, tools.Call{Args: args.Canonical})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// remover is delete_document for one id, in the steps that the agent takes.
type remover struct {
	tool tools.Tool
	call tools.Call
}

func (s shelf) remover(t *testing.T, id string) remover {
	t.Helper()
	tool, _ := s.registry.Get("delete_document")
	raw, err := json.Marshal(map[string]string{"id": id})
	if err != nil {
		t.Fatal(err)
	}
	args, err := tools.Parse(s.registry.Schema("delete_document"), string(raw))
	if err != nil {
		t.Fatal(err)
	}
	return remover{tool, tools.Call{Args: args.Canonical}}
}

func (r *remover) show(t *testing.T) tools.Preview {
	t.Helper()
	p, err := r.tool.(tools.Previewer).Preview(t.Context(), r.call)
	if err != nil {
		t.Fatal(err)
	}
	r.call.Preview = &p
	return p
}

func (r remover) run(t *testing.T) (tools.Result, error) {
	t.Helper()
	return tools.Execute(t.Context(), r.tool, r.call)
}

func (r remover) probe(t *testing.T) tools.Probed {
	t.Helper()
	found, err := r.tool.(tools.Prober).Probe(t.Context(), r.call)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantFailure(t *testing.T, err error, code, says string) {
	t.Helper()
	failure := (*tools.Failure)(nil)
	if !errors.As(err, &failure) || failure.Code != code || !strings.Contains(failure.Message, says) {
		t.Errorf("got %v, want %s: … %s …", err, code, says)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for query, want := range map[string][]string{
		"余额":                     {"doc_42.md:3"},
		"张三的账户余额是多少？":            {"doc_42.md:3"},
		"款":                      nil,
		"REFUND":                 {"doc_43.md:1"},
		"refund finance":         {"doc_43.md:1", "doc_43.md:4"},
		"net":                    {"page.html:3"},
		"terms":                  {"page.html:1"},
		"manager":                {"guides/holidays.txt:3"},
		"holidays":               {"guides/holidays.txt:1"},
		"doc_42":                 {"doc_42.md:1"},
		"secret":                 nil,
		"two people充值":           {"doc_43.md:3", "doc_42.md:1", "guides/holidays.txt:3"},
		"!?。":                    nil,
		strings.Repeat("x", 400): nil,
	} {
		if diff := cmp.Diff(want, s.search(t, query).Sources); diff != "" {
			t.Errorf("%.30s: %s", query, diff)
		}
	}
}

func TestSearchAnswers(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	result := s.search(t, "余额")
	const want = "doc_42 (doc_42.md:3) 充值说明\n  # 充值说明\n  账户余额低于一百元时，系统会提醒充值。\n  联系财务部。"
	if diff := cmp.Diff(want, result.Text); diff != "" {
		t.Error(diff)
	}
	if result.Summary != `1 passages for "余额" in 4 documents` || result.Effect != "" {
		t.Errorf("got %+v", result)
	}
	if got := s.search(t, "zebra").Text; got != `nothing found for "zebra" in 4 documents; they are: doc_42, doc_43, holidays, page` {
		t.Errorf("got %q", got)
	}
	if got := s.search(t, "net").Text; !strings.Contains(got, "Price & terms\n") || strings.Contains(got, "<b>") || strings.Contains(got, "{") {
		t.Errorf("got %q", got)
	}
}

// What changes in the folder is found at once, what is gone is not.
func TestSearchIsFresh(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	if n := len(s.search(t, "zebra").Sources); n != 0 {
		t.Fatalf("%d hits before there is a document", n)
	}
	s.write(t, "new.md", "a zebra")
	if n := len(s.search(t, "zebra").Sources); n != 1 {
		t.Errorf("%d hits for a new document", n)
	}
	s.write(t, "new.md", "two zebras\n\n\n\nand a third zebra")
	if diff := cmp.Diff([]string{"new.md:1", "new.md:5"}, s.search(t, "zebra").Sources); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(filepath.Join(s.dir, "new.md")); err != nil {
		t.Fatal(err)
	}
	if n := len(s.search(t, "zebra").Sources); n != 0 {
		t.Errorf("%d hits for a document that is gone", n)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	r := s.remover(t, "doc_42")
	preview := r.show(t)
	if preview.Summary != "The document doc_42 (充值说明) would move to the trash." ||
		preview.Detail != "doc_42.md, 93 bytes\n\n# 充值说明\n账户余额低于一百元时，系统会提醒充值。\n联系财务部。" {
		t.Errorf("got %+v", preview)
	}
	if found := r.probe(t); found != tools.ProbedNot {
		t.Errorf("before: %s", found)
	}
	result, err := r.run(t)
	if err != nil || result.Effect != "deleted document doc_42 (充值说明), restorable" {
		t.Fatalf("got %+v, %v", result, err)
	}
	if found := r.probe(t); found != tools.ProbedHappened {
		t.Errorf("after: %s", found)
	}
	if n := len(s.search(t, "余额").Sources); n != 0 {
		t.Errorf("a deleted document is found %d times", n)
	}
	kept := filepath.Join(s.dir, ".trash", "20260304T040607.000008Z-doc_42.md")
	if content, err := os.ReadFile(kept); err != nil || !strings.HasPrefix(string(content), "# 充值说明") {
		t.Errorf("the trash holds %q, %v", content, err)
	}
	_, err = r.run(t)
	wantFailure(t, err, "not_found", `no document has the id "doc_42"; did you mean doc_43?`)
	if err := os.Rename(kept, filepath.Join(s.dir, "doc_42.md")); err != nil {
		t.Fatal(err)
	}
	if n := len(s.search(t, "余额").Sources); n != 1 {
		t.Error("a restored document is not found")
	}
}

// What was approved is what is deleted, nothing else.
func TestDeleteRefusesChanged(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	r := s.remover(t, "doc_43")
	r.show(t)
	s.open(t)
	s.write(t, "doc_43.md", "# Refunds\n\nNew rules.\n")
	_, err := r.run(t)
	wantFailure(t, err, "changed", "nothing was deleted")
	if _, err := os.Stat(filepath.Join(s.dir, "doc_43.md")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, ".trash")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a trash: %v", err)
	}
	if found := r.probe(t); found != tools.ProbedUnknown {
		t.Errorf("neither here nor there, and the probe says %s", found)
	}
}

// The id names a document, never a way to a file.
func TestDeleteRefusesIDs(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.write(t, "guides/doc_43.md", "another")
	s.write(t, "../outside.md", "outside")
	for id, c := range map[string]struct{ code, says string }{
		"doc_44":            {"not_found", "did you mean"},
		"../outside":        {"not_found", "no document"},
		"../outside.md":     {"not_found", "no document"},
		"/etc/passwd":       {"not_found", "no document"},
		".hidden/note.md":   {"not_found", "no document"},
		"image.png":         {"not_found", "no document"},
		"doc_43":            {"ambiguous", "doc_43.md, guides/doc_43.md"},
		"guides/doc_43":     {"not_found", "did you mean guides/doc_43.md"},
		"DOC_42":            {"not_found", "did you mean doc_42"},
		"doc_42\u202e":      {"not_found", "did you mean doc_42"},
		"guides":            {"not_found", "no document"},
		"holidays.txt\x00x": {"not_found", "no document"},
	} {
		r := s.remover(t, id)
		err := r.tool.(tools.Guard).Check(t.Context(), r.call.Args)
		wantFailure(t, err, c.code, c.says)
		_, err = r.run(t)
		wantFailure(t, err, c.code, c.says)
	}
}

func TestDeleteByPathAndName(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.write(t, "guides/doc_43.md", "another")
	for _, c := range []struct{ id, file, kept string }{
		{"guides/doc_43.md", "guides/doc_43.md", "20260304T040607.000008Z-guides%2Fdoc_43.md"},
		{"holidays.txt", "guides/holidays.txt", "20260304T040607.000008Z-guides%2Fholidays.txt"},
		{"doc_43", "doc_43.md", "20260304T040607.000008Z-doc_43.md"},
	} {
		r := s.remover(t, c.id)
		r.show(t)
		if _, err := r.run(t); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(s.dir, c.file)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", c.file, err)
		}
		if _, err := os.Stat(filepath.Join(s.dir, ".trash", c.kept)); err != nil {
			t.Error(err)
		}
	}
}

// Two documents of one name, deleted in one instant, are both kept.
func TestTrashNeverOverwrites(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for _, content := range []string{"first", "second", "third"} {
		s.write(t, "doc_42.md", content)
		if _, err := s.remover(t, "doc_42").run(t); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, ".trash"))
	if err != nil || len(entries) != 3 {
		t.Fatalf("got %v, %v", entries, err)
	}
	r := s.remover(t, "doc_42")
	if found := r.probe(t); found != tools.ProbedUnknown {
		t.Errorf("without a preview the probe says %s", found)
	}
}

func TestDeleteWithoutRight(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		// The superuser may write everywhere: a file in the place of the trash
		// makes the move fail for everybody.
		s := newShelf(t)
		s.write(t, ".trash", "not a folder")
		_, err := s.remover(t, "doc_42").run(t)
		wantFailure(t, err, "failed", "nothing was deleted")
		return
	}
	s := newShelf(t)
	if err := os.Chmod(s.dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(s.dir, 0o700) })
	_, err := s.remover(t, "doc_42").run(t)
	wantFailure(t, err, "failed", "nothing was deleted")
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]docs.Config{
		"no folder":      {Path: filepath.Join(dir, "none"), Now: clock},
		"no clock":       {Path: dir},
		"trash outside":  {Path: dir, Trash: "../trash", Now: clock},
		"trash absolute": {Path: dir, Trash: "/tmp", Now: clock},
		"trash is all":   {Path: dir, Trash: ".", Now: clock},
	} {
		if _, _, err := docs.New(t.Context(), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := docs.New(t.Context(), docs.Config{Path: dir, Trash: filepath.Join(dir, "bin"), Now: clock}); err != nil {
		t.Error(err)
	}
}

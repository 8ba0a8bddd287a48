package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/tools"
	"countersign/tools/files"
)

// box is a root with files in it, and a folder beside it that must not be reached.
type box struct {
	dir, root string
	registry  *tools.Registry
}

func newBox(t *testing.T) box {
	t.Helper()
	dir := t.TempDir()
	b := box{dir: dir, root: filepath.Join(dir, "data")}
	b.write(t, "../secret.txt", "the secret")
	b.write(t, "transactions.log", "100\n200\n300\n")
	b.write(t, "sub/余额.md", "# 余额\n")
	kinds, err := files.New(b.root)
	if err != nil {
		t.Fatal(err)
	}
	if b.registry, err = tools.NewRegistry(kinds...); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b box) write(t *testing.T, name, content string) {
	t.Helper()
	full := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(b.root, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b box) link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(b.root, name)); err != nil {
		t.Fatal(err)
	}
}

// call goes the way of a real call: parse, guard, tool.
func (b box) call(t *testing.T, name, raw string) (tools.Result, error) {
	t.Helper()
	tool, ok := b.registry.Get(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	args, err := tools.Parse(b.registry.Schema(name), raw)
	if err != nil {
		return tools.Result{}, err
	}
	if err := tool.(tools.Guard).Check(t.Context(), args.Canonical); err != nil {
		return tools.Result{}, err
	}
	return tools.Execute(t.Context(), tool, tools.Call{Args: args.Canonical})
}

func (b box) read(t *testing.T, name string) (tools.Result, error) {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"path": name})
	if err != nil {
		t.Fatal(err)
	}
	return b.call(t, "read_file", string(raw))
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.link(t, "sub/余额.md", "inside.md")
	for name, want := range map[string]string{
		"transactions.log":          "100\n200\n300\n",
		"./sub/../transactions.log": "100\n200\n300\n",
		"sub/余额.md":                 "# 余额\n",
		"inside.md":                 "# 余额\n",
		"sub//余额.md":                "# 余额\n",
	} {
		result, err := b.read(t, name)
		if err != nil || result.Text != want {
			t.Errorf("%s: %q, %v", name, result.Text, err)
		}
	}
	result, err := b.read(t, "transactions.log")
	if err != nil || result.Summary != "read transactions.log, 3 lines, 12 bytes" || result.Sources[0] != "transactions.log" || result.Effect != "" {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.link(t, "../secret.txt", "out.txt")
	b.link(t, "..", "up")
	b.link(t, filepath.Join(b.dir, "secret.txt"), "absolute.txt")
	b.link(t, "/dev/zero", "zero")
	b.link(t, "loop", "loop")
	b.write(t, "picture.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b.write(t, "large.log", strings.Repeat("x", 2<<20+1))
	if err := syscall.Mkfifo(filepath.Join(b.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ code, says string }{
		"../secret.txt":            {"forbidden", "inside the data folder"},
		"sub/../../secret.txt":     {"forbidden", "inside the data folder"},
		"/etc/passwd":              {"forbidden", "inside the data folder"},
		b.root + "/a":              {"forbidden", "inside the data folder"},
		"a\x00b":                   {"forbidden", "inside the data folder"},
		"out.txt":                  {"forbidden", "leads out of the data folder"},
		"up/secret.txt":            {"forbidden", "leads out of the data folder"},
		"absolute.txt":             {"forbidden", "leads out of the data folder"},
		"zero":                     {"forbidden", "leads out of the data folder"},
		"loop":                     {"unreadable", "loop cannot be read"},
		"pipe":                     {"not_a_file", "not a plain file"},
		"sub":                      {"not_a_file", "list_files"},
		"picture.png":              {"binary", "not text (image/png, 16 bytes)"},
		"large.log":                {"too_large", "2097153 bytes; files of up to 2097152 bytes"},
		"transactions.txt":         {"not_found", "no such file transactions.txt; did you mean transactions.log?"},
		"data/transactions.log":    {"not_found", "no such file data/transactions.log; did you mean transactions.log?"},
		"余额.txt":                   {"not_found", "did you mean sub/余额.md?"},
		"secret.txt":               {"not_found", "no such file secret.txt"},
		"transactions.log/x":       {"not_a_folder", "is not a folder"},
		strings.Repeat("x/", 300):  {"not_found", "no such file"},
		strings.Repeat("x", 1000):  {"unreadable", "cannot be read"},
		strings.Repeat("x", 1025):  {tools.InvalidArguments, "at most 1024"},
		"":                         {tools.InvalidArguments, "at least 1"},
		"transactions.log\nsecret": {"not_found", "no such file"},
	} {
		result, err := b.read(t, name)
		failure := (*tools.Failure)(nil)
		if !errors.As(err, &failure) {
			t.Errorf("%.40q: %q, %v", name, result.Text, err)
			continue
		}
		if failure.Code != c.code || !strings.Contains(failure.Message, c.says) || failure.Pointer != "/path" {
			t.Errorf("%.40q: %v, want %s, %q", name, failure, c.code, c.says)
		}
		if strings.Contains(err.Error(), b.dir) && !strings.HasPrefix(name, b.dir) {
			t.Errorf("%.40q: the error names our folder: %v", name, err)
		}
	}
}

// A link that is exchanged while it is read leads out at no moment.
func TestReadFileRaces(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(t, "inside.txt", "inside")
	name := filepath.Join(b.root, "turning")
	ctx, stop := context.WithCancel(t.Context())
	turned := make(chan struct{})
	go func() {
		defer close(turned)
		for i := 0; ctx.Err() == nil; i++ {
			target := []string{"inside.txt", "../secret.txt", ".."}[i%3]
			next := name + ".next"
			if os.Symlink(target, next) == nil {
				_ = os.Rename(next, name) // the reader may be looking
			}
		}
	}()
	read := 0
	for range 3000 {
		for _, path := range []string{"turning", "turning/secret.txt"} {
			switch result, err := b.read(t, path); {
			case err != nil:
			case strings.HasPrefix(result.Text, "inside"):
				read++
			default:
				t.Fatalf("%s: %q", path, result.Text)
			}
		}
	}
	stop()
	<-turned
	t.Logf("read %d times", read)
}

func TestReadFileEncodings(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(t, "bom.txt", "\ufeffa")
	b.write(t, "utf16le.txt", "\xff\xfe\x59\x4f\x9d\x98\x0a\x00")
	b.write(t, "utf16be.txt", "\xfe\xff\x4f\x59\x98\x9d")
	b.write(t, "latin1.txt", "caf\xe9")
	b.write(t, "empty.txt", "")
	for name, want := range map[string]string{
		"bom.txt":     "a",
		"utf16le.txt": "余额\n",
		"utf16be.txt": "余额",
		"latin1.txt":  "caf\ufffd\n[note: latin1.txt is not UTF-8; what could not be read is shown as \ufffd]",
		"empty.txt":   "",
	} {
		if result, err := b.read(t, name); err != nil || result.Text != want {
			t.Errorf("%s: %q, %v", name, result.Text, err)
		}
	}
}

func TestListFiles(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.link(t, "..", "up")
	if err := os.Mkdir(filepath.Join(b.root, "empty"), 0o750); err != nil {
		t.Fatal(err)
	}
	const want = "empty/\nsub/\ntransactions.log  12 bytes\nup  (link)"
	for _, raw := range []string{``, `{}`, `{"path":"."}`, `{"path":""}`, `{"path":"sub/.."}`} {
		if result, err := b.call(t, "list_files", raw); err != nil || result.Text != want {
			t.Errorf("%s: %q, %v", raw, result.Text, err)
		}
	}
	if result, err := b.call(t, "list_files", `{"path":"empty"}`); err != nil || result.Text != "empty is an empty folder" {
		t.Errorf("%q, %v", result.Text, err)
	}
	for raw, code := range map[string]string{
		`{"path":"up"}`:               "forbidden",
		`{"path":".."}`:               "forbidden",
		`{"path":"/"}`:                "forbidden",
		`{"path":"none"}`:             "not_found",
		`{"path":"transactions.log"}`: "not_a_folder",
	} {
		_, err := b.call(t, "list_files", raw)
		failure := (*tools.Failure)(nil)
		if !errors.As(err, &failure) || failure.Code != code {
			t.Errorf("%s: %v, want %s", raw, err, code)
		}
	}
}

func TestListFilesIsBounded(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for i := range 1005 {
		b.write(t, fmt.Sprintf("many/%04d", i), "")
	}
	result, err := b.call(t, "list_files", `{"path":"many"}`)
	if err != nil || !strings.HasSuffix(result.Text, "0999  0 bytes\n… and 5 more entries") || !result.Table.More {
		t.Errorf("%.80q, %v", result.Text, err)
	}
}

func TestNewNeedsAFolder(t *testing.T) {
	t.Parallel()
	if _, err := files.New(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

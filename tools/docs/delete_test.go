package docs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/tools"
)

// A document that is exchanged between the last look and the move is moved
// back; if there is a new one in its place, both are kept and nobody claims to
// know what happened.
func TestExchangedInTheLastMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	l := &library{root: root, trash: ".trash", now: time.Now}
	shown := newDocument("a.md", []byte("what was shown"))
	shown.id = "a"
	file := filepath.Join(dir, "a.md")
	if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}

	_, err = l.toTrash(shown)
	failure := (*tools.Failure)(nil)
	if !errors.As(err, &failure) || failure.Code != "changed" {
		t.Fatalf("got %v", err)
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "something else" {
		t.Fatalf("not moved back: %q, %v", content, err)
	}

	err = l.putBack(".trash/x", shown)
	if errors.As(err, &failure) || !strings.Contains(err.Error(), "is kept as .trash/x") {
		t.Errorf("got %v", err)
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "something else" {
		t.Errorf("the new document is gone: %q, %v", content, err)
	}
}

// A pipe in the place of a document, put there after the folder was looked at, holds nobody.
func TestAPipeInsteadOfADocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := syscall.Mkfifo(filepath.Join(dir, "a.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(root, "a.md"); !isGone(err) {
		t.Errorf("got %v", err)
	}
}

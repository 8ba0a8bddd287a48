package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// What was deleted with approval is found in the trash, and put back where it was.
func TestADeletedDocumentComesBack(t *testing.T) {
	t.Parallel()
	d, card, _ := waiting(t, apptest.Options{})
	if out := d.must("docs", "trash"); out != "nothing in the trash\n" {
		t.Errorf("at first: %s", out)
	}
	d.Slack.User("mgr").Clicks(card, "approval_approve")
	d.Slack.Expect(slacktest.Text("已变更"))
	list := d.must("docs", "trash")
	fields := strings.Fields(strings.Split(list, "\n")[1])
	if fields[1] != "doc_42.md" {
		t.Fatalf("the trash: %s", list)
	}
	file := filepath.Join(d.Dir, "docs", "doc_42.md")
	if err := os.WriteFile(file, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.fails("another document", "docs", "restore", fields[0])
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d.fails("The trash has no", "docs", "restore", "../docs/doc_41.md")
	if out := d.must("docs", "restore", fields[0]); out != "doc_42.md is back.\n" {
		t.Error(out)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if out := d.must("docs", "trash"); out != "nothing in the trash\n" {
		t.Errorf("after: %s", out)
	}
	if export := d.must("audit", "export"); !strings.Contains(export, "document.restored") || !strings.Contains(export, fields[0]) {
		t.Error("the record does not know of it")
	}
}

// A document is restored by its id, unless the trash has several of it.
func TestADocumentIsRestoredByItsID(t *testing.T) {
	t.Parallel()
	d := sit(t, apptest.New(t, apptest.Options{}))
	d.Run()
	trash := filepath.Join(d.Dir, "docs", ".trash")
	for _, name := range []string{"20260304T040607.000008Z-doc_60.md", "20260305T040607.000008Z-doc_60.md", "20260305T040607.000008Z-guides%2Fdoc_61.md"} {
		if err := os.MkdirAll(trash, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(trash, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.fails("several \"doc_60\", so say which one by its name there: 20260305T040607.000008Z-doc_60.md, 20260304T040607.000008Z-doc_60.md.", "docs", "restore", "doc_60")
	if out := d.must("docs", "restore", "20260304T040607.000008Z-doc_60.md"); out != "doc_60.md is back.\n" {
		t.Error(out)
	}
	d.fails("another document at doc_60.md", "docs", "restore", "doc_60")
	if out := d.must("docs", "restore", "doc_61"); out != "guides/doc_61.md is back.\n" {
		t.Error(out)
	}
	d.fails("The trash has no", "docs", "restore", "doc_61")
}

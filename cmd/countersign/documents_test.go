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
	if !strings.Contains(d.must("audit", "export"), "document.restored") {
		t.Error("the record does not know of it")
	}
}

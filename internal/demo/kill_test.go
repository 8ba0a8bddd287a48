package demo_test

import (
	"os"
	"path/filepath"
	"testing"
)

// The program is killed with SIGKILL while a person is waited for, and started
// again: the workspace, the card and the run are all there, and the approved call
// happens once.
func TestKilledWhileItWaits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	document := filepath.Join(dir, "shop", "docs", "doc_42.md")
	first := startDemo(t, dir)
	first.expectListening()
	first.act("say", map[string]any{"user": "U0ANA", "channel": "C0OPS", "text": "@countersign 删除文档 doc_42"})
	card := first.expect("U0BEN", "approval_approve", "doc_42")
	first.kill()
	if _, err := os.Stat(document); err != nil {
		t.Fatalf("the document is gone before anybody approved it: %v", err)
	}

	second := startDemo(t, dir)
	again := second.expect("U0BEN", "approval_approve", "doc_42")
	if again.TS != card.TS {
		t.Errorf("the card was posted again at %s, was %s", again.TS, card.TS)
	}
	second.act("click", map[string]any{"user": "U0BEN", "channel": "C0OPS", "ts": card.TS, "action_id": "approval_approve"})
	second.expect("U0ANA", "doc_42", "U0BEN", "已变更")
	if _, err := os.Stat(document); !os.IsNotExist(err) {
		t.Errorf("the document is still there: %v", err)
	}
	second.kill()

	third := startDemo(t, dir)
	third.expect("U0ANA", "doc_42", "U0BEN", "已变更")
	deleted, err := filepath.Glob(filepath.Join(dir, "shop", "docs", ".trash", "*"))
	if err != nil || len(deleted) != 1 {
		t.Errorf("deleted: %v %v", deleted, err)
	}
	answers := 0
	for _, m := range third.messages("U0ANA") {
		if m.has("已变更") {
			answers++
		}
	}
	if answers != 1 {
		t.Errorf("%d answers", answers)
	}
}

package demo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"countersign/tools/sandbox/sandboxtest"
)

// says has a person write in #ops.
func (d *demo) says(user, text string) {
	d.t.Helper()
	d.act("say", map[string]any{"user": user, "channel": "C0OPS", "text": text})
}

// presses has a person press a button of a message.
func (d *demo) presses(user string, m message, action string) {
	d.t.Helper()
	d.act("click", map[string]any{"user": user, "channel": "C0OPS", "ts": m.TS, "action_id": action})
}

// played starts a demo of its own that is connected.
func played(t *testing.T, environment ...string) *demo {
	t.Helper()
	d := startDemo(t, filepath.Join(t.TempDir(), "demo"), environment...)
	d.expectListening()
	return d
}

// Scene 6: the column is not there; the schema is looked up, and the corrected query is answered.
func TestSceneOfTheWrongColumn(t *testing.T) {
	t.Parallel()
	d := played(t)
	d.says("U0ANA", "@countersign 按周统计订单数和金额")
	d.expect("U0ANA", "按周统计的订单", "data_table", "2026-44", "未做任何变更")
	d.expect("U0ANA", "query_sql", "get_schema", "no such column: week")
}

// Scene 7: the card has the row before and after, and what ran is what it showed.
func TestSceneOfTheUpdate(t *testing.T) {
	t.Parallel()
	d := played(t)
	d.says("U0ANA", "@countersign set order 7 to shipped")
	card := d.expect("U0BEN", "approval_approve", "1 row of orders would be updated", "- id=7  status=paid", "+ id=7  status=shipped")
	d.presses("U0BEN", card, "approval_approve")
	d.expect("U0ANA", "Order 7 is set to shipped", "updated 1 row in shop.orders", "Changed:", "U0BEN")
	d.says("U0ANA", "@countersign set order 7 to delivered")
	d.expect("U0BEN", "approval_approve", "- id=7  status=shipped", "+ id=7  status=delivered")
}

// Scene 9: two people of finance; the requester, a manager and an outsider do not count.
func TestSceneOfTheRefundForTwo(t *testing.T) {
	t.Parallel()
	d := played(t)
	d.says("U0ANA", "@countersign refund 1500 of order 9")
	card := d.expect("U0CHEN", "approval_approve", "refund", "1500", "1800")
	for _, somebody := range []string{"U0ANA", "U0BEN", "U0OLGA"} {
		d.presses(somebody, card, "approval_approve")
	}
	d.presses("U0CHEN", card, "approval_approve")
	d.presses("U0CHEN", card, "approval_approve") // once more is not another person
	card = d.expect("U0DORA", "approval_approve", "1500", "U0CHEN")
	d.presses("U0DORA", card, "approval_approve")
	d.expect("U0ANA", "1500 of order 9 are refunded", "Changed:", "U0CHEN", "U0DORA")
	d.says("U0ANA", "@countersign refund 1500 of order 9")
	d.expect("U0ANA", "refunded: 1500", "approval_approve") // the shop's own books, on the next card
}

// Scene 10: a real container refuses the network and the write outside, and the model is told.
func TestSceneOfTheSandbox(t *testing.T) {
	t.Parallel()
	engine, err := sandboxtest.Start(t.Context())
	if errors.Is(err, sandboxtest.ErrMissing) && os.Getenv("COUNTERSIGN_SANDBOX") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := engine.MakeImage(context.WithoutCancel(t.Context()), "busybox:latest"); err != nil {
		t.Fatal(err)
	}
	d := played(t, "CONTAINER_HOST="+engine.Host)
	d.says("U0ANA", "@countersign try the network and a write outside from the sandbox")
	card := d.expect("U0BEN", "approval_approve", "run_command", "/etc/outside")
	d.presses("U0BEN", card, "approval_approve")
	d.expect("U0ANA", "The sandbox refused both", "Network is unreachable", "Read-only file system", "network exit: 1\nwrite exit: 1", "ran a command in a container")
	if _, err := os.Stat("/etc/outside"); !os.IsNotExist(err) {
		t.Errorf("it was written outside: %v", err)
	}
	left, err := engine.Containers(t.Context())
	if err != nil || len(left) != 0 {
		t.Errorf("containers that are left: %v %v", left, err)
	}
}

// Without an engine scene 10 says so, and runs nothing.
func TestSceneOfTheSandboxWithoutAnEngine(t *testing.T) {
	t.Parallel()
	d := played(t, "CONTAINER_HOST=unix://"+filepath.Join(t.TempDir(), "none.sock"))
	d.says("U0ANA", "@countersign try the network and a write outside from the sandbox")
	d.expect("U0ANA", "The command did not run", "No container engine answers, so nothing was run", "Nothing was changed")
}

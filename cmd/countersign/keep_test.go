package main

import (
	"path/filepath"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

func TestBackupWhileServing(t *testing.T) {
	t.Parallel()
	d, _, _ := waiting(t, apptest.Options{})
	file := filepath.Join(t.TempDir(), "backup.db")
	if out := d.must("backup", file); !strings.Contains(out, "is a whole copy") {
		t.Error(out)
	}
	d.fails("overwrites nothing", "backup", file)
	d.fails("cannot be written", "backup", filepath.Join(file, "below"))
	d.env["DATABASE_URL"] = "sqlite:" + file
	if out := d.must("approvals", "list"); !strings.Contains(out, "delete_document") {
		t.Errorf("the copy lacks the approval: %s", out)
	}
}

// The whole way to Postgres: stop, move, start; the card that was posted before is
// clicked after, and the call runs once.
func TestMoveToPostgres(t *testing.T) {
	t.Parallel()
	w := apptest.New(t, apptest.Options{})
	p := w.Run()
	d := sit(t, w)
	ask := w.Slack.User("ana").Says("#ops", "@countersign 删除文档 doc_42")
	card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
	from, target := d.env["DATABASE_URL"], apptest.Postgres(t)
	d.env["DATABASE_URL"] = target
	d.fails("stop it first", "migrate", "--from", from)
	d.fails("--from is sqlite:FILE", "migrate", "--from", target)
	w.Stop(p)
	out := d.must("migrate", "--from", from)
	if !strings.Contains(out, "  runs\n") || !strings.Contains(out, "the record verifies") {
		t.Error(out)
	}
	d.fails("empty one", "migrate", "--from", from)
	w.URL = target
	w.Run()
	w.Press(w.Slack.User("mgr"), card, "approval_approve")
	d.Slack.Expect(slacktest.InThread(card), slacktest.MetaHas("subject", "/answer"))
	if d.File("docs/doc_42.md") != "" {
		t.Error("the document is still there")
	}
	if run := d.runOf(); run.State != agent.Success {
		t.Errorf("the run is %s", run.State)
	}
	if out := d.must("audit", "verify"); !strings.HasPrefix(out, "ok: ") {
		t.Error(out)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	address := apptest.Free(t)
	w := apptest.New(t, apptest.Options{Env: map[string]string{"COUNTERSIGN_HTTP_ADDR": address}})
	d := sit(t, w)
	d.fails("Nobody answers at "+address, "ready")
	w.Run()
	w.Until("the process to be ready", func() bool { return d.run("ready").out == "ready\n" })
	d.env["COUNTERSIGN_HTTP_ADDR"] = ":" + address[strings.LastIndex(address, ":")+1:]
	d.must("ready")
	d.env["COUNTERSIGN_HTTP_ADDR"] = "nowhere:0x"
	d.fails("Nobody answers", "ready")
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// The whole way back: a copy is made while a card waits and its process serves, the
// process and its database are lost, and the card that was posted before is pressed
// after another process serves the copy.
func TestRestoreWithACardThatWaits(t *testing.T) {
	t.Parallel()
	for database, copied := range map[string]func(*testing.T, *desk) string{"sqlite": backup, "postgres": dump} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
			script := apptest.Play(apptest.Calls("wipe", `{"what":"the cache"}`), apptest.Says("It is done."))
			w := apptest.New(t, apptest.Options{Database: database, Model: script, Extra: []tools.Tool{wipe}})
			p := w.Run()
			d := sit(t, w)
			ask := w.Slack.User("ana").Says("#ops", "@countersign wipe the cache")
			card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
			restored := copied(t, d)
			w.Stop(p)
			w.URL, d.env["DATABASE_URL"] = restored, restored
			w.Run()
			if run := d.runOf(); wipe.Count() != 0 || run.State != agent.WaitingApproval {
				t.Fatalf("before the press: %d calls, the run is %s", wipe.Count(), run.State)
			}
			w.Press(w.Slack.User("mgr"), card, "approval_approve")
			w.Slack.Expect(slacktest.InThread(card), slacktest.MetaHas("subject", "/answer"))
			if run := d.runOf(); wipe.Count() != 1 || run.State != agent.Success {
				t.Errorf("after the press: %d calls, the run is %s", wipe.Count(), run.State)
			}
			if out := d.must("audit", "verify"); !strings.HasPrefix(out, "ok: ") {
				t.Error(out)
			}
		})
	}
}

// backup is the way of a SQLite file; the copy is served where it is.
func backup(t *testing.T, d *desk) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "elsewhere.db")
	d.must("backup", file)
	return "sqlite:" + file
}

// dump is the way of Postgres, into another database that is empty.
func dump(t *testing.T, d *desk) string {
	t.Helper()
	file, target := filepath.Join(t.TempDir(), "countersign.dump"), apptest.Postgres(t)
	for _, args := range [][]string{
		{"pg_dump", "--format=custom", "--file=" + file, d.env["DATABASE_URL"]},
		{"pg_restore", "--exit-on-error", "--no-owner", "--dbname=" + target, file},
	} {
		if _, err := exec.LookPath(args[0]); err != nil && os.Getenv("TEST_POSTGRES") != "require" {
			t.Skip(err)
		}
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, out)
		}
	}
	return target
}

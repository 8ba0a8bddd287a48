// Package bolt checks local Slack with Slack's own app framework: if Bolt works
// against it, so does what the Bolt authors know about Slack.
package bolt

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// start runs app.js against the workspace until the test ends. Without the
// installed packages the test is skipped, unless COUNTERSIGN_BOLT says that
// they must be there.
func start(t *testing.T, ws *slacktest.Slack) {
	t.Helper()
	if _, err := os.Stat("node_modules/@slack/bolt"); errors.Is(err, fs.ErrNotExist) && os.Getenv("COUNTERSIGN_BOLT") == "" {
		t.Skip("@slack/bolt is not installed: npm ci in localslack/bolt")
	}
	cmd := exec.Command("node", "app.js")
	cmd.Env = os.Environ()
	for k, v := range ws.Env() {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // has ended already when the test failed early
		_ = cmd.Wait()                          // ends by the signal
		if t.Failed() || errs.Len() > 0 {
			t.Errorf("Bolt said:\n%s", errs.String())
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("Bolt did not start: %q %s", lines.Text(), errs.String())
	}
	go func() {
		for lines.Scan() { // keeps the pipe empty
		}
	}()
	ws.Until("a connection", func(s *localslack.Server) bool { return s.Connections() == 1 })
}

func TestBolt(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	start(t, ws)
	ana, mgr := ws.User("ana"), ws.User("mgr")

	ask := ana.Says("#ops", "@countersign delete doc_42")
	card := ws.Expect(
		slacktest.InThread(ask), slacktest.Button("approval_edit"), slacktest.Text("Delete doc_42?"), slacktest.Meta("run", "run_1"))
	mgr.Clicks(card, "approval_edit")
	form := ws.ExpectModal(mgr, "Edit")
	if out := form.Submit(); out.Errors["arg:id"] != "nothing changed" {
		t.Errorf("an unchanged form gave %+v", out)
	}
	form.Fill("arg:id", "doc_43").MustSubmit()
	ws.ExpectUpdate(card, slacktest.Text("Approved with doc_43 by <@U0MGR>"), slacktest.NoButton(""))
	ws.ExpectNoModal(mgr)

	mgr.OpensHome()
	ws.ExpectHome(mgr, "Nothing waits for you")
	ana.Commands("#ops", "/countersign", "pending")
	ws.Expect(slacktest.OnlyFor(ana), slacktest.Text("nothing is pending for ana"))

	file := ana.Says("#ops", "upload the rows")
	got := ws.Expect(slacktest.InThread(file), slacktest.Text("All rows"))
	f, ok := ws.Server.Workspace().File(got.Now().Files[0])
	if !ok || string(f.Content) != "a,b\n1,2\n" {
		t.Errorf("uploaded %q", f.Content)
	}
	ws.ExpectAcked()
	ws.NoStray()
}

// TestBoltReconnects lets Slack refresh the connection: Bolt opens a new one
// and gets what was said meanwhile by the retries.
func TestBoltReconnects(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) {
		c.Timing.Retries = []time.Duration{0, 500 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second, time.Second, 2 * time.Second, 3 * time.Second}
		c.Timing.Warning = 10 * time.Millisecond
	})
	start(t, ws)
	ws.Server.Disconnect("refresh_requested")
	ws.Until("the end of the connection", func(s *localslack.Server) bool { return s.Connections() == 0 })
	ask := ws.User("ana").Says("#ops", "@countersign are you there?")
	ws.Expect(slacktest.InThread(ask), slacktest.Text("Delete doc_42?"))
}

package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/localslack"
)

// served runs serve until the log says something, and gives the log.
func (d *desk) served(until string) (code int, log string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*time.Minute)
	defer cancel()
	w := &watched{part: until, found: cancel}
	h := host{lookup: func(name string) (string, bool) { v, ok := d.env[name]; return v, ok }, now: time.Now}
	code = h.run(ctx, []string{"--config", d.file, "serve"}, w, w)
	return code, w.String()
}

// watched is a log that tells when something is in it.
type watched struct {
	mu    sync.Mutex
	text  bytes.Buffer
	part  string
	found func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.text.Write(p)
	if strings.Contains(w.text.String(), w.part) {
		w.found()
	}
	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// What the doctor finds, serve warns of; what is optional keeps nothing from starting.
func TestServeWarns(t *testing.T) {
	t.Parallel()
	d := healthy(t, apptest.Options{Approvals: "approvals: {approvers: [manager, finance], ttl: 1h}"})
	d.Slack.Allow(localslack.ViolationScope)
	d.Slack.Server.SetScopes("app_mentions:read", "chat:write", "channels:history", "groups:history", "channels:read", "groups:read", "users:read", "files:write")
	code, log := d.served("or name people by users instead")
	if code != 0 || !strings.Contains(log, "msg=serving") || !strings.Contains(log, "User groups cannot be read without the scope usergroups:read") {
		t.Errorf("exit code %d\n%s", code, log)
	}
	if strings.Contains(log, "goroutine") {
		t.Error("a stack trace")
	}
}

func TestServeWarnsOfNoApprovers(t *testing.T) {
	t.Parallel()
	d := healthy(t, apptest.Options{Approvals: "approvals: {ttl: 1h}"})
	code, log := d.served("msg=serving")
	if code != 0 || !strings.Contains(log, "nobody may countersign, so these are refused: delete_document") {
		t.Errorf("exit code %d\n%s", code, log)
	}
}

// Bad input gets one clear sentence, and nothing else.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(d *desk)
		says   string
	}{
		"wrong token":   {func(d *desk) { d.env["SLACK_BOT_TOKEN"] = "xoxb-another" }, "Slack refuses SLACK_BOT_TOKEN (invalid_auth)"},
		"revoked token": {func(d *desk) { d.Slack.Server.BreakToken("token_revoked") }, "Slack refuses SLACK_BOT_TOKEN (token_revoked)"},
		"swapped tokens": {func(d *desk) {
			d.env["SLACK_BOT_TOKEN"], d.env["SLACK_APP_TOKEN"] = d.env["SLACK_APP_TOKEN"], d.env["SLACK_BOT_TOKEN"]
		}, "swap the two"},
		"no token":         {func(d *desk) { delete(d.env, "SLACK_APP_TOKEN") }, "slack.app_token: is missing; set SLACK_APP_TOKEN"},
		"database down":    {func(d *desk) { d.env["DATABASE_URL"] = "postgres://nobody:secret@127.0.0.1:1/none" }, "The database at 127.0.0.1:1/none cannot be reached."},
		"no folder":        {func(d *desk) { d.env["DATABASE_URL"] = "sqlite:" + filepath.Join(d.Dir, "none", "x.db") }, "The database file"},
		"no such database": {func(d *desk) { d.env["DATABASE_URL"] = "mysql://x/y" }, "the database mysql is not supported"},
		"unknown key":      {func(d *desk) { d.write(d.text + "limit: {max_steps: 3}\n") }, "limit: unknown setting; did you mean limits?"},
		"no Slack":         {func(d *desk) { d.env["SLACK_API_URL"] = "http://127.0.0.1:1/api" }, "Slack cannot be reached."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := healthy(t, apptest.Options{})
			c.change(d)
			out := d.fails(c.says, "serve")
			if out != "" || strings.Contains(c.says, "secret") {
				t.Errorf("it printed %q", out)
			}
		})
	}
}

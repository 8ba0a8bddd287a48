package main

import (
	"fmt"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	d := sit(t, apptest.New(t, apptest.Options{}))
	golden(t, "ids_all", d.must("ids", "-"))
	golden(t, "ids_an", d.must("ids", "an"))
	if out := d.must("ids", "#OPS"); out != "# channels\n- C0OPS # #ops\n" {
		t.Error(out)
	}
	d.fails("is called", "ids", "nobody at all")
}

// A workspace of several pages, and names that would be more than names.
func TestIDsOverPages(t *testing.T) {
	t.Parallel()
	d := sit(t, apptest.New(t, apptest.Options{Slack: []func(*localslack.Config){func(c *localslack.Config) {
		for i := range 450 {
			c.People = append(c.People, localslack.Person{ID: fmt.Sprintf("U1%04d", i), Name: fmt.Sprintf("crowd%d", i)})
			c.Channels = append(c.Channels, localslack.Channel{ID: fmt.Sprintf("C1%04d", i), Name: fmt.Sprintf("crowd-%d", i)})
		}
		c.People = append(c.People, localslack.Person{ID: "U1EVIL", Name: "crowd\nroles: {manager: {users: [U1EVIL]}}\x1b[2J"})
	}}}))
	out := d.must("ids", "crowd")
	if n := strings.Count(out, "\n- U1"); n != 451 {
		t.Errorf("%d people", n)
	}
	if n := strings.Count(out, "\n- C1"); n != 450 {
		t.Errorf("%d channels", n)
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "# ") || strings.ContainsRune(line, '\x1b') {
			t.Errorf("a name broke out of its comment: %q", line)
		}
	}
}

func TestIDsWithoutAScope(t *testing.T) {
	t.Parallel()
	w := apptest.New(t, apptest.Options{})
	w.Slack.Allow(localslack.ViolationScope)
	d := sit(t, w)
	w.Slack.Server.SetScopes("users:read", "channels:read", "groups:read")
	if out := d.must("ids", "an"); !strings.Contains(out, "usergroups:read") || !strings.Contains(out, "U0ANA") {
		t.Error(out)
	}
	w.Slack.Server.SetScopes("channels:read", "groups:read")
	d.fails("add the scope users:read", "ids", "an")
	w.Slack.Server.BreakToken("token_revoked")
	d.fails("token_revoked", "ids", "an")
	delete(d.env, "SLACK_BOT_TOKEN")
	d.fails("SLACK_BOT_TOKEN", "ids", "an")
}

package main

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// printedManifest is what Slack reads of a manifest.
type printedManifest struct {
	Features struct {
		Commands []struct {
			Command string `yaml:"command"`
		} `yaml:"slash_commands"`
	} `yaml:"features"`
	OAuth struct {
		Scopes struct {
			Bot []string `yaml:"bot"`
		} `yaml:"scopes"`
	} `yaml:"oauth_config"`
	Settings struct {
		Events struct {
			Bot []string `yaml:"bot_events"`
		} `yaml:"event_subscriptions"`
	} `yaml:"settings"`
}

func manifestOf(t *testing.T, d *desk) printedManifest {
	t.Helper()
	var m printedManifest
	if err := yaml.Unmarshal([]byte(d.must("manifest")), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// A Slack that grants what the manifest asks for, and nothing more, is enough: the
// local Slack ends the test for every call without its scope.
func TestManifestIsEnough(t *testing.T) {
	t.Parallel()
	m := manifestOf(t, sit(t, apptest.New(t, apptest.Options{})))
	w := apptest.Start(t, apptest.Options{Slack: []func(*localslack.Config){func(c *localslack.Config) {
		c.App.Scopes, c.App.Events, c.App.Commands = m.OAuth.Scopes.Bot, m.Settings.Events.Bot, []string{m.Features.Commands[0].Command}
	}}})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	for _, channel := range []string{"#ops", "#vault"} {
		ask := ana.Says(channel, "@countersign 删除文档 doc_42")
		card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"), slacktest.Text("doc_42"))
		if channel == "#ops" {
			ana.Replies(ask, "stop") // without a mention
			w.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
			continue
		}
		w.Press(mgr, card, "approval_edit")
		w.Slack.ExpectModal(mgr).Close()
		w.Press(mgr, card, "approval_approve")
		w.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/answer"), slacktest.Text("doc_42"))
	}
	mgr.OpensHome()
	w.Slack.ExpectHome(mgr, "")
	ana.Says("#ops", "@countersign help")
	w.Slack.Expect(slacktest.OnlyFor(ana), slacktest.Text("delete_document"))
	mgr.Commands("#ops", "/countersign", "pending")
	w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("Nothing waits for you"))
	runs, err := w.Newest().Store().Runs(t.Context(), false, 10)
	if err != nil || len(runs) != 2 || runs[0].State != agent.Success || runs[1].State != agent.Cancelled {
		t.Errorf("%+v, %v", runs, err)
	}
}

func TestManifestCommand(t *testing.T) {
	t.Parallel()
	d := bare(t, "", nil)
	if out := d.must("manifest", "--name", "ops helper"); !strings.Contains(out, `display_name: "ops helper"`) {
		t.Error(out)
	}
	d.fails("at most 35 characters", "manifest", "--name", strings.Repeat("x", 36))
}

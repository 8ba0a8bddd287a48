package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"countersign/internal/config"
)

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	const hidden = "xoxb-hunter2"
	c := config.Default()
	c.Slack.BotToken = config.NewSecret(hidden)
	c.Tools.MCP = []config.MCP{{Env: map[string]config.Secret{"TOKEN": config.NewSecret(hidden)}}}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "token", c.Slack.BotToken, "slack", c.Slack)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "token", c.Slack.BotToken, "slack", c.Slack)
	verb := "%d" // in a variable, since vet knows that the verb is wrong
	prints := map[string]string{
		"%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", *c), "%#v": fmt.Sprintf("%#v", *c),
		"%s": fmt.Sprintf("%s", c.Slack.BotToken), "%q": fmt.Sprintf("%q", c.Slack.BotToken),
		"%x": fmt.Sprintf("%x", c.Slack.BotToken), "%d": fmt.Sprintf(verb, c.Slack.BotToken),
		"json": string(asJSON), "yaml": string(asYAML), "log": log.String(),
	}
	for how, text := range prints {
		if strings.Contains(text, hidden) || strings.Contains(text, fmt.Sprintf("%x", hidden)) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
	}
	if !strings.Contains(prints["json"], `"[secret]"`) {
		t.Error("nothing says that there is a secret")
	}
	if c.Slack.BotToken.Reveal() != hidden {
		t.Error("the value is lost")
	}
	if s := fmt.Sprint(config.Secret{}); s != "" {
		t.Errorf("no secret prints as %q", s)
	}
}

func TestWhereSecretsComeFrom(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token, empty, large := write("token", "xoxb-file\r\n"), write("empty", "\n"), write("large", strings.Repeat("x", 70_000))
	vars := map[string]string{"TOKEN": "xoxb-env", "FOLDER": folder, "EMPTY": ""}
	cases := []struct{ text, want, problem string }{
		{"plain", "plain", ""},
		{"12345", "12345", ""},
		{"${TOKEN}", "xoxb-env", ""},
		{"a-${TOKEN}-b", "a-xoxb-env-b", ""},
		{"$${TOKEN}", "${TOKEN}", ""},
		{"$TOKEN", "$TOKEN", ""},
		{"file:" + token, "xoxb-file", ""},
		{"file:${FOLDER}/token", "xoxb-file", ""},
		{"file:" + empty, "", "is empty"},
		{"file:" + large, "", "larger than a secret"},
		{"file:" + folder, "", "cannot be read: is a directory"},
		{"${EMPTY}", "", "EMPTY is not set"},
		{"${A}${B}", "", "A, B is not set"},
		{"file:${A}", "", "A is not set"},
	}
	for _, c := range cases {
		got, err := parse(t, "model: {api_key: '"+c.text+"'}", vars)
		switch {
		case c.problem != "":
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: error = %v, want … %s …", c.text, err, c.problem)
			}
		case err != nil:
			t.Errorf("%s: %v", c.text, err)
		case got.Model.Key.Reveal() != c.want:
			t.Errorf("%s = %q, want %q", c.text, got.Model.Key.Reveal(), c.want)
		}
	}
	c := mustParse(t, "", map[string]string{"SLACK_BOT_TOKEN": "file:" + token})
	if c.Slack.BotToken.Reveal() != "xoxb-file" {
		t.Error("file:PATH in SLACK_BOT_TOKEN is not read")
	}
	if files := c.Files(); len(files) != 2 || files[0] != "countersign.yaml" || files[1] != token {
		t.Errorf("files = %v", files)
	}
	if _, err := parse(t, "", map[string]string{"SLACK_BOT_TOKEN": "file:/nowhere"}); err == nil || !strings.Contains(err.Error(), "environment variable SLACK_BOT_TOKEN: slack.bot_token: the file /nowhere") {
		t.Errorf("error = %v", err)
	}
}

func TestProblemsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	for _, text := range []string{
		"slack: {bot_token: " + hidden + "}",
		"slack: {bot_token: ' " + hidden + "'}",
		"database: {url: 'postgres://u:" + hidden + "@h'}",
		"database: {url: 'postgres://u:" + hidden + "%zz@h/d'}",
		"tools: {sql: [{name: a, url: 'oracle://u:" + hidden + "@h/d'}]}",
		"tools: {http: [{name: a, description: d, url: https://h, headers: {'A b': " + hidden + "}}]}",
		"database: {url: '" + hidden + "'}",
	} {
		_, err := parse(t, text, nil)
		if err == nil || strings.Contains(err.Error(), hidden) {
			t.Errorf("%s: error = %v", text, err)
		}
	}
}

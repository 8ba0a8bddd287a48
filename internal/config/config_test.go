package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"countersign/internal/config"
)

const example = "../../deploy/countersign.example.yaml"

// environment gives variables from a map.
func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func parse(t *testing.T, text string, vars map[string]string) (*config.Config, error) {
	t.Helper()
	return config.Parse("countersign.yaml", []byte(text), environment(vars))
}

func mustParse(t *testing.T, text string, vars map[string]string) *config.Config {
	t.Helper()
	c, err := parse(t, text, vars)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return c
}

func TestEmptyFileIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# only a comment\n", "slack:\ntools:\n", "---\n"} {
		c := mustParse(t, text, nil)
		want := config.Default()
		if diff := cmp.Diff(want.Limits, c.Limits); diff != "" {
			t.Errorf("%q: limits (-want +got):\n%s", text, diff)
		}
		if c.Model != want.Model || c.HTTP != want.HTTP || c.Database != want.Database {
			t.Errorf("%q: differs from the default", text)
		}
		if len(c.Warnings()) > 0 {
			t.Errorf("%q: warnings %v", text, c.Warnings())
		}
	}
}

func TestDefaultPassesItsOwnChecks(t *testing.T) {
	t.Parallel()
	if err := config.Default().Check(); err != nil {
		t.Error(err)
	}
}

func TestExampleLoads(t *testing.T) {
	t.Parallel()
	c, err := config.Load(example, environment(nil))
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %v", w)
	}
	// What the example writes out as default must be the default.
	want := config.Default()
	if diff := cmp.Diff(want.Limits, c.Limits); diff != "" {
		t.Errorf("limits (-default +example):\n%s", diff)
	}
	want.Approvals.Approvers = []string{"manager"}
	if diff := cmp.Diff(want.Approvals, c.Approvals, cmpopts.EquateComparable(config.Secret{})); diff != "" {
		t.Errorf("approvals (-default +example):\n%s", diff)
	}
	refund := c.Tools.HTTP[0]
	if refund.Risk != "high" || !refund.Idempotent || refund.Preview.Method != "GET" || !strings.Contains(string(refund.Parameters), `"exclusiveMinimum":0`) {
		t.Errorf("refund = %+v", refund)
	}
}

func TestValuesOfEveryKind(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
slack: {channels: [C1, G23456789], thread_replies: all}
model: &m
  name: 4.1
  timeout: 1m30s
  price: {input_per_million: 1.25}
limits: {input_ttl: 7d, max_steps: 0x10}
roles:
  manager: {users: [U1, W2], usergroups: [S1]}
approvals: {approvers: [manager], self_approval: true}
tools:
  http:
    - name: status
      description: >
        Shows
        the status.
      url: ${BASE}/status
      egress: false
      max_bytes: 64KiB
      parameters: {type: object, properties: {id: {type: integer, maximum: 9007199254740993, multipleOf: 1.10}}}
`, map[string]string{"BASE": "https://shop.example"})
	tool := c.Tools.HTTP[0]
	got := []any{
		c.Slack.Channels, c.Slack.ThreadReplies, c.Model.Name, c.Model.Timeout, c.Model.Price,
		c.Limits.InputTTL, c.Limits.MaxSteps, c.Roles["manager"].Users, c.Approvals.SelfApproval,
		tool.Description, tool.URL, *tool.Egress, tool.MaxBytes, tool.Method, string(tool.Parameters),
	}
	want := []any{
		[]config.ChannelID{"C1", "G23456789"}, "all", "4.1", 90 * time.Second, config.Price{InputPerMillion: 1.25, Currency: "USD"},
		7 * 24 * time.Hour, 16, []config.UserID{"U1", "W2"}, true,
		"Shows the status.\n", "https://shop.example/status", false, config.Bytes(65536), "GET",
		`{"properties":{"id":{"maximum":9007199254740993,"multipleOf":1.10,"type":"integer"}},"type":"object"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryProblemIsNamedAtOnceWithItsLine(t *testing.T) {
	t.Parallel()
	_, err := parse(t, `slack:
  chanels: [C1]
limits:
  max_step: 4
  max_tokens: many
quorum: 2
`, nil)
	want := strings.TrimSpace(`
countersign.yaml line 2, column 3: slack.chanels: unknown setting; did you mean channels?
countersign.yaml line 4, column 3: limits.max_step: unknown setting; did you mean max_steps?
countersign.yaml line 5, column 15: limits.max_tokens: "many" is no whole number
countersign.yaml line 6, column 1: quorum: unknown setting; did you mean approvals.quorum?`)
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	var problems config.Problems
	if !errors.As(err, &problems) || len(problems) != 4 || problems[0].Line != 2 || problems[0].Key != "slack.chanels" {
		t.Errorf("problems = %#v", problems)
	}
}

func TestEnvironmentWins(t *testing.T) {
	t.Parallel()
	text := "slack: {app_token: xapp-file, bot_token: xoxb-file, api_url: https://a.example}\nmodel: {name: a, base_url: https://b.example, api_key: k}\ndatabase: {url: sqlite:a.db}\nhttp: {addr: \"127.0.0.1:1\"}"
	vars := map[string]string{
		"SLACK_APP_TOKEN": "xapp-env", "SLACK_BOT_TOKEN": "xoxb-env", "SLACK_API_URL": "http://127.0.0.1:9/api/",
		"OPENAI_API_KEY": "k2", "OPENAI_BASE_URL": "http://127.0.0.1:8/v1", "OPENAI_MODEL": "m2",
		"DATABASE_URL": "postgres://u:p@h/d", "COUNTERSIGN_HTTP_ADDR": ":2",
	}
	read := func(c *config.Config) []string {
		return []string{
			c.Slack.AppToken.Reveal(), c.Slack.BotToken.Reveal(), c.Slack.APIURL, c.Model.Key.Reveal(),
			c.Model.BaseURL, c.Model.Name, c.Database.URL.Reveal(), c.HTTP.Addr,
		}
	}
	won := []string{"xapp-env", "xoxb-env", "http://127.0.0.1:9/api/", "k2", "http://127.0.0.1:8/v1", "m2", "postgres://u:p@h/d", ":2"}
	if diff := cmp.Diff(won, read(mustParse(t, text, vars))); diff != "" {
		t.Errorf("over the file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(won, read(mustParse(t, "", vars))); diff != "" {
		t.Errorf("alone (-want +got):\n%s", diff)
	}
	for name := range vars {
		vars[name] = ""
	}
	own := []string{"xapp-file", "xoxb-file", "https://a.example", "k", "https://b.example", "a", "sqlite:a.db", "127.0.0.1:1"}
	if diff := cmp.Diff(own, read(mustParse(t, text, vars))); diff != "" {
		t.Errorf("empty variables must not win (-want +got):\n%s", diff)
	}
	_, err := parse(t, text, map[string]string{"DATABASE_URL": "mysql://root:hunter2@h/d"})
	if err == nil || !strings.HasPrefix(err.Error(), "environment variable DATABASE_URL: database.url: the database mysql is not supported") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error = %v", err)
	}
}

func TestLoadNamesAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.yaml")
	_, err := config.Load(path, environment(nil))
	if !errors.Is(err, os.ErrNotExist) && (err == nil || !strings.Contains(err.Error(), "no such file")) {
		t.Errorf("error = %v", err)
	}
	if c, err := config.Load("", environment(nil)); err != nil || c == nil {
		t.Errorf("without a file: %v", err)
	}
}

func TestServeProblems(t *testing.T) {
	t.Parallel()
	if err := config.Default().ServeProblems(); err == nil || strings.Count(err.Error(), "is missing; set ") != 3 {
		t.Errorf("error = %v", err)
	}
	c := mustParse(t, "", map[string]string{"SLACK_APP_TOKEN": "xapp-1", "SLACK_BOT_TOKEN": "xoxb-1", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})
	if err := c.ServeProblems(); err != nil {
		t.Error(err)
	}
}

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/internal/config"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// caller is a model that makes the one call that the request spells out, and then
// says what came of it: "call NAME JSON".
func caller() *apptest.Script {
	return apptest.Play(apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		text := ""
		for _, m := range r.Messages {
			if m.Role == "user" {
				text = m.Content
			}
		}
		_, call, _ := strings.Cut(text, "call ")
		name, rest, _ := strings.Cut(call, " ")
		var args json.RawMessage
		if json.NewDecoder(strings.NewReader(rest)).Decode(&args) != nil {
			return apptest.Says("No call in: " + text)
		}
		return apptest.Calls(name, string(args))
	}}, apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		return apptest.Says("It said: " + r.Messages[len(r.Messages)-1].Content)
	}})
}

// changed is the world's configuration after edits of its text and environment.
func (s *stage) changed(edit func(text string, env map[string]string) string) *config.Config {
	s.t.Helper()
	text, env := s.Settings()
	text = edit(text, env)
	cfg, err := config.Parse("countersign.yaml", []byte(text), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		s.t.Fatal(err)
	}
	return cfg
}

// reload takes a configuration over, of which everything must be possible.
func (s *stage) reload(cfg *config.Config) app.Reloaded {
	s.t.Helper()
	out, err := s.Newest().Reload(s.t.Context(), cfg)
	if err != nil || len(out.Restart) > 0 {
		s.t.Fatalf("reload: %+v %v", out, err)
	}
	return out
}

// with is an edit that adds sections.
func with(yaml string) func(string, map[string]string) string {
	return func(text string, _ map[string]string) string { return text + yaml }
}

// settled starts a world with a listener that stays where it is over reloads.
func settled(t *testing.T, o apptest.Options) *stage {
	t.Helper()
	o.Env = map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}
	return start(t, o)
}

// Tools of every kind come and go with a reload; a card that waited through it is
// still good.
func TestToolsAreTakenOver(t *testing.T) {
	t.Parallel()
	type in struct {
		Service string `json:"service"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "hub", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "state", Description: "Tells the state of a service."},
		func(_ context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: i.Service + " is up"}}}, nil, nil
		})
	hub := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(hub.Close)
	s := settled(t, apptest.Options{Model: caller()})
	waits := s.asks(`call delete_document {"thought":"asked","id":"doc_42"}`)
	card := s.card(waits)
	ask := s.asks(`call hub_state {"service":"web"}`)
	s.answered(ask, "It said", "hub_state")
	s.reload(s.changed(func(text string, _ map[string]string) string {
		text = strings.Replace(text, `name: shop, url`, `name: store, url`, 1)
		return text + fmt.Sprintf("  mcp:\n    - {name: hub, url: %q, trusted: true, risk: low}\n", hub.URL)
	}))
	ask = s.asks(`call hub_state {"thought":"look","service":"web"}`)
	s.answered(ask, "web is up")
	ask = s.asks(`call get_schema {"thought":"look","database":"store"}`)
	s.answered(ask, "customers")
	s.Press(s.mgr, card, "approval_approve")
	s.answered(waits, "It said")
	if s.File("docs/doc_42.md") != "" {
		t.Error("the approved deletion did not run after the reload")
	}
	s.reload(s.Config()) // and back
	ask = s.asks(`call hub_state {"thought":"look","service":"web"}`)
	if strings.Contains(s.answered(ask, "It said").Shown(), "web is up") {
		t.Error("the tool of a server that is not configured any more was called")
	}
}

// Limits, masks and places hold from the reload on, for people and for runs.
func TestLimitsMasksAndPlacesAreTakenOver(t *testing.T) {
	t.Parallel()
	s := settled(t, apptest.Options{Model: caller()})
	ask := s.asks(`call list_files {"thought":"look","path":"."}`)
	s.answered(ask, "transactions.log")
	out := s.reload(s.changed(with("limits: {per_day: {user: {tokens: 1}}}\nredact: ['doc_\\d+']\nslack: {channels: [C0OPS]}\n")))
	if len(out.Taken) != 3 {
		t.Errorf("taken: %+v", out.Taken)
	}
	ask = s.asks("call list_files {}")
	s.answered(ask, "what one person may use in 24 hours")
	s.ana.Says("#vault", "@countersign call list_files {}")
	ask = s.mgr.Says("#ops", `@countersign call delete_document {"thought":"asked","id":"doc_42"}`)
	if card := s.card(ask); strings.Contains(card.Shown(), "doc_42") {
		t.Errorf("a mask of the reload is not in the card:\n%s", card.Shown())
	}
	runs, err := s.Newest().Store().Runs(t.Context(), false, 10)
	if err != nil || len(runs) != 3 {
		t.Errorf("%d runs, %v: a channel that is not listed any more started one", len(runs), err)
	}
}

// Schedules and hooks that were not there before work after a reload, and those that
// went are gone, for what they left, too.
func TestSchedulesAndHooksAreTakenOver(t *testing.T) {
	t.Parallel()
	s := settled(t, apptest.Options{Model: caller()})
	hook := func() int {
		p := &program{s: s, secret: "hook-secret-of-the-test"}
		status, _ := p.does("POST", "/v1/hooks/alertmanager", map[string]any{
			"status": "firing", "groupKey": "g", "alerts": []any{map[string]any{"status": "firing", "fingerprint": "f", "startsAt": time.Now().Format(time.RFC3339)}},
		})
		return status
	}
	s.Until("the listener", func() bool { status, _ := s.Ready(); return status == http.StatusOK })
	if status := hook(); status/100 == 2 {
		t.Fatalf("a hook that is not configured says %d", status)
	}
	s.reload(s.changed(with(`hooks:
  alertmanager: {token: hook-secret-of-the-test, channel: C0OPS, text: "call list_files {}", owner: U0MGR}
schedules:
  - {name: nightly, cron: "0 3 * * *", channel: C0OPS, text: "call list_files {}", owner: U0MGR}
`)))
	if status := hook(); status/100 != 2 {
		t.Errorf("the hook says %d", status)
	}
	if err := s.Newest().Fire(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Slack.Expect(answer)
	s.Slack.Expect(answer)
	s.reload(s.Config())
	if status := hook(); status/100 == 2 {
		t.Errorf("a hook that was taken out says %d", status)
	}
}

// Slack's tokens are rotated without a pause: the new line stands before the old one
// goes. Tokens that Slack refuses, or of another app, change nothing.
func TestSlackTokensAreTakenOver(t *testing.T) {
	t.Parallel()
	s := settled(t, apptest.Options{Model: caller()})
	tokens := func(bot, app string) *config.Config {
		return s.changed(func(text string, env map[string]string) string {
			env["SLACK_BOT_TOKEN"], env["SLACK_APP_TOKEN"] = bot, app
			return text
		})
	}
	if _, err := s.Newest().Reload(t.Context(), tokens("xoxb-unknown", slacktest.AppToken)); err == nil || !strings.Contains(err.Error(), "SLACK_BOT_TOKEN") {
		t.Fatalf("an unknown token was taken over: %v", err)
	}
	if _, err := s.Newest().Reload(t.Context(), tokens(slacktest.BotToken, "xapp-unknown")); err == nil || !strings.Contains(err.Error(), "SLACK_APP_TOKEN") {
		t.Fatalf("an unknown app token was taken over: %v", err)
	}
	s.answered(s.asks(`call list_files {"thought":"look","path":"."}`), "It said")
	s.Slack.Server.ReplaceTokens("xoxb-rotated", "xapp-rotated")
	s.reload(tokens("xoxb-rotated", "xapp-rotated"))
	s.answered(s.asks(`call list_files {"thought":"look","path":"."}`), "It said")
	s.Until("the old connections' end", func() bool { return s.Slack.Server.Connections() == 2 })
}

// A run that is being worked on goes on under the new settings: it is given back, not
// lost, and its call happens once.
func TestWorkGoesOnThroughReloads(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		running, goOn := make(chan struct{}), make(chan struct{})
		slow := &apptest.Counter{Name: "slow", Risk: tools.Medium, Do: func(context.Context, tools.Call) (tools.Result, error) {
			close(running)
			<-goOn
			return tools.Result{Text: "slow is done"}, nil
		}}
		o.Model, o.Extra = caller(), []tools.Tool{slow}
		s := settled(t, o)
		ask := s.asks(`call slow {"thought":"asked","what":"x"}`)
		<-running
		for i := range 3 {
			s.reload(s.changed(with(fmt.Sprintf("limits: {max_steps: %d}\n", 5+i))))
		}
		close(goOn)
		s.answered(ask, "slow is done")
		if slow.Count() != 1 {
			t.Errorf("it was called %d times", slow.Count())
		}
	})
}

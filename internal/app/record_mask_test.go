package app_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/tools"
)

// The record holds none of the secrets that a card masks: those that an argument's name
// makes secrets, and those within a text or within JSON that is a text.
func TestTheRecordMasksWhatTheCardMasks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		login := &apptest.Counter{Name: "login", Risk: tools.High, Schema: `{"type":"object","properties":{
			"password":{"type":"string"},"client_secret":{"type":"string"},"command":{"type":"string"},"body":{"type":"string"},"env":{"type":"object"}}}`}
		login.Show = func(context.Context, tools.Call) (tools.Preview, error) {
			return tools.Preview{Summary: "sets it", Detail: `{"secret": "leaked05 and more"}`, Material: map[string]string{"password": "leaked06"}}, nil
		}
		o.Extra = []tools.Tool{login}
		args, err := json.Marshal(map[string]any{
			"thought": `so that password="leaked00" works`, "password": "leaked01 leaked02", "command": `curl -d "{\"password\":\"leaked03\"}" -H "X-Api-Key: leaked0x"`,
			"client_secret": strings.Repeat("leaked11 ", 20), "body": `{"a":{"api_key":"leaked04"}}`, "env": map[string]any{"DB_PASSWORD": `le"aked07`, "note": `secret="leaked08"`},
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Model = apptest.Play(apptest.Calls("login", string(args)), apptest.Says(`It is password="leaked09" now.`))
		s := start(t, o)
		ask := s.asks(`let me in with password="leaked10"`)
		card := s.card(ask)
		s.mgr.Clicks(card, "approval_show")
		s.Slack.ExpectModal(s.mgr, "Everything").MustSubmit()
		s.answered(ask, "It is password")
		w := s.waits(agent.Success)
		for _, e := range w.Audit {
			if strings.Contains(e.Data, "leaked") || strings.Contains(e.Data, "aked07") {
				t.Errorf("%s holds a secret: %s", e.Kind, e.Data)
			}
			if !json.Valid([]byte(e.Data)) {
				t.Errorf("%s is no JSON: %s", e.Kind, e.Data)
			}
		}
		if calls := login.All(); len(calls) != 1 || !strings.Contains(string(calls[0].Args), "leaked01 leaked02") {
			t.Errorf("what ran was masked: %+v", calls)
		}
	})
}

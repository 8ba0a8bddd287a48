package localslack_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"
)

func TestSlashCommand(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	answers := make(chan any, 5)
	a.serve(func(_ context.Context, e tinyapp.Envelope) (any, error) {
		if e.Type != "slash_commands" {
			return nil, nil
		}
		b := e.Body()
		if b["command"] != "/countersign" || b["user_id"] != "U0ANA" || b["channel_id"] != "C0OPS" || b["text"] != "pending" || b["thread_ts"] != nil {
			t.Errorf("payload %v", b)
		}
		return <-answers, nil
	})
	ana := ws.User("ana")
	answers <- map[string]any{"text": "two", "response_type": "in_channel"}
	ana.Commands("#ops", "/countersign", "pending")
	ws.Expect(slacktest.Public(), slacktest.Text("two"))
	answers <- map[string]any{"text": "for you"}
	ana.Commands("#ops", "/countersign", "pending")
	ws.Expect(slacktest.OnlyFor(ana), slacktest.Text("for you"))
	answers <- nil
	if out := ana.Commands("#ops", "/countersign", "pending"); !out.Acked {
		t.Errorf("%+v", out)
	}
	ws.NoStray()
	_, err := ws.Server.Slash(t.Context(), localslack.SlashCommand{User: "U0ANA", Channel: "C0OPS", Command: "/dance"})
	if !errors.Is(err, &localslack.Error{Code: "no_such_command"}) {
		t.Errorf("an unknown command: %v", err)
	}
}

func TestSlashCommandWithoutAnApp(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	out := ws.User("ana").Commands("#ops", "/countersign", "")
	if out.Acked || !strings.Contains(out.Notice, "operation_timeout") {
		t.Errorf("%+v", out)
	}
}

func TestShortcuts(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	got := make(chan map[string]any, 5)
	a.serve(func(_ context.Context, e tinyapp.Envelope) (any, error) {
		if e.Type == "interactive" {
			got <- e.Body()
		}
		return nil, nil
	})
	m := ws.User("ana").Says("#ops", "please")
	for _, tt := range []struct {
		sc   localslack.Shortcut
		kind string
	}{
		{localslack.Shortcut{User: "U0ANA", CallbackID: "new_run"}, "shortcut"},
		{localslack.Shortcut{User: "U0ANA", CallbackID: "ask", Channel: "C0OPS", TS: m.TS}, "message_action"},
	} {
		out, err := ws.Server.Shortcut(t.Context(), tt.sc)
		p := <-got
		if err != nil || !out.Acked || p["type"] != tt.kind || p["callback_id"] != tt.sc.CallbackID || (p["response_url"] == nil) != (tt.sc.TS == "") {
			t.Errorf("%+v: %v %+v %v", tt.sc, p, out, err)
		}
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	view := editModal()
	view["blocks"] = append(view["blocks"].([]any), map[string]any{
		"type": "input", "block_id": "who", "label": map[string]any{"type": "plain_text", "text": "Who"},
		"element": map[string]any{"type": "external_select", "action_id": "pick", "min_query_length": 1},
	})
	id, _ := d.open(d.ws.User("ana"), view)
	raw, err := d.ws.Server.Suggest(t.Context(), localslack.Click{User: "U0ANA", ViewID: id, ActionID: "pick"}, "an")
	if err != nil || string(raw) != `{"options":[{"value":"an"}]}` {
		t.Errorf("%s %v", raw, err)
	}
}

func TestSelectInAMessage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "pick", "blocks": `[{"type":"actions","elements":[
		{"type":"static_select","action_id":"role","options":[{"text":{"type":"plain_text","text":"Support"},"value":"support"}]}]}]`})
	m := d.ws.Expect(slacktest.Text("pick"))
	_, err := d.ws.User("ana").Press(localslack.Click{
		Channel: m.Channel, TS: m.TS, ActionID: "role", Selected: json.RawMessage(`{"selected_option":{"value":"support"}}`),
	})
	p := <-d.clicks
	action := p["actions"].([]any)[0]
	if err != nil || tinyapp.Str(action, "selected_option", "value") != "support" || tinyapp.Str(action, "type") != "static_select" {
		t.Errorf("%v %v", action, err)
	}
}

package localslack_test

import (
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"
)

func TestPageBreaksADelivery(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, withPage, func(c *localslack.Config) { c.Timing.Ack = 2 * time.Second })
	a := connected(t, ws)
	ana := browser{t: t, base: ws.Server.BaseURL(), user: "U0ANA"}

	ana.does("break", map[string]any{"name": "duplicate"})
	ana.does("say", map[string]any{"channel": "C0OPS", "text": "@countersign hi"})
	first, second := a.take("app_mention"), a.take("app_mention")
	if one, two := tinyapp.Str(first.Body(), "event_id"), tinyapp.Str(second.Body(), "event_id"); one == two {
		t.Errorf("the copy has the same event_id %q", one)
	}

	a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "card", "blocks": card})
	m := ws.Expect(slacktest.Button("approval_edit"))
	ana.does("break", map[string]any{"name": "drop"})
	reply := ana.does("click", map[string]any{"channel": "C0OPS", "ts": m.TS, "action_id": "approval_edit"})
	if tinyapp.Str(reply, "notice") == "" {
		t.Error("a lost click went through")
	}
}

func TestPageBreaksCalls(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, withPage)
	a := newApp(t, ws)
	ana := browser{t: t, base: ws.Server.BaseURL(), user: "U0ANA"}
	ana.does("break", map[string]any{"name": "limit"})
	if r := a.try("auth.test", nil); r.Status != 429 || r.RetryAfter != "5" {
		t.Errorf("status %d, Retry-After %q", r.Status, r.RetryAfter)
	}
	ana.does("break", map[string]any{"name": "mend"})
	if r := a.try("team.info", nil); r.Error() != "" {
		t.Errorf("after mending: %s", r.Error())
	}
	if code, _ := ana.tries("break", map[string]any{"name": "earthquake"}); code != "no_such_fault" {
		t.Errorf("an unknown fault: %q", code)
	}
}

func TestPageShowsWhetherTheAppListens(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	live := as("U0ANA").follow()
	conn := connected(t, ws).conn
	live.until("sockets", func(e map[string]any) bool { return e["sockets"] == 1.0 })
	conn.Close()
	live.until("sockets", func(e map[string]any) bool { return e["sockets"] == 0.0 })
}

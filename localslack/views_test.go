package localslack_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"
)

// desk is a workspace with one card and an app whose answers a test scripts:
// clicks go to a channel, submissions get what acks holds.
type desk struct {
	*app
	ws     *slacktest.Slack
	card   slacktest.Message
	clicks chan map[string]any
	closed chan map[string]any
	acks   chan any
}

func newDesk(t *testing.T, options ...func(*localslack.Config)) *desk {
	t.Helper()
	ws := slacktest.New(t, options...)
	d := &desk{
		app: connected(t, ws), ws: ws, clicks: make(chan map[string]any, 10), closed: make(chan map[string]any, 10), acks: make(chan any, 10),
	}
	d.serve(func(_ context.Context, e tinyapp.Envelope) (any, error) {
		switch e.Inner() {
		case "block_actions":
			d.clicks <- e.Body()
		case "view_closed":
			d.closed <- e.Body()
		case "view_submission":
			return <-d.acks, nil
		case "block_suggestion":
			return map[string]any{"options": []any{map[string]any{"value": e.Body()["value"]}}}, nil
		}
		return nil, nil
	})
	d.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "card", "blocks": card})
	d.card = ws.Expect(slacktest.Button("approval_edit"))
	return d
}

// trigger clicks the card and gives the trigger_id.
func (d *desk) trigger(p slacktest.Person) string {
	d.t.Helper()
	p.Clicks(d.card, "approval_edit")
	return tinyapp.Str(<-d.clicks, "trigger_id")
}

func (d *desk) open(p slacktest.Person, view map[string]any) (id, hash string) {
	d.t.Helper()
	r := d.call("views.open", map[string]any{"trigger_id": d.trigger(p), "view": view})
	return r.Str("view", "id"), r.Str("view", "hash")
}

func TestTriggerOpensOneModalWithinThreeSeconds(t *testing.T) {
	t.Parallel()
	clock := slacktest.NewClock()
	d := newDesk(t, clock.Use)
	d.ws.Allow(localslack.ViolationTrigger)
	ana := d.ws.User("ana")
	trigger := d.trigger(ana)
	d.call("views.open", map[string]any{"trigger_id": trigger, "view": editModal()})
	if r := d.try("views.open", map[string]any{"trigger_id": trigger, "view": editModal()}); r.Error() != "exchanged_trigger_id" {
		t.Errorf("used twice: %q", r.Error())
	}
	trigger = d.trigger(ana)
	clock.Advance(4 * time.Second)
	if r := d.try("views.open", map[string]any{"trigger_id": trigger, "view": editModal()}); r.Error() != "expired_trigger_id" {
		t.Errorf("after 4 s: %q", r.Error())
	}
}

func TestClickPayload(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	root := d.ws.User("ana").Says("#ops", "root")
	d.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "in thread", "blocks": card, "thread_ts": root.TS})
	c := d.ws.Expect(slacktest.InThread(root))
	d.ws.User("oli").Clicks(c, "approval_approve")
	p := <-d.clicks
	for path, want := range map[[2]string]string{
		{"container", "type"}: "message", {"container", "message_ts"}: c.TS, {"container", "channel_id"}: "C0OPS", {"container", "thread_ts"}: root.TS,
		{"channel", "id"}: "C0OPS", {"user", "id"}: "U0OLI", {"user", "team_id"}: "T0OTHER", {"team", "id"}: "T0LOCAL", {"message", "ts"}: c.TS,
	} {
		if got := tinyapp.Str(p, path[0], path[1]); got != want {
			t.Errorf("%v: %q, want %q", path, got, want)
		}
	}
	action := p["actions"].([]any)[0]
	if tinyapp.Str(action, "action_id") != "approval_approve" || tinyapp.Str(action, "value") != "ap_1" || tinyapp.Str(action, "block_id") == "" {
		t.Errorf("action: %v", action)
	}
}

func TestForgedAndImpossibleClicks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ana := d.ws.User("ana")
	_, err := ana.Press(localslack.Click{Channel: "C0OPS", TS: d.card.TS, ActionID: "approval_approve", Forge: func(p map[string]any) {
		p["team"] = nil
	}})
	if p := <-d.clicks; err != nil || p["team"] != nil {
		t.Errorf("forged: %v %v", p["team"], err)
	}
	for _, tt := range []struct {
		click localslack.Click
		want  string
	}{
		{localslack.Click{Channel: "C0OPS", TS: d.card.TS, ActionID: "no_such"}, "no_such_element"},
		{localslack.Click{Channel: "C0OPS", TS: "1000000000.000000", ActionID: "approval_approve"}, "message_not_found"},
		{localslack.Click{ViewID: "V0NOPE", ActionID: "x"}, "not_found"},
	} {
		if _, err := ana.Press(tt.click); !errors.Is(err, &localslack.Error{Code: tt.want}) {
			t.Errorf("%+v: %v, want %s", tt.click, err, tt.want)
		}
	}
	if _, err := d.ws.User("eve").Press(localslack.Click{Channel: "C0OPS", TS: d.card.TS, ActionID: "approval_approve"}); !errors.Is(err, &localslack.Error{Code: "not_in_channel"}) {
		t.Errorf("somebody outside the channel: %v", err)
	}
}

func TestStackOfThree(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ana := d.ws.User("ana")
	root, _ := d.open(ana, editModal())
	push := func() tinyapp.Reply {
		t.Helper()
		return d.try("views.push", map[string]any{"trigger_id": d.trigger(ana), "view": editModal()})
	}
	second := push()
	if second.Str("view", "root_view_id") != root || second.Str("view", "previous_view_id") != root {
		t.Errorf("second: %v", second.Body)
	}
	third := push()
	if r := push(); r.Error() != "push_limit_reached" {
		t.Errorf("fourth: %q", r.Error())
	}
	if _, err := d.ws.Server.Submit(context.Background(), localslack.Submission{User: ana.ID, ViewID: root}); !errors.Is(err, &localslack.Error{Code: "not_found"}) {
		t.Errorf("submitting a covered view: %v", err)
	}
	d.ws.ExpectModal(ana).Close()
	if m := d.ws.ExpectModal(ana); m.ID != second.Str("view", "id") || m.ID == third.Str("view", "id") {
		t.Errorf("below the third lies %s", m.ID)
	}
	select {
	case p := <-d.closed:
		t.Errorf("view_closed without notify_on_close: %v", p)
	default:
	}
}

func TestHashAndExternalID(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	view := editModal()
	view["external_id"] = "form-1"
	id, hash := d.open(d.ws.User("ana"), view)
	if r := d.try("views.open", map[string]any{"trigger_id": d.trigger(d.ws.User("mgr")), "view": view}); r.Error() != "duplicate_external_id" {
		t.Errorf("the same external_id: %q", r.Error())
	}
	r := d.call("views.update", map[string]any{"view_id": id, "hash": hash, "view": view})
	if r.Str("view", "hash") == hash {
		t.Error("the hash did not change")
	}
	if r := d.try("views.update", map[string]any{"view_id": id, "hash": hash, "view": view}); r.Error() != "hash_conflict" {
		t.Errorf("an old hash: %q", r.Error())
	}
	d.call("views.update", map[string]any{"external_id": "form-1", "view": editModal()})
}

func TestSubmissionAnswers(t *testing.T) {
	t.Parallel()
	second := editModal()
	second["title"] = map[string]any{"type": "plain_text", "text": "Second"}
	for _, tt := range []struct {
		name   string
		ack    any
		left   int // views on the stack afterwards
		title  string
		notice bool
	}{
		{"empty", nil, 0, "", false},
		{"update", map[string]any{"response_action": "update", "view": second}, 1, "Second", false},
		{"push", map[string]any{"response_action": "push", "view": second}, 2, "Second", false},
		{"clear", map[string]any{"response_action": "clear"}, 0, "", false},
		{"unknown", map[string]any{"response_action": "dance"}, 1, "Edit", true},
		{"error at no input", map[string]any{"response_action": "errors", "errors": map[string]any{"nowhere": "x"}}, 1, "Edit", true},
		{"errors without any", map[string]any{"response_action": "errors"}, 1, "Edit", true},
		{"broken view", map[string]any{"response_action": "update", "view": map[string]any{"type": "modal"}}, 1, "Edit", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			if tt.notice {
				d.ws.Allow(localslack.ViolationBlocks)
			}
			ana := d.ws.User("ana")
			d.open(ana, editModal())
			d.acks <- tt.ack
			out := d.ws.ExpectModal(ana, "Edit").Submit()
			if (out.Notice != "") != tt.notice {
				t.Errorf("outcome %+v", out)
			}
			if n := len(d.ws.Server.Workspace().Views(ana.ID)); n != tt.left {
				t.Errorf("%d views, want %d", n, tt.left)
			}
			if tt.left > 0 {
				d.ws.ExpectModal(ana, tt.title)
			}
		})
	}
}

func TestSubmissionWithoutAnswerKeepsTheForm(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, quick)
	a := connected(t, ws)
	a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "card", "blocks": card})
	c := ws.Expect(slacktest.Button("approval_edit"))
	ana := ws.User("ana")
	trigger := make(chan string, 1)
	go func() {
		for {
			e, err := a.conn.Next(context.Background())
			if err != nil {
				return
			}
			if e.Inner() == "block_actions" {
				trigger <- tinyapp.Str(e.Body(), "trigger_id")
			}
		}
	}()
	if out := ana.TriesToClick(c, "approval_edit"); out.Acked {
		t.Errorf("%+v", out)
	}
	a.call("views.open", map[string]any{"trigger_id": <-trigger, "view": editModal()})
	form := ws.ExpectModal(ana, "Edit")
	if out := form.Submit(); out.Acked || out.Notice == "" {
		t.Errorf("%+v", out)
	}
	ws.ExpectModal(ana, "Edit")
}

func TestClosedWithNotice(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ana := d.ws.User("ana")
	view := editModal()
	view["notify_on_close"] = true
	id, _ := d.open(ana, view)
	if _, err := d.ws.Server.CloseView(context.Background(), ana.ID, id, true); err != nil {
		t.Fatal(err)
	}
	if p := <-d.closed; p["is_cleared"] != true || tinyapp.Str(p, "view", "private_metadata") != "ap_1" {
		t.Errorf("view_closed: %v", p)
	}
}

func TestHomeTab(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ana := d.ws.User("ana")
	ana.OpensHome()
	d.call("views.publish", map[string]any{"user_id": ana.ID, "view": map[string]any{"type": "home", "blocks": blocks(t, card)}})
	home := d.ws.ExpectHome(ana, "Delete doc_42?")
	if _, ok := d.ws.Server.Workspace().Home("U0MGR"); ok {
		t.Error("somebody else has a Home tab too")
	}
	if _, err := ana.Press(localslack.Click{ViewID: home.ID, ActionID: "approval_approve"}); err != nil {
		t.Fatal(err)
	}
	p := <-d.clicks
	if tinyapp.Str(p, "container", "type") != "view" || tinyapp.Str(p, "view", "type") != "home" || p["response_url"] != nil || p["channel"] != nil {
		t.Errorf("click in the Home tab: %v", p)
	}
}

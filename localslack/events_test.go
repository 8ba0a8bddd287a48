package localslack_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"

	"github.com/google/go-cmp/cmp"
)

func TestMentionComesAsTwoEventsInEitherOrder(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	orders := map[string]bool{}
	for range 20 {
		m := ws.User("ana").Says("#ops", "@countersign hi")
		one, two := a.next(), a.next()
		a.ack(one, nil)
		a.ack(two, nil)
		orders[one.Inner()] = true
		if one.Inner() == two.Inner() || tinyapp.Str(one.Body(), "event_id") == tinyapp.Str(two.Body(), "event_id") {
			t.Fatalf("%s and %s with %v, %v", one.Inner(), two.Inner(), one.Body()["event_id"], two.Body()["event_id"])
		}
		for _, e := range []tinyapp.Envelope{one, two} {
			if tinyapp.Str(e.Event(), "ts") != m.TS || tinyapp.Str(e.Event(), "text") != "<@U0BOT> hi" {
				t.Errorf("%s: %v", e.Inner(), e.Event())
			}
		}
	}
	if len(orders) != 2 {
		t.Errorf("first came always %v", orders)
	}
}

func TestOuterEvent(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, mentionsOnly, func(c *localslack.Config) { c.Channels[0].ExtShared = true })
	a := connected(t, ws)
	ws.User("oli").Says("#ops", "@countersign hi")
	e := a.take("app_mention")
	b := e.Body()
	if b["team_id"] != "T0LOCAL" || b["type"] != "event_callback" || b["api_app_id"] != "A0LOCAL" || b["is_ext_shared_channel"] != true {
		t.Errorf("outer: %v", b)
	}
	if auth := b["authorizations"].([]any); len(auth) != 1 || tinyapp.Str(auth[0], "user_id") != "U0BOT" {
		t.Errorf("authorizations: %v", b["authorizations"])
	}
	if ev := e.Event(); ev["user_team"] != "T0OTHER" || ev["source_team"] != "T0OTHER" || ev["future_field"] == nil {
		t.Errorf("inner: %v", ev)
	}
}

func TestBotHearsItself(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	ts := a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "I, <@U0BOT>, speak", "blocks": card}).Str("ts")
	e := a.take("message").Event()
	if e["bot_id"] != "B0LOCAL" || e["app_id"] != "A0LOCAL" || e["user"] != "U0BOT" || e["subtype"] != nil || e["bot_profile"] == nil {
		t.Errorf("echo: %v", e)
	}
	a.call("chat.update", map[string]any{"channel": "C0OPS", "ts": ts, "text": "changed"})
	e = a.take("message").Event()
	if e["subtype"] != "message_changed" || tinyapp.Str(e, "message", "text") != "changed" || tinyapp.Str(e, "message", "ts") != ts ||
		tinyapp.Str(e, "previous_message", "text") != "I, <@U0BOT>, speak" || e["hidden"] != true {
		t.Errorf("update: %v", e)
	}
	a.call("chat.postEphemeral", map[string]any{"channel": "C0OPS", "user": "U0ANA", "text": "psst"})
	a.call("chat.delete", map[string]any{"channel": "C0OPS", "ts": ts})
	if e = a.take("message").Event(); e["subtype"] != "message_deleted" || e["deleted_ts"] != ts {
		t.Errorf("the event after an ephemeral note and a deletion: %v", e)
	}
	ws.ExpectAcked()
	if n := len(ws.Server.Deliveries()); n != 3 {
		t.Errorf("%d deliveries, want message, changed, deleted", n)
	}
}

func TestEditsAndPreviews(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	ana := ws.User("ana")
	m := ana.Says("#ops", "hi")
	a.take("message")
	ana.Edits(m, "@countersign hi")
	changed, mention := a.take("message").Event(), a.take("app_mention").Event()
	if changed["subtype"] != "message_changed" || tinyapp.Str(mention, "ts") != m.TS || tinyapp.Str(mention, "edited", "user") != "U0ANA" {
		t.Errorf("an edit that adds the mention: %v, %v", changed, mention)
	}
	ws.Unfurl(m, "a page")
	e := a.take("message").Event()
	if tinyapp.Str(e, "message", "text") != tinyapp.Str(e, "previous_message", "text") {
		t.Errorf("a preview changed the text: %v", e)
	}
	a.take("app_mention")
	ana.Deletes(m)
	if e := a.take("message").Event(); e["subtype"] != "message_deleted" || tinyapp.Str(e, "previous_message", "user") != "U0ANA" {
		t.Errorf("deletion: %v", e)
	}
}

// Of a message with replies a tombstone stays: the app hears of an edit by Slackbot.
func TestDeletedRootsLeaveATombstone(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	ana := ws.User("ana")
	m := ana.Says("#ops", "original")
	a.take("message")
	reply := ana.Replies(m, "more")
	a.take("message")
	ana.Deletes(m)
	e := a.take("message").Event()
	if e["subtype"] != "message_changed" || tinyapp.Str(e, "message", "subtype") != "tombstone" || tinyapp.Str(e, "message", "user") != "USLACKBOT" ||
		tinyapp.Str(e, "message", "ts") != m.TS || tinyapp.Str(e, "previous_message", "user") != "U0ANA" {
		t.Errorf("deletion: %v", e)
	}
	thread := fmt.Sprint(a.call("conversations.replies", map[string]any{"channel": "C0OPS", "ts": m.TS}).Body)
	if !strings.Contains(thread, "tombstone") || !strings.Contains(thread, "more") || strings.Contains(thread, "original") {
		t.Errorf("the thread: %v", thread)
	}
	ana.Deletes(reply)
	if e := a.take("message").Event(); e["subtype"] != "message_deleted" || tinyapp.Str(e, "previous_message", "text") != "more" {
		t.Errorf("deletion of a reply: %v", e)
	}
	ws.ExpectAcked()
	if n := len(ws.Server.Deliveries()); n != 4 {
		t.Errorf("%d deliveries", n)
	}
}

func TestOtherBotsAndMentionForms(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) {
		c.People = append(c.People, localslack.Person{ID: "U0BOTX", Name: "robot", IsBot: true, BotID: "B0X", AppID: "A0X"})
		c.Channels[0].Members = append(c.Channels[0].Members, "U0BOTX")
	})
	a := connected(t, ws)
	ws.User("robot").Says("#ops", "@countersign beep")
	if e := a.take("app_mention").Event(); e["bot_id"] != "B0X" || e["client_msg_id"] != nil {
		t.Errorf("another bot: %v", e)
	}
	ana := ws.User("ana")
	ana.Posts(localslack.Post{Channel: "C0OPS", Text: "<@U0BOTX> not you", Raw: true})
	ana.Posts(localslack.Post{Channel: "C0OPS", Text: "<@U0BOT|countersign> you", Raw: true})
	if e := a.take("app_mention").Event(); tinyapp.Str(e, "text") != "<@U0BOT|countersign> you" {
		t.Errorf("got %v", e["text"])
	}
	ana.Posts(localslack.Post{Channel: "C0OPS", Text: "x", Blocks: json.RawMessage(`[{"type":"hologram","x":1}]`)})
	for {
		e := a.take("message").Event()
		if tinyapp.Str(e, "text") == "x" {
			if raw, _ := json.Marshal(e["blocks"]); string(raw) != `[{"type":"hologram","x":1}]` {
				t.Errorf("blocks %s", raw)
			}
			break
		}
	}
}

func TestDirectMessagesAreNoMentions(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	id := a.call("conversations.open", map[string]any{"users": "U0ANA"}).Body["channel"].(map[string]any)["id"].(string)
	ws.User("ana").Says(id, "@countersign hi")
	e := a.take("message").Event()
	if e["channel_type"] != "im" || e["channel"] != id {
		t.Errorf("got %v", e)
	}
	a.call("chat.postMessage", map[string]any{"channel": "U0ANA", "text": "hello"})
	ws.Expect(ws.In(id), slacktest.Text("hello"))
	a.take("message") // its echo
	ws.ExpectAcked()
	if i := slices.IndexFunc(ws.Server.Deliveries(), func(d localslack.Delivery) bool { return d.Inner == "app_mention" }); i >= 0 {
		t.Error("app_mention in a direct message")
	}
}

func TestBotSeesOnlyItsChannels(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	ws.User("ana").Says("#quiet", "@countersign psst")
	ws.User("countersign").Joins("#quiet")
	if e := a.take("member_joined_channel").Event(); e["user"] != "U0BOT" || e["channel"] != "C0QUIET" || e["channel_type"] != "C" {
		t.Errorf("join: %v", e)
	}
	ws.User("ana").Says("#quiet", "@countersign now")
	if e := a.take("app_mention").Event(); tinyapp.Str(e, "text") != "<@U0BOT> now" {
		t.Errorf("got %v", e)
	}
	ws.User("ana").Leaves("#quiet")
	if e := a.take("member_left_channel").Event(); e["user"] != "U0ANA" {
		t.Errorf("leave: %v", e)
	}
	ws.User("countersign").Leaves("#quiet")
	if e := a.take("channel_left").Event(); e["channel"] != "C0QUIET" {
		t.Errorf("own leave: %v", e)
	}
}

func TestEventsAboutPeopleGroupsAndChannels(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(ws.Server.PutPerson(localslack.Person{ID: "U0MGR", Name: "mgr", RealName: "Manager", Deleted: true}))
	if e := a.take("user_change").Event(); tinyapp.Str(e, "user", "id") != "U0MGR" || e["user"].(map[string]any)["deleted"] != true {
		t.Errorf("user_change: %v", e)
	}
	must(ws.Server.PutUsergroup(localslack.Usergroup{ID: "S0FIN", Handle: "finance", Members: []string{"U0FIN", "U0ANA"}}))
	e := a.take("subteam_members_changed").Event()
	if diff := cmp.Diff([]any{"U0ANA"}, e["added_users"]); diff != "" || e["removed_users_count"] != 1.0 {
		t.Errorf("subteam_members_changed: %v", e)
	}
	must(ws.Server.RenameChannelID("C0VAULT", "C0VAULT2"))
	if e := a.take("channel_id_changed").Event(); e["new_channel_id"] != "C0VAULT2" {
		t.Errorf("channel_id_changed: %v", e)
	}
	must(ws.Server.Archive("C0OPS", "U0ANA"))
	if e := a.take("channel_archive").Event(); e["channel"] != "C0OPS" {
		t.Errorf("channel_archive: %v", e)
	}
	must(ws.Server.EmitEvent(localslack.Event{"type": "tokens_revoked", "tokens": map[string]any{"bot": []string{"U0BOT"}}}))
	a.take("tokens_revoked")
	must(ws.Server.EmitEvent(localslack.Event{"type": "unheard_of"})) // not subscribed
	ws.Server.EmitOuter(map[string]any{"type": "app_rate_limited", "minute_rate_limited": 1, "team_id": "T0LOCAL"})
	if e := a.next(); tinyapp.Str(e.Body(), "type") != "app_rate_limited" {
		t.Errorf("got %s", e.Payload)
	}
}

func TestThreadBroadcastAndFiles(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	ana := ws.User("ana")
	root := ana.Says("#ops", "root")
	a.take("message")
	ana.Posts(localslack.Post{Channel: "C0OPS", Text: "@countersign both", ThreadTS: root.TS, Broadcast: true})
	e := a.take("message").Event()
	if e["subtype"] != "thread_broadcast" || e["thread_ts"] != root.TS || tinyapp.Str(e, "root", "text") != "root" {
		t.Errorf("broadcast: %v", e)
	}
	ana.Posts(localslack.Post{
		Channel: "C0OPS", Text: "@countersign look", Files: []localslack.Upload{{Name: "a.log", Content: []byte("x")}},
	})
	for {
		e = a.take("app_mention").Event()
		if tinyapp.Str(e, "text") == "<@U0BOT> look" {
			break
		}
	}
	if files := e["files"].([]any); e["subtype"] != "file_share" || tinyapp.Str(files[0], "name") != "a.log" {
		t.Errorf("file: %v", e)
	}
}

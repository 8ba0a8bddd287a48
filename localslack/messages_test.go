package localslack_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"

	"github.com/google/go-cmp/cmp"
)

func TestUpdateKeepsWhatIsNotMentioned(t *testing.T) {
	t.Parallel()
	for _, drops := range []bool{false, true} {
		ws := slacktest.New(t, func(c *localslack.Config) { c.UpdateDropsBlocks = drops })
		ws.Allow(localslack.ViolationNoText)
		a := newApp(t, ws)
		meta := map[string]any{"event_type": "countersign", "event_payload": map[string]any{"run": "r1"}}
		ts := a.call("chat.postMessage", map[string]any{
			"channel": "C0OPS", "text": "card", "blocks": card, "metadata": meta, "parse": "none", "link_names": true,
		}).Str("ts")
		c := ws.Expect(slacktest.Button("approval_approve"))
		update := func(args map[string]any) {
			t.Helper()
			args["channel"], args["ts"] = "C0OPS", ts
			if r := a.call("chat.update", args); r.Str("ts") != ts {
				t.Errorf("the update moved the message to %s", r.Str("ts"))
			}
		}

		update(map[string]any{"text": "settled"})
		m := c.Now()
		if kept := len(m.Blocks) > 0; kept == drops {
			t.Errorf("drops %v: blocks kept %v", drops, kept)
		}
		if m.Metadata == nil || m.Parse != "client" || m.LinkNames {
			t.Errorf("metadata %v, parse %q, link_names %v", m.Metadata, m.Parse, m.LinkNames)
		}
		update(map[string]any{"text": "settled", "blocks": card})
		ws.ExpectUpdate(c, slacktest.Button("approval_approve"))
		update(map[string]any{"text": "settled", "blocks": []any{}, "metadata": map[string]any{}})
		ws.ExpectUpdate(c, slacktest.NoButton(""))
		if m := c.Now(); m.Metadata != nil || m.Edited == nil || m.Version != 4 {
			t.Errorf("after removing: metadata %v, edited %v, version %d", m.Metadata, m.Edited, m.Version)
		}
	}
}

func TestLongTextIsCutWithAWarning(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := newApp(t, ws)
	r := a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": strings.Repeat("字", 40_001)})
	m := ws.Expect(slacktest.Public()).Now()
	if r.Str("warning") != "message_truncated" || len([]rune(m.Text)) != 40_000 {
		t.Errorf("warning %q, %d characters", r.Str("warning"), len([]rune(m.Text)))
	}
}

func TestEphemeralIsForOnePersonAndNoHistory(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := newApp(t, ws)
	a.call("chat.postEphemeral", map[string]any{"channel": "C0OPS", "user": "U0ANA", "text": "only you"})
	note := ws.Expect(slacktest.OnlyFor(ws.User("ana")), slacktest.Text("only you"))
	if got := ws.Server.Workspace().Messages("C0OPS", "U0MGR"); len(got) != 0 {
		t.Errorf("the manager sees %v", got)
	}
	r := a.call("conversations.history", map[string]any{"channel": "C0OPS"})
	if got := r.Body["messages"].([]any); len(got) != 0 {
		t.Errorf("history has %v", got)
	}
	if r := a.try("chat.update", map[string]any{"channel": "C0OPS", "ts": note.TS, "text": "x"}); r.Error() != "message_not_found" {
		t.Errorf("updating an ephemeral note: %q", r.Error())
	}
}

func TestHistoryAndReplies(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := newApp(t, ws)
	ana := ws.User("ana")
	root := ana.Says("#ops", "root")
	for n := range 5 {
		ana.Replies(root, fmt.Sprintf("reply %d", n))
	}
	ana.Posts(localslack.Post{Channel: "C0OPS", Text: "both", ThreadTS: root.TS, Broadcast: true})
	ana.Says("#ops", "later")

	texts := func(r tinyapp.Reply) []string {
		var out []string
		for _, m := range r.Body["messages"].([]any) {
			out = append(out, tinyapp.Str(m, "text"))
		}
		return out
	}
	r := a.call("conversations.history", map[string]any{"channel": "C0OPS"})
	if diff := cmp.Diff([]string{"later", "both", "root"}, texts(r)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	var got []string
	cursor := ""
	for {
		r := a.call("conversations.replies", map[string]any{"channel": "C0OPS", "ts": root.TS, "limit": 3, "cursor": cursor})
		got = append(got, texts(r)...)
		if cursor = r.Str("response_metadata", "next_cursor"); cursor == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"root", "reply 0", "reply 1", "reply 2", "reply 3", "reply 4", "both"}, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
	r = a.call("conversations.history", map[string]any{"channel": "C0OPS", "oldest": root.TS, "inclusive": true, "limit": 1, "latest": root.TS})
	if diff := cmp.Diff([]string{"root"}, texts(r)); diff != "" {
		t.Errorf("one message (-want +got):\n%s", diff)
	}
}

func TestMetadataPayloadOnlyOnDemand(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := newApp(t, ws)
	a.call("chat.postMessage", map[string]any{
		"channel": "C0OPS", "text": "x", "metadata": `{"event_type":"countersign","event_payload":{"run":"r1"}}`,
	})
	for _, all := range []bool{false, true} {
		r := a.call("conversations.history", map[string]any{"channel": "C0OPS", "include_all_metadata": all})
		m := r.Body["messages"].([]any)[0]
		want := map[bool]string{true: "r1"}[all]
		if got := tinyapp.Str(m, "metadata", "event_payload", "run"); got != want || tinyapp.Str(m, "metadata", "event_type") != "countersign" {
			t.Errorf("all %v: run %q, want %q", all, got, want)
		}
	}
}

func TestRestrictedHistory(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) { c.Limits = localslack.Limits{RestrictedHistory: true} })
	a := newApp(t, ws)
	for range 20 {
		ws.User("ana").Says("#ops", "x")
	}
	r := a.call("conversations.history", map[string]any{"channel": "C0OPS", "limit": 100})
	if n := len(r.Body["messages"].([]any)); n != 15 {
		t.Errorf("%d messages, want 15", n)
	}
	if r := a.try("conversations.history", map[string]any{"channel": "C0OPS"}); r.Status != http.StatusTooManyRequests || r.RetryAfter != "60" {
		t.Errorf("second call: %d %s", r.Status, r.RetryAfter)
	}
}

func TestResponseURL(t *testing.T) {
	t.Parallel()
	clock := slacktest.NewClock()
	ws := slacktest.New(t, clock.Use)
	ws.Allow(localslack.ViolationResponse)
	a := connected(t, ws)
	urls := make(chan string, 10)
	a.serve(func(_ context.Context, e tinyapp.Envelope) (any, error) {
		if e.Inner() == "block_actions" {
			urls <- tinyapp.Str(e.Body(), "response_url")
		}
		return nil, nil
	})
	a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "card", "blocks": card})
	c := ws.Expect(slacktest.Button("approval_approve"))
	ana := ws.User("ana")
	ana.Clicks(c, "approval_approve")
	url := <-urls

	send := func(url, body string) (int, string) {
		t.Helper()
		resp, err := http.Post(url, "application/json; charset=utf-8", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		buf := make([]byte, 100)
		n, _ := resp.Body.Read(buf)
		return resp.StatusCode, strings.TrimSpace(string(buf[:n]))
	}
	if code, body := send(url, `{"text":"just you"}`); code != 200 || body != "ok" {
		t.Errorf("got %d %q", code, body)
	}
	ws.Expect(slacktest.OnlyFor(ana), slacktest.Text("just you"))
	send(url, `{"text":"everybody","response_type":"in_channel"}`)
	ws.Expect(slacktest.Public(), slacktest.Text("everybody"))
	send(url, `{"text":"replaced","replace_original":true}`)
	ws.ExpectUpdate(c, slacktest.Text("replaced"), slacktest.NoButton(""))
	send(url, `{"delete_original":true}`)
	ws.ExpectGone(c)
	send(url, `{"text":"fifth"}`)
	ws.Expect(slacktest.Text("fifth"))
	ws.Server.BreakAPI(localslack.APIFault{Method: "response_url", Times: 1, Status: 500})
	if code, _ := send(url, `{"text":"broken"}`); code != 500 {
		t.Errorf("with a fault: %d", code)
	}
	if code, body := send(url, `{"text":"sixth"}`); code != 404 || body != "used_url" {
		t.Errorf("the sixth use: %d %q", code, body)
	}

	a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "card 2", "blocks": card})
	ana.Clicks(ws.Expect(slacktest.Text("card 2")), "approval_approve")
	old := <-urls
	clock.Advance(31 * time.Minute)
	if code, body := send(old, `{"text":"late"}`); code != 404 || body != "expired_url" {
		t.Errorf("after half an hour: %d %q", code, body)
	}
	ws.NoStray()
}

func TestReactionsPeopleAndBot(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := newApp(t, ws)
	m := ws.User("ana").Says("#ops", "done?")
	args := map[string]any{"channel": "C0OPS", "timestamp": m.TS, "name": "eyes"}
	a.call("reactions.add", args)
	if r := a.try("reactions.add", args); r.Error() != "already_reacted" {
		t.Errorf("twice: %q", r.Error())
	}
	ws.User("mgr").Reacts(m, "eyes")
	want := []localslack.Reaction{{Name: "eyes", Users: []string{"U0BOT", "U0MGR"}}}
	if diff := cmp.Diff(want, m.Now().Reactions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.call("reactions.remove", args)
	if got := m.Now().Reactions[0].Users; len(got) != 1 {
		t.Errorf("still %v", got)
	}
}

func TestWhatNoCarefulAppPosts(t *testing.T) {
	t.Parallel()
	rich := `[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[%s]}]}]`
	for _, tt := range []struct{ name, text, blocks, want string }{
		{"here", "<!here> hello", "", localslack.ViolationBroadcast},
		{"here in a block", "x", `[{"type":"section","text":{"type":"mrkdwn","text":"<!here>"}}]`, localslack.ViolationBroadcast},
		{"group in markdown", "x", `[{"type":"markdown","text":"<!subteam^S0MGR>"}]`, localslack.ViolationBroadcast},
		{"broadcast element", "x", fmt.Sprintf(rich, `{"type":"broadcast","range":"channel"}`), localslack.ViolationBroadcast},
		{"link", "see <https://example.com|this>", "", localslack.ViolationUnfurl},
		{"blocks without text", "", card, localslack.ViolationNoText},
		{"escaped", "&lt;!here&gt;", "", ""},
		{"plain text", "x", `[{"type":"section","text":{"type":"plain_text","text":"<!here>"}}]`, ""},
		{"text element", "x", fmt.Sprintf(rich, `{"type":"text","text":"<!channel>"}`), ""},
	} {
		ws := slacktest.New(t)
		ws.Allow(tt.want)
		args := map[string]any{"channel": "C0OPS", "text": tt.text}
		if tt.blocks != "" {
			args["blocks"] = tt.blocks
		}
		newApp(t, ws).call("chat.postMessage", args)
		var got []string
		for _, v := range ws.Server.Violations() {
			got = append(got, v.Kind)
		}
		if strings.Join(got, ",") != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, got, tt.want)
		}
	}
}

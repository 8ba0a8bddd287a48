package localslack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// refusals is an app in a workspace with every kind of place to be refused in.
func refusals(t *testing.T) (*slacktest.Slack, *app) {
	t.Helper()
	ws := slacktest.New(t, func(c *localslack.Config) {
		c.Channels = append(c.Channels,
			localslack.Channel{ID: "C0OLD", Name: "old", Archived: true, Members: []string{"U0BOT", "U0ANA"}},
			localslack.Channel{ID: "C0READ", Name: "news", ReadOnly: true, Members: []string{"U0BOT", "U0ANA"}},
			localslack.Channel{ID: "C0SECRET", Name: "secret", Kind: localslack.Private, Members: []string{"U0ANA"}})
		c.People = append(c.People, localslack.Person{ID: "U0HID", Name: "hid", Hidden: true})
		c.Usergroups = append(c.Usergroups,
			localslack.Usergroup{ID: "S0OFF", Handle: "off", Disabled: true}, localslack.Usergroup{ID: "S0NONE", Handle: "none"})
	})
	ws.Allow(localslack.ViolationScope, localslack.ViolationBlocks, localslack.ViolationTrigger)
	return ws, newApp(t, ws)
}

func TestMethodRefusals(t *testing.T) {
	t.Parallel()
	ws, a := refusals(t)
	own := a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "own"}).Str("ts")
	reply := a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "reply", "thread_ts": own}).Str("ts")
	gone := a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "gone"}).Str("ts")
	a.call("chat.delete", map[string]any{"channel": "C0OPS", "ts": gone})
	anas := ws.User("ana").Says("#ops", "mine").TS

	type args = map[string]any
	for _, tt := range []struct {
		method string
		args   args
		want   string
	}{
		{"chat.dance", args{}, "unknown_method"},
		{"chat.postMessage", args{"text": "x"}, "invalid_arguments"},
		{"chat.postMessage", args{"channel": "C0NOPE", "text": "x"}, "channel_not_found"},
		{"chat.postMessage", args{"channel": "C0SECRET", "text": "x"}, "channel_not_found"},
		{"chat.postMessage", args{"channel": "C0QUIET", "text": "x"}, "not_in_channel"},
		{"chat.postMessage", args{"channel": "C0OLD", "text": "x"}, "is_archived"},
		{"chat.postMessage", args{"channel": "C0READ", "text": "x"}, "restricted_action"},
		{"chat.postMessage", args{"channel": "C0OPS"}, "no_text"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": ""}, "no_text"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "thread_ts": "yesterday"}, "cannot_reply_to_message"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "thread_ts": reply}, "cannot_reply_to_message"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "thread_ts": "1000000000.000000"}, "thread_not_found"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "thread_ts": gone}, "thread_not_found"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "markdown_text": "y"}, "markdown_text_conflict"},
		{"chat.postMessage", args{"channel": "C0OPS", "markdown_text": strings.Repeat("y", 12_001)}, "msg_too_long"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "blocks": "[{"}, "invalid_blocks_format"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "blocks": []any{args{"type": "sparkle"}}}, "invalid_blocks"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "attachments": make([]args, 101)}, "too_many_attachments"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "metadata": "{"}, "invalid_metadata_format"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "metadata": args{"event_type": "e"}}, "invalid_metadata_schema"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "metadata": args{"event_type": "e", "event_payload": args{"a": args{"b": args{"c": args{}}}}}}, "invalid_metadata_schema"},
		{"chat.postMessage", args{"channel": "C0OPS", "text": "x", "metadata": args{"event_type": "e", "event_payload": args{"a": strings.Repeat("x", 5000)}}}, "metadata_too_large"},
		{"chat.postEphemeral", args{"channel": "C0OPS", "text": "x"}, "invalid_arguments"},
		{"chat.postEphemeral", args{"channel": "C0OPS", "text": "x", "user": "U0EVE"}, "user_not_in_channel"},
		{"chat.postEphemeral", args{"channel": "C0OPS", "user": "U0ANA"}, "no_text"},
		{"chat.postEphemeral", args{"channel": "C0OPS", "user": "U0ANA", "text": strings.Repeat("x", 40_001)}, "msg_too_long"},
		{"chat.update", args{"channel": "C0OPS", "ts": "1000000000.000000", "text": "x"}, "message_not_found"},
		{"chat.update", args{"channel": "C0OPS", "ts": gone, "text": "x"}, "message_not_found"},
		{"chat.update", args{"channel": "C0OPS", "ts": anas, "text": "x"}, "cant_update_message"},
		{"chat.update", args{"channel": "C0OPS", "ts": own, "text": strings.Repeat("x", 4001)}, "msg_too_long"},
		{"chat.update", args{"channel": "C0OPS", "ts": own}, "no_text"},
		{"chat.delete", args{"channel": "C0OPS", "ts": anas}, "cant_delete_message"},
		{"chat.delete", args{"channel": "C0OPS", "ts": gone}, "message_not_found"},
		{"chat.getPermalink", args{"channel": "C0OPS", "message_ts": gone}, "message_not_found"},
		{"reactions.add", args{"channel": "C0OPS", "timestamp": own, "name": "No Such"}, "invalid_name"},
		{"reactions.add", args{"channel": "C0OPS", "timestamp": gone, "name": "eyes"}, "message_not_found"},
		{"reactions.remove", args{"channel": "C0OPS", "timestamp": own, "name": "eyes"}, "no_reaction"},
		{"users.info", args{"user": "U0NOPE"}, "user_not_found"},
		{"users.info", args{"user": "U0HID"}, "user_not_visible"},
		{"bots.info", args{"bot": "B0NOPE"}, "bot_not_found"},
		{"usergroups.users.list", args{"usergroup": "S0NOPE"}, "no_such_subteam"},
		{"usergroups.users.list", args{"usergroup": "S0OFF"}, "no_such_subteam"},
		{"conversations.info", args{"channel": "C0SECRET"}, "channel_not_found"},
		{"conversations.history", args{"channel": "C0QUIET"}, "not_in_channel"},
		{"conversations.history", args{"channel": "C0OPS", "limit": 2000}, "invalid_limit"},
		{"conversations.history", args{"channel": "C0OPS", "cursor": "?"}, "invalid_cursor"},
		{"conversations.history", args{"channel": "C0OPS", "oldest": "2026-01-01"}, "invalid_ts_oldest"},
		{"conversations.history", args{"channel": "C0OPS", "latest": "now"}, "invalid_ts_latest"},
		{"conversations.replies", args{"channel": "C0OPS", "ts": "1000000000.000000"}, "thread_not_found"},
		{"conversations.join", args{"channel": "C0QUIET"}, "missing_scope"},
		{"conversations.open", args{"users": "U0EVE"}, "user_disabled"},
		{"conversations.open", args{}, "users_list_not_supplied"},
		{"views.open", args{"view": editModal()}, "invalid_arguments"},
		{"views.open", args{"trigger_id": "1.2.3", "view": editModal()}, "invalid_trigger_id"},
		{"views.open", args{"trigger_id": "1.2.3", "view": args{"type": "modal"}}, "invalid_arguments"},
		{"views.update", args{"view_id": "V0NOPE", "view": editModal()}, "not_found"},
		{"views.publish", args{"user_id": "U0NOPE", "view": args{"type": "home", "blocks": []any{}}}, "user_not_found"},
		{"views.publish", args{"user_id": "U0ANA", "view": editModal()}, "invalid_arguments"},
		{"files.getUploadURLExternal", args{"filename": "a.txt"}, "invalid_arguments"},
		{"files.completeUploadExternal", args{"files": []args{{"id": "F0NOPE"}}}, "file_not_found"},
		{"files.info", args{"file": "F0NOPE"}, "file_not_found"},
		{"chat.startStream", args{"channel": "C0OPS"}, "invalid_thread_ts"},
		{"chat.startStream", args{"channel": "C0OPS", "thread_ts": own}, "missing_recipient_user_id"},
		{"chat.startStream", args{"channel": "C0OPS", "thread_ts": own, "recipient_user_id": "U0ANA"}, "missing_recipient_team_id"},
		{"chat.appendStream", args{"channel": "C0OPS", "ts": own, "markdown_text": "x"}, "message_not_in_streaming_state"},
		{"agents.sessions.setStatus", args{"channel": "C0OPS", "thread_ts": own, "status": "active"}, "feature_disabled"},
		{"apps.connections.open", args{}, "not_allowed_token_type"},
		{"blocks.validate", args{}, "invalid_arguments"},
		{"blocks.validate", args{"blocks": []any{args{"type": "alert"}}}, "invalid_blocks"},
		{"api.test", args{"error": "my_error"}, "my_error"},
	} {
		r := a.try(tt.method, tt.args)
		if r.Status != http.StatusOK || r.Error() != tt.want || r.Body["ok"] != false {
			t.Errorf("%s %v: %d %q, want %q", tt.method, tt.args, r.Status, r.Error(), tt.want)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	ws.Allow(localslack.ViolationToken)
	for _, tt := range []struct{ token, want string }{
		{"", "not_authed"}, {"xoxb-other", "invalid_auth"}, {slacktest.AppToken, "not_allowed_token_type"}, {slacktest.BotToken, ""},
	} {
		a := newApp(t, ws)
		a.BotToken = tt.token
		if r := a.try("auth.test", map[string]any{}); r.Error() != tt.want {
			t.Errorf("in the header, %q: %q, want %q", tt.token, r.Error(), tt.want)
		}
		if r, err := a.Form(a.context(), "auth.test", url.Values{}); err != nil || r.Error() != tt.want {
			t.Errorf("in the body, %q: %q %v, want %q", tt.token, r.Error(), err, tt.want)
		}
	}
	resp, err := http.Get(ws.Server.APIURL() + "auth.test?token=" + slacktest.BotToken)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if v := ws.Server.Violations(); len(v) != 1 || v[0].Kind != localslack.ViolationToken {
		t.Errorf("a token in a URL: %v", v)
	}
	if got := resp.Header.Get("X-OAuth-Scopes"); !strings.Contains(got, "chat:write") {
		t.Errorf("scopes in the header: %q", got)
	}
}

func TestMissingScopeNamesBothSides(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) { c.App.Scopes = []string{"chat:write", "users:read"} })
	ws.Allow(localslack.ViolationScope)
	a := newApp(t, ws)
	for method, needed := range map[string]string{
		"usergroups.list": "usergroups:read", "reactions.add": "reactions:write", "conversations.list": "channels:read", "team.info": "team:read",
	} {
		r := a.try(method, map[string]any{})
		if r.Error() != "missing_scope" || r.Str("needed") != needed || r.Str("provided") != "chat:write,users:read" {
			t.Errorf("%s: %v", method, r.Body)
		}
	}
	r := a.try("conversations.history", map[string]any{"channel": "C0OPS"})
	if r.Str("needed") != "channels:history" {
		t.Errorf("history: %v", r.Body)
	}
	r = a.try("conversations.history", map[string]any{"channel": "C0VAULT"})
	if r.Str("needed") != "groups:history" {
		t.Errorf("history of a private channel: %v", r.Body)
	}
}

// post sends one body as it is and returns the decoded answer.
func post(t *testing.T, target, kind, body string) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "Bearer "+slacktest.BotToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBodies(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	target := ws.Server.APIURL() + "chat.postMessage"
	form := url.Values{"channel": {"#ops"}, "text": {"form"}, "blocks": {card}}.Encode()
	var multi bytes.Buffer
	mw := multipart.NewWriter(&multi)
	for k, v := range map[string]string{"channel": "C0OPS", "text": "multipart", "blocks": card} {
		if err := mw.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}
	mw.Close()
	for _, tt := range []struct{ name, kind, body, err, warning string }{
		{"form", "application/x-www-form-urlencoded", form, "", ""},
		{"multipart", mw.FormDataContentType(), multi.String(), "", ""},
		{"json", "application/json; charset=utf-8", `{"channel":"C0OPS","text":"json","blocks":` + card + `,"thread_ts":null}`, "", ""},
		{"json with blocks as text", "application/json", `{"channel":"C0OPS","text":"json","blocks":"[{\"type\":\"divider\"}]"}`, "", "missing_charset"},
		{"broken json", "application/json; charset=utf-8", `{"channel":`, "invalid_json", ""},
		{"json array", "application/json; charset=utf-8", `[]`, "json_not_object", ""},
		{"xml", "text/xml", `<a/>`, "invalid_post_type", ""},
		{"broken form", "application/x-www-form-urlencoded", "%zz", "invalid_form_data", ""},
		{"broken multipart", "multipart/form-data; boundary=x", "y", "invalid_multipart_form_data", ""},
	} {
		out := post(t, target, tt.kind, tt.body)
		gotErr, _ := out["error"].(string)
		gotWarning, _ := out["warning"].(string)
		if gotErr != tt.err || gotWarning != tt.warning {
			t.Errorf("%s: %q %q, want %q %q", tt.name, gotErr, gotWarning, tt.err, tt.warning)
		}
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) { c.Limits.Factor = 1 })
	ws.Allow(localslack.ViolationRetryAfter)
	a := newApp(t, ws)
	posts := func(channel string) int {
		for n := range 10 {
			if r := a.try("chat.postMessage", map[string]any{"channel": channel, "text": "x"}); r.Status == http.StatusTooManyRequests {
				if r.RetryAfter != "1" || r.Error() != "ratelimited" {
					t.Errorf("429 with Retry-After %q, %q", r.RetryAfter, r.Error())
				}
				return n
			}
		}
		return 10
	}
	if n := posts("C0OPS"); n != 4 {
		t.Errorf("%d posts at once in one channel, want 4", n)
	}
	if n := posts("C0VAULT"); n != 4 {
		t.Errorf("the other channel took %d, want 4 of its own", n)
	}
	if v := ws.Server.Violations(); len(v) != 0 {
		t.Errorf("violations %v", v)
	}
	if r := a.try("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "x"}); r.Status != http.StatusTooManyRequests {
		t.Errorf("a call before Retry-After was over gave %d", r.Status)
	}
	if v := ws.Server.Violations(); len(v) != 1 || v[0].Kind != localslack.ViolationRetryAfter {
		t.Errorf("violations %v", v)
	}
	for n := range 30 {
		if r := a.try("usergroups.list", map[string]any{}); r.Status == http.StatusTooManyRequests {
			if n < 20 || n > 21 {
				t.Errorf("usergroups.list allowed %d a minute, want 20", n)
			}
			return
		}
	}
	t.Error("usergroups.list was never limited")
}

func TestLimitsOff(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) { c.Limits = localslack.Limits{Off: true} })
	a := newApp(t, ws)
	for range 30 {
		a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "x"})
	}
}

func TestAPIFaults(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	ws.Allow(localslack.ViolationRetryAfter)
	a := newApp(t, ws)
	text := map[string]any{"channel": "C0OPS", "text": "x"}

	ws.Server.BreakAPI(localslack.APIFault{Method: "chat.postMessage", Times: 1, RetryAfter: 30 * time.Second})
	if r := a.try("chat.postMessage", text); r.Status != 429 || r.RetryAfter != "30" {
		t.Errorf("got %d, Retry-After %q", r.Status, r.RetryAfter)
	}
	if r := a.try("chat.postMessage", text); r.Status != 429 {
		t.Errorf("before 30 s were over: %d", r.Status)
	}
	a.call("auth.test", nil) // another method goes on

	ws.Server.BreakAPI(localslack.APIFault{Method: "chat.delete", Times: 1, RetryAfter: 30 * time.Second, Cut: true})
	if _, err := a.Call(a.context(), "chat.delete", text); err == nil {
		t.Error("a lost 429 arrived")
	}
	for want := 1; want <= 2; want++ { // the violation of above; a client that heard nothing adds none, one that heard it does
		if r := a.try("chat.delete", text); r.Status != 429 {
			t.Errorf("before 30 s were over: %d", r.Status)
		}
		if v := ws.Server.Violations(); len(v) != want {
			t.Errorf("violations %v, want %d", v, want)
		}
	}

	ws.Server.BreakAPI(localslack.APIFault{Method: "chat.update", Skip: 1, Times: 1, Error: "internal_error"})
	a.try("chat.update", text)
	if r := a.try("chat.update", text); r.Error() != "internal_error" {
		t.Errorf("the second call: %q", r.Error())
	}

	ws.Server.BreakAPI(localslack.APIFault{Method: "chat.postEphemeral", Times: 1, Cut: true, AfterStore: true})
	note := map[string]any{"channel": "C0OPS", "user": "U0ANA", "text": "stored, but nobody heard"}
	if _, err := a.Call(a.context(), "chat.postEphemeral", note); err == nil {
		t.Error("the lost answer arrived")
	}
	ws.Expect(slacktest.Text("nobody heard"))

	ws.Server.BreakAPI(localslack.APIFault{Method: "users.info", Hang: true, Times: 1})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err := a.Call(ctx, "users.info", map[string]any{"user": "U0ANA"}); err == nil {
		t.Error("a hanging call answered")
	}

	ws.Server.SkewDate(time.Hour)
	when, err := http.ParseTime(a.call("auth.test", nil).Date)
	if skew := time.Until(when); err != nil || skew < 59*time.Minute || skew > 61*time.Minute {
		t.Errorf("Date is off by %s, %v", skew, err)
	}
}

func TestCallsAreRecordedWithoutTokens(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := newApp(t, ws)
	if _, err := a.Form(a.context(), "chat.postMessage", url.Values{"channel": {"C0OPS"}, "text": {"hello"}}); err != nil {
		t.Fatal(err)
	}
	calls := ws.Server.Calls("chat.postMessage")
	if len(calls) != 1 || calls[0].Args["text"] != "hello" || calls[0].Args["token"] != "" || calls[0].Status != 200 {
		t.Errorf("recorded %+v", calls)
	}
}

package localslack_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"

	"github.com/google/go-cmp/cmp"
)

func TestUploadInThreeSteps(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) { c.UploadElsewhere = true })
	a := newApp(t, ws)
	root := ws.User("ana").Says("#ops", "rows?")
	step1 := a.call("files.getUploadURLExternal", map[string]any{"filename": "rows.csv", "length": 4})
	up, err := url.Parse(step1.Str("upload_url"))
	if err != nil || strings.HasPrefix(ws.Server.APIURL(), "http://"+up.Host) {
		t.Errorf("the upload host is the API host: %s %v", up, err)
	}
	done := map[string]any{
		"files":      []any{map[string]any{"id": step1.Str("file_id"), "title": "Rows"}},
		"channel_id": "C0OPS", "thread_ts": root.TS, "initial_comment": "all of them",
	}
	if r := a.try("files.completeUploadExternal", done); r.Error() != "file_upload_size_mismatch" {
		t.Errorf("completing without bytes: %q", r.Error())
	}
	resp, err := http.Post(up.String(), "text/csv", strings.NewReader("a,b\n"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	step3 := a.call("files.completeUploadExternal", done)
	m := ws.Expect(slacktest.InThread(root), slacktest.Text("all of them")).Now()
	if len(m.Files) != 1 || m.Files[0] != step1.Str("file_id") {
		t.Errorf("files of the message: %v", m.Files)
	}
	link := tinyapp.Str(step3.Body["files"].([]any)[0], "url_private")
	if body := fetch(t, link, slacktest.BotToken); body != "a,b\n" {
		t.Errorf("url_private gave %q", body)
	}
	if body := fetch(t, link, "other"); !strings.Contains(body, "not found") {
		t.Errorf("url_private without the token gave %q", body)
	}
	info := a.call("files.info", map[string]any{"file": step1.Str("file_id")})
	if got := tinyapp.Str(info.Body["file"], "title"); got != "Rows" {
		t.Errorf("title %q", got)
	}
	if r := a.try("files.completeUploadExternal", done); r.Error() != "file_not_found" {
		t.Errorf("completing twice: %q", r.Error())
	}
}

func fetch(t *testing.T, link, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestStreamLife(t *testing.T) {
	t.Parallel()
	clock := slacktest.NewClock()
	ws := slacktest.New(t, clock.Use)
	a := newApp(t, ws)
	root := ws.User("ana").Says("#ops", "go")
	start := func() string {
		t.Helper()
		return a.call("chat.startStream", map[string]any{
			"channel": "C0OPS", "thread_ts": root.TS, "recipient_user_id": "U0ANA", "recipient_team_id": "T0LOCAL", "markdown_text": "one ",
		}).Str("ts")
	}
	ts := start()
	at := func(more map[string]any) map[string]any {
		more["channel"], more["ts"] = "C0OPS", ts
		return more
	}
	if r := a.try("chat.update", at(map[string]any{"text": "x"})); r.Error() != "streaming_state_conflict" {
		t.Errorf("update of a live stream: %q", r.Error())
	}
	task := func(status string) []any {
		return []any{map[string]any{"type": "task_update", "id": "t1", "title": "Look up", "status": status}}
	}
	a.call("chat.appendStream", at(map[string]any{"chunks": task("in_progress")}))
	a.call("chat.appendStream", at(map[string]any{"chunks": task("complete")}))
	for want, args := range map[string]map[string]any{
		"no_text":                {},
		"markdown_text_conflict": {"markdown_text": "x", "chunks": task("complete")},
		"invalid_chunks":         {"chunks": []any{map[string]any{"type": "task_update", "id": "t1", "title": "no status"}}},
		"msg_too_long":           {"markdown_text": strings.Repeat("x", 12_001)},
	} {
		if r := a.try("chat.appendStream", at(args)); r.Error() != want {
			t.Errorf("append %v: %q, want %q", args, r.Error(), want)
		}
	}
	a.call("chat.stopStream", at(map[string]any{"markdown_text": "two"}))
	m := ws.Expect(slacktest.InThread(root), slacktest.Text("one two"), slacktest.Text("Look up")).Now()
	if m.Streaming != "completed" || strings.Count(string(m.Blocks), "task_card") != 1 {
		t.Errorf("state %q, blocks %s", m.Streaming, m.Blocks)
	}
	if r := a.try("chat.stopStream", at(map[string]any{})); r.Error() != "message_not_in_streaming_state" {
		t.Errorf("stopped twice: %q", r.Error())
	}
	ts = start()
	clock.Advance(6 * time.Minute)
	if r := a.try("chat.appendStream", at(map[string]any{"markdown_text": "late"})); r.Error() != "message_not_in_streaming_state" {
		t.Errorf("after six minutes: %q", r.Error())
	}
}

func TestStatusGoesWithThePostOrTheTime(t *testing.T) {
	t.Parallel()
	clock := slacktest.NewClock()
	ws := slacktest.New(t, clock.Use, func(c *localslack.Config) { c.App.IsAgent = true })
	a := newApp(t, ws)
	root := ws.User("ana").Says("#ops", "go")
	set := func(text string) {
		t.Helper()
		a.call("assistant.threads.setStatus", map[string]any{"channel_id": "C0OPS", "thread_ts": root.TS, "status": text})
	}
	status := func() string {
		for _, s := range ws.Server.Workspace().Statuses("C0OPS") {
			return s.Text
		}
		return ""
	}
	set("is thinking…")
	if status() != "is thinking…" {
		t.Errorf("status %q", status())
	}
	a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "thread_ts": root.TS, "text": "done"})
	if status() != "" {
		t.Errorf("after a post: %q", status())
	}
	set("is thinking…")
	clock.Advance(3 * time.Minute)
	if status() != "" {
		t.Errorf("after three minutes: %q", status())
	}
	session := map[string]any{"channel_id": "C0OPS", "thread_ts": root.TS, "status": "suspended"}
	a.call("agents.sessions.setStatus", session)
	if status() != "is waiting for input" {
		t.Errorf("suspended shows %q", status())
	}
	session["status"] = "asleep"
	if r := a.try("agents.sessions.setStatus", session); r.Error() != "invalid_status" {
		t.Errorf("got %q", r.Error())
	}
	eleven := map[string]any{"channel_id": "C0OPS", "thread_ts": root.TS, "status": "x", "loading_messages": strings.Split(strings.Repeat("m,", 10)+"m", ",")}
	if r := a.try("assistant.threads.setStatus", eleven); r.Error() != "invalid_arguments" {
		t.Errorf("eleven loading messages: %q", r.Error())
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) {
		c.People = append(c.People, localslack.Person{ID: "U0STR", Name: "str", IsStranger: true, TeamID: "T0FAR"})
	})
	a := newApp(t, ws)
	for user, want := range map[string]map[string]any{
		"U0ANA": {"deleted": false, "is_restricted": false, "is_bot": false, "team_id": "T0LOCAL"},
		"U0GUS": {"is_restricted": true, "is_ultra_restricted": false},
		"U0EVE": {"deleted": true},
		"U0OLI": {"team_id": "T0OTHER"},
		"U0STR": {"is_stranger": true},
		"U0BOT": {"is_bot": true},
	} {
		got := a.call("users.info", map[string]any{"user": user}).Body["user"].(map[string]any)
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%s %s: %v, want %v", user, k, got[k], v)
			}
		}
	}
	r := a.call("usergroups.users.list", map[string]any{"usergroup": "S0FIN"})
	if diff := cmp.Diff([]any{"U0FIN", "U0MGR"}, r.Body["users"]); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	var names []string
	cursor := ""
	for {
		r := a.call("users.list", map[string]any{"limit": 3, "cursor": cursor})
		for _, m := range r.Body["members"].([]any) {
			names = append(names, tinyapp.Str(m, "name"))
		}
		if cursor = r.Str("response_metadata", "next_cursor"); cursor == "" {
			break
		}
	}
	if len(names) != 8 {
		t.Errorf("users.list gave %v", names)
	}
	if got := tinyapp.Str(a.call("bots.info", map[string]any{"bot": "B0LOCAL"}).Body["bot"], "user_id"); got != "U0BOT" {
		t.Errorf("bots.info: %q", got)
	}
	r = a.call("conversations.list", map[string]any{"types": "public_channel,private_channel"})
	if got := fmt.Sprint(len(r.Body["channels"].([]any))); got != "3" {
		t.Errorf("%s channels", got)
	}
	r = a.call("users.conversations", map[string]any{"types": "public_channel,private_channel"})
	if got := len(r.Body["channels"].([]any)); got != 2 {
		t.Errorf("the bot is in %d channels", got)
	}
	ch := a.call("conversations.info", map[string]any{"channel": "C0QUIET", "include_num_members": true}).Body["channel"].(map[string]any)
	if ch["is_member"] != false || ch["num_members"] != 2.0 || ch["is_private"] != false {
		t.Errorf("conversations.info: %v", ch)
	}
	if r := a.call("conversations.members", map[string]any{"channel": "C0VAULT"}); len(r.Body["members"].([]any)) != 3 {
		t.Errorf("members: %v", r.Body)
	}
	if got := tinyapp.Str(a.call("team.info", nil).Body["team"], "id"); got != "T0LOCAL" {
		t.Errorf("team.info: %q", got)
	}
	if got := a.call("auth.test", nil); got.Str("bot_id") != "B0LOCAL" || got.Str("user_id") != "U0BOT" || got.Str("team_id") != "T0LOCAL" {
		t.Errorf("auth.test: %v", got.Body)
	}
}

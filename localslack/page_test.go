package localslack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"
)

// withPage gives the workspace its web page.
func withPage(cfg *localslack.Config) {
	cfg.Page = &localslack.PageConfig{Banner: "All of it is scripted.", Scenes: []localslack.Scene{{Title: "One", Text: "@countersign hi", As: "U0ANA", Channel: "C0OPS", Available: true}}, Words: map[string]map[string]string{"zh": {"One": "一"}}}
}

// browser is a person's browser: it asks as our own scripts do.
type browser struct {
	t    *testing.T
	base string
	user string
}

func (b browser) request(method, path string, body any) *http.Request {
	b.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	b.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, bytes.NewReader(raw))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Local-Slack", "page")
		req.Header.Set("Origin", b.base)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return req
}

// send returns status and decoded body.
func (b browser) send(req *http.Request) (int, map[string]any) {
	b.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	var body map[string]any
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		b.t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	return res.StatusCode, body
}

// does acts as the person and wants success.
func (b browser) does(what string, fields map[string]any) map[string]any {
	b.t.Helper()
	code, body := b.tries(what, fields)
	if code != "" {
		b.t.Fatalf("%s: %s", what, code)
	}
	return body
}

// tries acts as the person and returns the error code, if any.
func (b browser) tries(what string, fields map[string]any) (string, map[string]any) {
	b.t.Helper()
	all := map[string]any{"user": b.user}
	for k, v := range fields {
		all[k] = v
	}
	_, body := b.send(b.request(http.MethodPost, "/page/"+what, all))
	return tinyapp.Str(body, "error"), body
}

// screen is what the person sees after loading the page.
func (b browser) screen() screen {
	b.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(b.request(http.MethodGet, "/page/state?user="+b.user, nil))
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	var s screen
	if err := json.NewDecoder(res.Body).Decode(&s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

type screen struct {
	Seq      int64
	Me       string
	Banner   string
	Commands []string
	People   []localslack.Person
	Channels []localslack.Channel
	Messages map[string][]shownMessage
	Views    []localslack.View
	Home     *localslack.View
}

type shownMessage struct {
	TS       string
	ThreadTS string `json:"thread_ts"`
	Text     string
	Metadata *localslack.Metadata
	Files    []struct{ ID, Name, Mimetype, Preview string }
}

func (s screen) texts(channel string) []string {
	out := []string{}
	for _, m := range s.Messages[channel] {
		out = append(out, m.Text)
	}
	return out
}

func (s screen) channelNames() []string {
	out := []string{}
	for _, c := range s.Channels {
		out = append(out, c.Name)
	}
	return out
}

func pageOf(t *testing.T) (*slacktest.Slack, func(user string) browser) {
	t.Helper()
	ws := slacktest.New(t, withPage)
	return ws, func(user string) browser { return browser{t: t, base: ws.Server.BaseURL(), user: user} }
}

func TestPageShowsOnePersonsView(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	a := newApp(t, ws)
	ws.User("ana").Says("#ops", "good morning")
	a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "hello", "metadata": map[string]any{"event_type": "x", "event_payload": map[string]any{"secret": "y"}}})
	a.call("chat.postEphemeral", map[string]any{"channel": "C0OPS", "user": "U0MGR", "text": "for you alone"})

	tests := []struct {
		user     string
		channels []string
		ops      []string
	}{
		{"U0ANA", []string{"ops", "quiet", "vault"}, []string{"good morning", "hello"}},
		{"U0MGR", []string{"ops", "quiet", "vault"}, []string{"good morning", "hello", "for you alone"}},
		{"U0FIN", []string{"ops", "quiet"}, []string{"good morning", "hello"}},
		{"U0GUS", []string{"ops"}, []string{"good morning", "hello"}}, // a guest sees only where they were let in
		{"U0OLI", []string{"ops"}, []string{"good morning", "hello"}},
	}
	for _, tt := range tests {
		s := as(tt.user).screen()
		names := slices.Sorted(slices.Values(s.channelNames()))
		if diff := cmp.Diff(tt.channels, names); diff != "" {
			t.Errorf("%s: channels (-want +got)\n%s", tt.user, diff)
		}
		if diff := cmp.Diff(tt.ops, s.texts("C0OPS")); diff != "" {
			t.Errorf("%s: messages (-want +got)\n%s", tt.user, diff)
		}
		for _, m := range s.Messages["C0OPS"] {
			if m.Metadata != nil {
				t.Errorf("%s: sees the metadata of %q", tt.user, m.Text)
			}
		}
	}
}

func TestPageChoosesWhoYouAre(t *testing.T) {
	t.Parallel()
	_, as := pageOf(t)
	for asked, want := range map[string]string{"": "U0ANA", "mgr": "U0MGR", "U0FIN": "U0FIN"} {
		s := as(asked).screen()
		if s.Me != want {
			t.Errorf("user %q: I am %q, want %q", asked, s.Me, want)
		}
		if s.Banner == "" || len(s.Commands) != 1 {
			t.Errorf("banner %q, commands %v", s.Banner, s.Commands)
		}
	}
	for _, nobody := range []string{"U0EVE", "U0BOT", "countersign", "U0NOBODY"} {
		status, body := as(nobody).send(as(nobody).request(http.MethodGet, "/page/state?user="+nobody, nil))
		if status != http.StatusBadRequest || tinyapp.Str(body, "error") != "user_not_found" {
			t.Errorf("%s: %d %v", nobody, status, body)
		}
	}
}

func TestPageActs(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	ana, mgr := as("U0ANA"), as("U0MGR")
	said := ana.does("say", map[string]any{"channel": "C0OPS", "text": "helo"})
	ts := tinyapp.Str(said, "message", "ts")
	ana.does("edit", map[string]any{"channel": "C0OPS", "ts": ts, "text": "hello"})
	mgr.does("say", map[string]any{"channel": "C0OPS", "text": "hi", "thread_ts": ts})
	mgr.does("react", map[string]any{"channel": "C0OPS", "ts": ts, "name": "eyes"})

	m, _ := ws.Server.Workspace().Message("C0OPS", ts)
	if m.Text != "hello" || m.Edited == nil || len(m.Reactions) != 1 {
		t.Errorf("after edit and reaction: %+v", m)
	}
	if replies := ws.Server.Workspace().Thread("C0OPS", ts, ""); len(replies) != 2 {
		t.Errorf("thread of %d", len(replies))
	}
	mgr.does("react", map[string]any{"channel": "C0OPS", "ts": ts, "name": "eyes", "remove": true})
	ana.does("delete", map[string]any{"channel": "C0OPS", "ts": ts})
	m, _ = ws.Server.Workspace().Message("C0OPS", ts)
	if !m.Deleted || len(m.Reactions) != 0 {
		t.Errorf("after delete: %+v", m)
	}

	as("U0FIN").does("join", map[string]any{"channel": "C0QUIET"})
	if c, _ := ws.Server.Workspace().Channel("C0QUIET"); !c.Has("U0FIN") {
		t.Error("the channel was not joined")
	}
	direct := tinyapp.Str(ana.does("direct", nil), "channel", "id")
	ana.does("say", map[string]any{"channel": direct, "text": "between us"})
	if got := ana.screen().texts(direct); !slices.Equal(got, []string{"between us"}) {
		t.Errorf("direct message: %q", got)
	}
	if slices.Contains(mgr.screen().channelNames(), direct) {
		t.Error("somebody else sees the direct message")
	}
}

func TestPageRefusals(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	m := ws.User("ana").Says("#ops", "mine")
	tests := []struct {
		user, what string
		fields     map[string]any
		want       string
	}{
		{"U0MGR", "edit", map[string]any{"channel": "C0OPS", "ts": m.TS, "text": "yours"}, "cant_update_message"},
		{"U0FIN", "say", map[string]any{"channel": "C0VAULT", "text": "let me in"}, "channel_not_found"},
		{"U0FIN", "say", map[string]any{"channel": "C0QUIET", "text": "let me in"}, "not_in_channel"},
		{"U0GUS", "join", map[string]any{"channel": "C0QUIET"}, "channel_not_found"},
		{"U0ANA", "click", map[string]any{"channel": "C0OPS", "ts": "1.000001", "action_id": "x"}, "message_not_found"},
		{"U0ANA", "submit", map[string]any{"view_id": "V0"}, "not_found"},
		{"U0ANA", "slash", map[string]any{"channel": "C0OPS", "name": "/nope"}, "no_such_command"},
		{"", "say", map[string]any{"channel": "C0OPS", "text": "who am I"}, "user_not_found"},
		{"U0BOT", "say", map[string]any{"channel": "C0OPS", "text": "I am the bot"}, "user_not_found"},
		{"U0EVE", "say", map[string]any{"channel": "C0OPS", "text": "I left"}, "user_not_found"},
	}
	for _, tt := range tests {
		if got, _ := as(tt.user).tries(tt.what, tt.fields); got != tt.want {
			t.Errorf("%s %s %v: %q, want %q", tt.user, tt.what, tt.fields, got, tt.want)
		}
	}
	bad := as("U0ANA").request(http.MethodPost, "/page/say", nil)
	bad.Body, bad.ContentLength = http.NoBody, 0
	if status, body := as("U0ANA").send(bad); status != http.StatusBadRequest || tinyapp.Str(body, "error") != "invalid_json" {
		t.Errorf("no body: %d %v", status, body)
	}
}

func TestPageCardAndForm(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	a := connected(t, ws)
	a.serve(approver(a))
	ana, mgr := as("U0ANA"), as("U0MGR")
	ask := tinyapp.Str(ana.does("say", map[string]any{"channel": "C0OPS", "text": "@countersign delete doc_42"}), "message", "ts")
	a.postedCard = ws.Expect(slacktest.Button("approval_edit"))

	live := mgr.follow()
	mgr.does("click", map[string]any{"channel": "C0OPS", "ts": a.postedCard.TS, "action_id": "approval_edit"})
	live.until("views", func(e map[string]any) bool { return len(e["views"].([]any)) == 1 })
	if n := len(ana.screen().Views); n != 0 {
		t.Errorf("the asker sees %d modals of the manager", n)
	}
	view := mgr.screen().Views[0]
	submit := func(id string) map[string]any {
		input := map[string]any{"type": "plain_text_input", "value": id}
		return mgr.does("submit", map[string]any{"view_id": view.ID, "values": map[string]any{"arg:id": map[string]any{"value": input}}})
	}
	if got := tinyapp.Str(submit("doc_42"), "errors", "arg:id"); got != "nothing changed" {
		t.Errorf("the error at the field is %q", got)
	}
	submit("doc_43")
	live.until("message", func(e map[string]any) bool { return tinyapp.Str(e, "message", "text") == "Approved with doc_43" })
	if s := mgr.screen(); len(s.Views) != 0 || !slices.Contains(s.texts("C0OPS"), "Approved with doc_43") {
		t.Errorf("after the form: %d modals, %q", len(s.Views), s.texts("C0OPS"))
	}
	if thread := mgr.screen().Messages["C0OPS"]; thread[len(thread)-1].ThreadTS != ask {
		t.Error("the card left its thread")
	}
}

func TestPageSaysWhenTheAppIsAway(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, withPage, func(c *localslack.Config) { c.Timing.Ack = 20 * time.Millisecond })
	a := newApp(t, ws)
	a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "card", "blocks": card})
	m := ws.Expect(slacktest.Button("approval_edit"))
	mgr := browser{t: t, base: ws.Server.BaseURL(), user: "U0MGR"}
	live := mgr.follow()
	reply := mgr.does("click", map[string]any{"channel": "C0OPS", "ts": m.TS, "action_id": "approval_edit"})
	if !strings.Contains(tinyapp.Str(reply, "notice"), "did not respond") {
		t.Errorf("reply %v", reply)
	}
	live.until("notice", func(e map[string]any) bool { return strings.Contains(tinyapp.Str(e, "text"), "did not respond") })
}

func TestPageHome(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	a := connected(t, ws)
	mgr := as("U0MGR")
	live := mgr.follow()
	mgr.does("home", nil)
	a.take("app_home_opened")
	a.call("views.publish", map[string]any{"user_id": "U0MGR", "view": map[string]any{"type": "home", "blocks": blocks(t, `[{"type":"section","text":{"type":"mrkdwn","text":"waits for you"}}]`)}})
	live.until("home", func(e map[string]any) bool { return e["home"] != nil })
	if as("U0ANA").screen().Home != nil {
		t.Error("somebody else sees the Home tab")
	}
	if mgr.screen().Home == nil {
		t.Error("the Home tab is not on the screen")
	}
}

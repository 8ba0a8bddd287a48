package slacktest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/tinyapp"
)

// recorder is a test that only notes how it failed.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()           {}
func (r *recorder) Cleanup(fn func()) { r.cleanups = append(r.cleanups, fn) }
func (r *recorder) Errorf(f string, a ...any) {
	r.failures = append(r.failures, fmt.Sprintf(f, a...))
}
func (r *recorder) Fatalf(f string, a ...any) {
	r.Errorf(f, a...)
	runtime.Goexit()
}

// failures runs a test of its own to its end and returns what it complained
// about.
func failures(t *testing.T, test func(*Slack, tinyapp.App)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ws := New(r)
		ws.Wait = 50 * time.Millisecond
		test(ws, tinyapp.App{API: ws.Server.APIURL(), BotToken: BotToken, AppToken: AppToken})
	}()
	<-done
	for _, fn := range r.cleanups {
		fn()
	}
	return strings.Join(r.failures, "\n")
}

func say(a tinyapp.App, text string) {
	if _, err := a.Call(context.Background(), "chat.postMessage", map[string]any{"channel": "C0OPS", "text": text}); err != nil {
		panic(err)
	}
}

func TestExpectationsFail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		test func(*Slack, tinyapp.App)
		want string
	}{
		{"nothing wrong", func(ws *Slack, a tinyapp.App) { say(a, "hi"); ws.Expect(Text("hi")); ws.NoStray() }, ""},
		{"no message", func(ws *Slack, a tinyapp.App) { ws.Expect(Text("hi")) }, `waited 50ms for a message with text "hi"`},
		{"taken twice", func(ws *Slack, a tinyapp.App) { say(a, "hi"); ws.Expect(Text("hi")); ws.Expect(Text("hi")) }, "waited"},
		{"stray", func(ws *Slack, a tinyapp.App) { say(a, "hi"); ws.NoStray() }, "unexpected message"},
		{"no update", func(ws *Slack, a tinyapp.App) { say(a, "hi"); ws.ExpectUpdate(ws.Expect(Text("hi")), Text("ho")) }, `update with text "ho"`},
		{"no modal", func(ws *Slack, a tinyapp.App) { ws.ExpectModal(ws.User("ana"), "Edit") }, "a modal with Edit"},
		{"no home", func(ws *Slack, a tinyapp.App) { ws.ExpectHome(ws.User("ana"), "x") }, "a Home tab"},
		{"nobody", func(ws *Slack, a tinyapp.App) { ws.User("nobody") }, "nobody is called nobody"},
		{"no channel", func(ws *Slack, a tinyapp.App) { ws.User("ana").Says("#nowhere", "x") }, "no channel #nowhere"},
		{"rule broken", func(ws *Slack, a tinyapp.App) { say(a, "<!here>"); ws.Expect(Text("here")) }, "the app broke a rule of Slack: broadcast !here"},
		{"rule allowed", func(ws *Slack, a tinyapp.App) {
			ws.Allow(localslack.ViolationBroadcast)
			say(a, "<!here>")
			ws.Expect(Text("here"))
		}, ""},
		{"not acked", func(ws *Slack, a tinyapp.App) { ws.User("ana").Says("#ops", "@countersign hi"); ws.ExpectAcked() }, "all acks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := failures(t, tt.test)
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("complained %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	ws := New(t)
	a := tinyapp.App{API: ws.Server.APIURL(), BotToken: BotToken}
	m := ws.User("ana").Says("#ops", "hello")
	args := map[string]any{"channel": "C0OPS", "user": "U0ANA", "thread_ts": m.TS, "text": "psst"}
	if _, err := a.Call(context.Background(), "chat.postEphemeral", args); err != nil {
		t.Fatal(err)
	}
	want := "#ops ana: hello\n    | hello\n    #ops countersign (only for ana): psst\n"
	if got := ws.Transcript(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package localslack_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/localslack/tinyapp"
)

// feed is a person's open event stream.
type feed struct {
	t     *testing.T
	lines *bufio.Scanner
}

// follow opens the stream from what the screen showed.
func (b browser) follow() feed {
	b.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(b.request(http.MethodGet, "/page/events?user="+b.user, nil))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { res.Body.Close() })
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		b.t.Fatalf("stream of type %q", got)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || lines.Text() != ": hello" {
		b.t.Fatalf("the stream begins with %q", lines.Text())
	}
	return feed{t: b.t, lines: lines}
}

// next is the next event.
func (f feed) next() map[string]any {
	f.t.Helper()
	for f.lines.Scan() {
		if data, ok := strings.CutPrefix(f.lines.Text(), "data: "); ok {
			var e map[string]any
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				f.t.Fatal(err)
			}
			return e
		}
	}
	f.t.Fatalf("the stream ended: %v", f.lines.Err())
	return nil
}

// until skips to the event of that kind for which holds is true.
func (f feed) until(kind string, holds func(map[string]any) bool) map[string]any {
	f.t.Helper()
	for {
		if e := f.next(); e["kind"] == kind && holds(e) {
			return e
		}
	}
}

func TestPageStream(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	a := newApp(t, ws)
	ana := as("U0ANA").follow()
	fin := as("U0FIN").follow()

	m := ws.User("mgr").Says("#vault", "between ana and me")
	a.call("chat.postEphemeral", map[string]any{"channel": "C0OPS", "user": "U0ANA", "text": "for ana alone"})
	last := ws.User("ana").Says("#ops", "to all")
	var got []string
	for {
		e := ana.next()
		got = append(got, tinyapp.Str(e, "message", "text"))
		if tinyapp.Str(e, "message", "ts") == last.TS {
			break
		}
	}
	if diff := cmp.Diff([]string{"between ana and me", "for ana alone", "to all"}, got); diff != "" {
		t.Errorf("ana's stream (-want +got)\n%s", diff)
	}
	if e := fin.next(); tinyapp.Str(e, "message", "text") != "to all" {
		t.Errorf("somebody else's stream: %v", e)
	}
	ws.User("mgr").Deletes(m)
	ana.until("gone", func(e map[string]any) bool { return e["ts"] == m.TS })
	a.call("assistant.threads.setStatus", map[string]any{"channel_id": "C0OPS", "thread_ts": last.TS, "status": "is thinking"})
	ana.until("status", func(e map[string]any) bool { return len(e["statuses"].([]any)) == 1 })
	ws.User("fin").Joins("#quiet")
	e := fin.until("channels", func(map[string]any) bool { return true })
	if e["messages"] == nil {
		t.Error("a channel comes without its messages")
	}
}

func TestPageStreamGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	seq := as("U0ANA").screen().Seq
	ws.User("mgr").Says("#ops", "missed")
	req := as("U0ANA").request(http.MethodGet, "/page/events?user=U0ANA&after="+strconv.FormatInt(seq, 10), nil)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	f := feed{t: t, lines: bufio.NewScanner(res.Body)}
	f.until("message", func(e map[string]any) bool { return tinyapp.Str(e, "message", "text") == "missed" })
}

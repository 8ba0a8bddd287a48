package localslack_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"

	"github.com/gorilla/websocket"
)

func mentionsOnly(c *localslack.Config) { c.App.Events = []string{"app_mention"} }

func TestDisconnectReasons(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested", "link_disabled", "too_many_websockets"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			ws := slacktest.New(t, quick)
			a := connected(t, ws)
			ws.Server.Disconnect(reason)
			if e := a.next(); e.Type != "disconnect" || e.Reason != reason || e.ID != "" {
				t.Errorf("got %+v", e)
			}
			if _, err := a.conn.Next(a.context()); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				t.Errorf("ended with %v", err)
			}
			r, err := a.Open(a.context())
			if want := map[string]string{"link_disabled": "link_disabled"}[reason]; err != nil || r.Error() != want {
				t.Errorf("open afterwards: %q %v, want %q", r.Error(), err, want)
			}
			ws.Server.EnableLink()
			a.dial()
		})
	}
}

func TestOldConnectionStillWorksAfterAWarning(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, mentionsOnly, func(c *localslack.Config) { c.Timing.Warning = time.Minute })
	a := connected(t, ws)
	ws.Server.Disconnect("warning")
	a.next()
	ws.User("ana").Says("#ops", "@countersign hi")
	a.take("app_mention")
	ws.ExpectAcked()
}

func TestCloseCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []int{1000, 1001, 1006, 1011} {
		ws := slacktest.New(t)
		a := connected(t, ws)
		ws.Server.CloseConnections(code)
		if _, err := a.conn.Next(a.context()); !websocket.IsCloseError(err, code) {
			t.Errorf("code %d: %v", code, err)
		}
	}
}

func TestStrangeFrames(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, mentionsOnly)
	a := newApp(t, ws)
	r, err := a.Open(a.context())
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err := websocket.DefaultDialer.Dial(r.Str("url"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	read := func() (int, string) {
		t.Helper()
		kind, data, err := raw.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		return kind, string(data)
	}
	read() // hello
	ws.Server.SendText(`{"envelope_id":"x","type":`)
	ws.Server.SendText("")
	ws.Server.SendBinary([]byte{1, 2})
	if kind, s := read(); kind != websocket.TextMessage || json.Valid([]byte(s)) {
		t.Errorf("cut JSON: %d %q", kind, s)
	}
	if kind, s := read(); kind != websocket.TextMessage || s != "" {
		t.Errorf("empty frame: %d %q", kind, s)
	}
	if kind, s := read(); kind != websocket.BinaryMessage || s != "\x01\x02" {
		t.Errorf("binary frame: %d %q", kind, s)
	}
	ws.Server.CutFrame()
	if _, _, err := raw.ReadMessage(); err == nil {
		t.Error("a frame without its end was read")
	}
}

func TestHalfOpenConnectionSwallowsEnvelopes(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, mentionsOnly, quick, func(c *localslack.Config) { c.Timing.Ping = 5 * time.Millisecond })
	var pings atomic.Int64
	a := newApp(t, ws)
	a.OnPing = func(string) error { pings.Add(1); return nil }
	a.conn = a.dial()
	ws.Server.HalfOpen()
	ws.User("ana").Says("#ops", "@countersign hi")
	e := a.next() // after every ping of before
	before := pings.Load()
	a.ack(e, nil) // arrives, but its ack is not heard
	ws.Until("a timeout", func(s *localslack.Server) bool { return s.Deliveries()[0].Result == localslack.DeliveryTimeout })
	if n := ws.Server.Connections(); n != 1 {
		t.Errorf("%d connections are counted, want the ghost", n)
	}
	if n := pings.Load() - before; n > 0 {
		t.Errorf("%d pings from a dead side", n)
	}
	b := newApp(t, ws)
	if c := b.dial(); c.Hello.Connections != 2 {
		t.Errorf("hello counts %d, want the ghost too", c.Hello.Connections)
	}
}

func TestDeliveryFaults(t *testing.T) {
	t.Parallel()
	t.Run("dropped once", func(t *testing.T) {
		t.Parallel()
		ws := slacktest.New(t, mentionsOnly, quick)
		a := connected(t, ws)
		ws.Server.BreakDelivery(localslack.DeliveryFault{Type: "app_mention", Times: 1, Drop: true})
		ws.User("ana").Says("#ops", "@countersign hi")
		if e := a.take("app_mention"); e.RetryAttempt != 1 {
			t.Errorf("attempt %d, want the first retry", e.RetryAttempt)
		}
		ws.ExpectAcked()
	})
	t.Run("copies with one id", func(t *testing.T) {
		t.Parallel()
		ids := copies(t, localslack.DeliveryFault{Type: "app_mention", Times: 1, Copies: []localslack.Copy{{}, {After: time.Millisecond}}})
		if len(ids) != 1 {
			t.Errorf("event ids %v, want one", ids)
		}
	})
	t.Run("copies with ids of their own", func(t *testing.T) {
		t.Parallel()
		ids := copies(t, localslack.DeliveryFault{Type: "app_mention", Times: 1, Copies: []localslack.Copy{{NewEventID: true}, {NewEventID: true, After: time.Millisecond}}})
		if len(ids) != 3 {
			t.Errorf("event ids %v, want three", ids)
		}
	})
	t.Run("marked copies, one envelope id used twice", func(t *testing.T) {
		t.Parallel()
		ws := slacktest.New(t, mentionsOnly)
		a := connected(t, ws)
		ws.Server.BreakDelivery(localslack.DeliveryFault{Type: "app_mention", Times: 1, Copies: []localslack.Copy{
			{After: 20 * time.Millisecond, Attempt: 1}, {After: 40 * time.Millisecond}, {After: 60 * time.Millisecond, Attempt: 1, SameEnvelope: true},
		}})
		ws.User("ana").Says("#ops", "@countersign hi")
		var attempts []int
		ids := map[string]int{}
		for range 4 {
			e := a.take("app_mention")
			attempts = append(attempts, e.RetryAttempt)
			ids[e.ID]++
		}
		slices.Sort(attempts) // on a busy machine the timers of the copies may swap
		if !slices.Equal(attempts, []int{0, 0, 1, 1}) || len(ids) != 3 {
			t.Errorf("attempts %v, envelopes %v", attempts, ids)
		}
		ws.ExpectAcked()
	})
	t.Run("swapped", func(t *testing.T) {
		t.Parallel()
		ws := slacktest.New(t, mentionsOnly)
		a := connected(t, ws)
		ws.Server.BreakDelivery(localslack.DeliveryFault{Type: "app_mention", Times: 1, HoldUntil: "app_mention"})
		ws.User("ana").Says("#ops", "@countersign first")
		ws.User("ana").Says("#ops", "@countersign second")
		one, two := a.take("app_mention"), a.take("app_mention")
		if !strings.Contains(tinyapp.Str(one.Event(), "text"), "second") || !strings.Contains(tinyapp.Str(two.Event(), "text"), "first") {
			t.Errorf("order: %v, %v", one.Event()["text"], two.Event()["text"])
		}
	})
}

// copies plays a duplicating fault and returns the event ids of three
// deliveries, all marked as first attempts.
func copies(t *testing.T, f localslack.DeliveryFault) map[string]bool {
	t.Helper()
	ws := slacktest.New(t, mentionsOnly)
	a := connected(t, ws)
	ws.Server.BreakDelivery(f)
	ws.User("ana").Says("#ops", "@countersign hi")
	ids := map[string]bool{}
	for range 3 {
		e := a.take("app_mention")
		if e.RetryAttempt != 0 || e.RetryReason != "" {
			t.Errorf("a copy is marked as retry %d %q", e.RetryAttempt, e.RetryReason)
		}
		ids[tinyapp.Str(e.Body(), "event_id")] = true
	}
	return ids
}

func TestUnknownEnvelope(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	ws.Server.SendUnknown("hologram", map[string]any{"type": "hologram"})
	e := a.next()
	if e.Type != "hologram" || e.ID == "" {
		t.Fatalf("got %+v", e)
	}
	a.ack(e, nil)
	ws.ExpectAcked()
}

func TestHotLoopIsNoticed(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	ws.Allow(localslack.ViolationHotLoop)
	a := newApp(t, ws)
	for range 22 {
		if _, err := a.Open(a.context()); err != nil {
			t.Fatal(err)
		}
	}
	if v := ws.Server.Violations(); len(v) != 2 || v[0].Kind != localslack.ViolationHotLoop {
		t.Errorf("violations %v", v)
	}
}

func TestOpenFaults(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := newApp(t, ws)
	ws.Server.BreakAPI(localslack.APIFault{Method: "apps.connections.open", Status: 500, Times: 1})
	ws.Server.BreakAPI(localslack.APIFault{Method: "apps.connections.open", Status: 404, Times: 1})
	ws.Server.BreakAPI(localslack.APIFault{Method: "apps.connections.open", Cut: true, Times: 1})
	for _, want := range []int{500, 404} {
		if r, err := a.Open(a.context()); err != nil || r.Status != want {
			t.Errorf("status %d %v, want %d", r.Status, err, want)
		}
	}
	if _, err := a.Open(a.context()); err == nil {
		t.Error("a cut connection gave an answer")
	}
	ws.Server.BreakToken("account_inactive")
	if r, err := a.Open(a.context()); err != nil || r.Error() != "account_inactive" {
		t.Errorf("got %q %v", r.Error(), err)
	}
	ws.Server.Mend()
	if _, err := a.Connect(a.context()); errors.Is(err, tinyapp.ErrNoHello) || err != nil {
		t.Errorf("after mending: %v", err)
	}
}

// What is held back for a while is waited for like everything that is under way.
func TestHeldBackIsUnderWay(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, mentionsOnly)
	a := connected(t, ws)
	ws.Server.BreakDelivery(localslack.DeliveryFault{Delay: 50 * time.Millisecond, Copies: []localslack.Copy{{After: 50 * time.Millisecond}}})
	ws.User("ana").Says("#ops", "@countersign hi")
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.take("app_mention")
		a.take("app_mention")
	}()
	ws.ExpectAcked()
	if all := ws.Server.Deliveries(); len(all) != 2 {
		t.Errorf("nothing was under way after %d deliveries, want 2", len(all))
	}
	<-done
}

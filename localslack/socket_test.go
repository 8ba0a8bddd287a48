package localslack_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"

	"github.com/gorilla/websocket"
)

// quick shortens the clocks so far that a test sees all tries of an event. The
// ack clock stays long enough for a busy machine.
func quick(c *localslack.Config) {
	c.Timing.Ack = time.Second
	c.Timing.Retries = []time.Duration{0, 20 * time.Millisecond, 40 * time.Millisecond}
	c.Timing.Warning = 20 * time.Millisecond
}

func TestOpenTakesOnlyTheAppToken(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	for _, tt := range []struct{ token, want string }{
		{"", "not_authed"},
		{slacktest.BotToken, "not_allowed_token_type"},
		{"xapp-1-other", "invalid_auth"},
		{slacktest.AppToken, ""},
	} {
		a := newApp(t, ws)
		a.AppToken = tt.token
		r, err := a.Open(a.context())
		if err != nil || r.Error() != tt.want || r.Status != http.StatusOK {
			t.Errorf("token %q: %d %q %v, want 200 %q", tt.token, r.Status, r.Error(), err, tt.want)
		}
	}
}

func TestOpenNeedsItsScope(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) { c.App.AppScopes = []string{"authorizations:read"} })
	ws.Allow(localslack.ViolationScope)
	r, err := newApp(t, ws).Open(context.Background())
	if err != nil || r.Error() != "missing_scope" || r.Str("needed") != "connections:write" || r.Str("provided") != "authorizations:read" {
		t.Errorf("got %v %v", r.Body, err)
	}
}

func TestTicketOpensOneConnection(t *testing.T) {
	t.Parallel()
	clock := slacktest.NewClock()
	ws := slacktest.New(t, clock.Use)
	a := newApp(t, ws)
	r, err := a.Open(a.context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Dial(a.context(), r.Str("url"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := a.Dial(a.context(), r.Str("url")); !errors.Is(err, websocket.ErrBadHandshake) {
		t.Errorf("second dial: %v", err)
	}
	r, err = a.Open(a.context())
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(31 * time.Second)
	if _, err := a.Dial(a.context(), r.Str("url")); !errors.Is(err, websocket.ErrBadHandshake) {
		t.Errorf("old ticket: %v", err)
	}
}

func TestHelloCountsConnectionsUpToTen(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := newApp(t, ws)
	for n := 1; n <= 10; n++ {
		if c := a.dial(); c.Hello.Connections != n {
			t.Errorf("hello says %d connections, want %d", c.Hello.Connections, n)
		}
	}
	c, err := a.Connect(a.context())
	if !errors.Is(err, tinyapp.ErrNoHello) || c.Hello.Reason != "too_many_websockets" {
		t.Fatalf("the eleventh: %v", err)
	}
	if _, err := c.Next(a.context()); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Errorf("the eleventh ended with %v", err)
	}
	if n := ws.Server.Connections(); n != 10 {
		t.Errorf("%d connections", n)
	}
}

func TestPingsAndSilentClients(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) {
		c.Timing.Ping, c.Timing.Pong = 20*time.Millisecond, 200*time.Millisecond
	})
	a := newApp(t, ws)
	pings := make(chan string, 100)
	a.OnPing = func(text string) error {
		pings <- text
		return nil // says nothing
	}
	c := a.dial()
	if got := <-pings; !strings.HasPrefix(got, "Ping from applink-") {
		t.Errorf("ping %q", got)
	}
	if _, err := c.Next(a.context()); err == nil {
		t.Error("a client without pongs was kept")
	}
}

func TestUnackedEventComesAgain(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, quick, func(c *localslack.Config) { c.App.Events = []string{"app_mention"} })
	a := connected(t, ws)
	ws.User("ana").Says("#ops", "@countersign hi")
	var ids, envelopes []string
	for try := range 4 {
		e := a.next()
		ids, envelopes = append(ids, tinyapp.Str(e.Body(), "event_id")), append(envelopes, e.ID)
		wantReason := ""
		if try > 0 {
			wantReason = "timeout"
		}
		if e.RetryAttempt != try || e.RetryReason != wantReason || e.Accepts {
			t.Errorf("try %d: attempt %d, reason %q, accepts %v", try, e.RetryAttempt, e.RetryReason, e.Accepts)
		}
		if ids[try] != ids[0] || try > 0 && envelopes[try] == envelopes[try-1] {
			t.Errorf("try %d: event %s, envelope %s", try, ids[try], e.ID)
		}
	}
	ws.Until("the last clock", func(s *localslack.Server) bool { return s.Waiting() == 0 })
	if lost := ws.Server.Lost(); len(lost) != 1 || lost[0] != ids[0] {
		t.Errorf("lost %v, want %v", lost, ids[:1])
	}
}

func TestAckedEventDoesNotComeAgain(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	ws.User("ana").Says("#ops", "@countersign hi")
	kinds := map[string]string{}
	for range 2 {
		e := a.next()
		a.ack(e, nil)
		kinds[e.Inner()] = tinyapp.Str(e.Event(), "ts")
	}
	if kinds["app_mention"] == "" || kinds["app_mention"] != kinds["message"] {
		t.Errorf("got %v", kinds)
	}
	ws.ExpectAcked()
	if n := len(ws.Server.Deliveries()); n != 2 {
		t.Errorf("%d deliveries", n)
	}
	if got := len(ws.Server.AckTimes()); got != 2 {
		t.Errorf("%d ack times", got)
	}
}

func TestAcksThatDoNotCount(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 20_480)
	for _, tt := range []struct {
		name, violation string
		ack             func(*testing.T, *app, tinyapp.Envelope)
	}{
		{"too big", localslack.ViolationAckSize, func(t *testing.T, a *app, e tinyapp.Envelope) { a.ack(e, map[string]any{"text": big}) }},
		{"in pieces", localslack.ViolationAckSize, fragmented},
		{"unknown envelope", localslack.ViolationAckUnknown, func(t *testing.T, a *app, e tinyapp.Envelope) {
			a.ack(tinyapp.Envelope{ID: "00000000-0000-4000-8000-000000000000"}, nil)
		}},
		{"other connection", localslack.ViolationAckUnknown, func(t *testing.T, a *app, e tinyapp.Envelope) {
			if err := a.dial().Ack(e.ID, nil); err != nil {
				t.Fatal(err)
			}
		}},
		{"no object", localslack.ViolationAckForm, func(t *testing.T, a *app, e tinyapp.Envelope) {
			if err := a.conn.WS.WriteMessage(websocket.TextMessage, []byte("ok")); err != nil {
				t.Fatal(err)
			}
		}},
		{"binary", localslack.ViolationAckForm, func(t *testing.T, a *app, e tinyapp.Envelope) {
			if err := a.conn.WS.WriteMessage(websocket.BinaryMessage, fmt.Appendf(nil, `{"envelope_id":%q}`, e.ID)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ws := slacktest.New(t, mentionsOnly, func(c *localslack.Config) { c.Timing.Ack = 3 * time.Second }) // none is late
			ws.Allow(tt.violation)
			a := connected(t, ws)
			ws.User("ana").Says("#ops", "@countersign hi")
			tt.ack(t, a, a.next())
			ws.Until("the clock of the first try", func(s *localslack.Server) bool { return s.Deliveries()[0].Result == localslack.DeliveryTimeout })
			if v := ws.Server.Violations(); len(v) != 1 || v[0].Kind != tt.violation {
				t.Errorf("violations %v", v)
			}
		})
	}
}

// fragmented sends an ack cut into two WebSocket frames.
func fragmented(t *testing.T, a *app, e tinyapp.Envelope) {
	w, err := a.conn.WS.NextWriter(websocket.TextMessage)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(w, `{"envelope_id":%q,"payload":{"x":"%s"}}`, e.ID, strings.Repeat("x", 6000)) // longer than the write buffer
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLateAckIsCounted(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, quick, func(c *localslack.Config) { c.App.Events = []string{"app_mention"} })
	ws.Allow(localslack.ViolationAckLate)
	a := connected(t, ws)
	ws.User("ana").Says("#ops", "@countersign hi")
	e := a.next()
	a.next() // the second try: the first one's clock is over
	a.ack(e, nil)
	a.conn.Close() // the server reads what came before
	ws.Until("the end", func(s *localslack.Server) bool { return s.Connections() == 0 })
	if v := ws.Server.Violations(); len(v) != 1 || v[0].Kind != localslack.ViolationAckLate {
		t.Errorf("violations %v", v)
	}
}

func TestClicksAreNeverRetried(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, quick)
	a := connected(t, ws)
	r := a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "card", "blocks": card})
	c := ws.Expect(slacktest.Button("approval_approve"))
	ana := ws.User("ana")
	out := ana.TriesToClick(c, "approval_approve") // nobody acks
	if out.Acked || !strings.Contains(out.Notice, "did not respond") {
		t.Errorf("got %+v", out)
	}
	clicks := 0
	for _, d := range ws.Server.Deliveries() {
		if d.Inner == "block_actions" {
			clicks++
		}
	}
	if clicks != 1 {
		t.Errorf("the click was sent %d times", clicks)
	}
	a.conn.Close()
	ws.Until("nobody", func(s *localslack.Server) bool { return s.Connections() == 0 })
	if out := ana.TriesToClick(c, "approval_approve"); out.Acked || out.Notice == "" {
		t.Errorf("a click into nowhere: %+v", out)
	}
	if n := ws.Server.Workspace().Notices("U0ANA"); len(n) != 2 {
		t.Errorf("notices %v for %s", n, r.Str("ts"))
	}
}

func TestEventsWaitForAConnection(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) {
		c.App.Events = []string{"app_mention"}
		c.Timing.Retries = []time.Duration{0, 300 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
	})
	ws.User("ana").Says("#ops", "@countersign anybody?")
	a := connected(t, ws)
	if e := a.take("app_mention"); e.RetryAttempt == 0 {
		t.Errorf("attempt %d", e.RetryAttempt)
	}
}

func TestEachEnvelopeGoesToOneOfSeveral(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, func(c *localslack.Config) { c.App.Events = []string{"app_mention"} })
	a := newApp(t, ws)
	got := make(chan int, 100)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for n := range 3 {
		c := a.dial()
		go func() {
			_ = c.Run(ctx, func(context.Context, tinyapp.Envelope) (any, error) { got <- n; return nil, nil }) // ends with the test
		}()
	}
	for range 30 {
		ws.User("ana").Says("#ops", "@countersign hi")
	}
	ws.ExpectAcked()
	per := map[int]int{}
	for range 30 {
		per[<-got]++
	}
	if len(per) != 3 || len(got) != 0 {
		t.Errorf("deliveries per connection: %v, %d more", per, len(got))
	}
}

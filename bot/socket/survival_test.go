package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/bot/socket"

	"github.com/coder/websocket"
	"github.com/slack-go/slack"
)

func TestReadyOnlyAfterTheGreeting(t *testing.T) {
	t.Parallel()
	dialled, greet := make(chan struct{}), make(chan struct{})
	s := newServer(t, func(p *peer) {
		close(dialled)
		<-greet
		p.hello()
		p.linger()
	})
	b := start(t, s, socket.Config{})
	receive(t, "dial", dialled)
	if b.Status().Ready() {
		t.Error("ready before the greeting")
	}
	close(greet)
	eventually(t, "ready", func() bool { return b.Status().Ready() })
	st := b.Status()
	if st.SlackConnections != 1 || st.Lifetime != 18060*time.Second || st.LastFrame.IsZero() {
		t.Errorf("status after the greeting: %+v", st)
	}
}

// Every script breaks the first connection in its own way; the second one must
// come and serve.
// Slack row 83.
func TestBrokenConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	short := quick()
	short.Hello, short.Dead, short.Ping = 60*time.Millisecond, 120*time.Millisecond, time.Hour
	pinging := quick()
	pinging.Ping = 50 * time.Millisecond
	tests := []struct {
		name   string
		timing socket.Timing
		script func(p *peer)
	}{
		{"no greeting", short, func(p *peer) { p.linger() }},
		{"silent but answers pings", short, func(p *peer) { p.hello(); p.linger() }},
		{"pings but never reads", pinging, func(p *peer) {
			p.hello()
			for range 100 {
				ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
				err := p.ws.Ping(ctx)
				stop()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					return
				}
			}
		}},
		{"reset", quick(), func(p *peer) { p.hello() }},
		{"close 1000", quick(), func(p *peer) { p.hello(); p.ws.Close(websocket.StatusNormalClosure, "") }},
		{"close 1001", quick(), func(p *peer) { p.hello(); p.ws.Close(websocket.StatusGoingAway, "") }},
		{"close 1011", quick(), func(p *peer) { p.hello(); p.ws.Close(websocket.StatusInternalError, "x") }},
		{"message beyond the limit", quick(), func(p *peer) {
			p.hello()
			p.send(`{"type":"events_api","payload":"` + strings.Repeat("x", 5<<20) + `"}`)
			p.linger()
		}},
		{"closed before the greeting", quick(), func(*peer) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			served := make(chan string, 1)
			s := newServer(t, func(p *peer) {
				if p.number == 1 {
					tt.script(p)
					return
				}
				p.hello()
				p.event("after")
				select {
				case served <- p.ackID():
				default:
				}
				p.linger()
			})
			start(t, s, socket.Config{Timing: tt.timing})
			if got := receive(t, "ack on the next connection", served); got != "after" {
				t.Errorf("acked %q", got)
			}
		})
	}
}

// Slack row 85.
func TestHalfOpenConnectionIsNotReady(t *testing.T) {
	t.Parallel()
	short := quick()
	short.Dead, short.BackoffMin, short.BackoffMax = 2*time.Second, time.Hour, time.Hour // ready is seen meanwhile
	s := newServer(t, func(p *peer) { p.hello(); p.linger() })
	b := start(t, s, socket.Config{Timing: short})
	eventually(t, "ready", func() bool { return b.Status().Ready() })
	eventually(t, "not ready any more", func() bool { return !b.Status().Ready() })
	eventually(t, "reason", func() bool { return strings.Contains(b.Status().LastError, "no frame") })
}

// Slack row 86.
func TestPingsKeepAnIdleConnection(t *testing.T) {
	t.Parallel()
	short := quick()
	short.Dead = 4 * time.Second
	idle := make(chan struct{}, 2)
	s := newServer(t, func(p *peer) {
		p.hello()
		go p.linger()
		for range 20 { // longer than the limit
			ctx, stop := context.WithTimeout(context.Background(), patient)
			err := p.ws.Ping(ctx)
			stop()
			if err != nil {
				t.Errorf("ping: %v", err)
				break
			}
			time.Sleep(250 * time.Millisecond)
		}
		idle <- struct{}{}
	})
	start(t, s, socket.Config{Timing: short})
	receive(t, "end of the idle time", idle)
	if n := s.conns.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestRefusedUpgradeIsTriedAgain(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	s := newServer(t, func(p *peer) { p.hello(); p.linger() })
	spent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "ticket was used", http.StatusRequestTimeout)
	}))
	t.Cleanup(spent.Close)
	b := start(t, s, socket.Config{Open: func(ctx context.Context) (string, error) {
		if tries.Add(1) < 3 {
			return "ws" + strings.TrimPrefix(spent.URL, "http"), nil
		}
		return s.open(ctx)
	}})
	eventually(t, "ready", func() bool { return b.Status().Ready() })
	if st := b.Status(); st.Opens != 3 {
		t.Errorf("%d urls asked for, want a fresh one for each of 3 dials", st.Opens)
	}
}

// A peer that stops reading fills the buffers in between: the write must time
// out, and the connection be replaced.
func TestUnwritableAcknowledgementReplacesTheConnection(t *testing.T) {
	t.Parallel()
	timing := quick()
	timing.Write = 50 * time.Millisecond
	second := make(chan struct{})
	s := newServer(t, func(p *peer) {
		p.hello()
		if p.number > 1 {
			close(second)
			p.linger()
			return
		}
		for i := range 1500 {
			p.click(fmt.Sprint("c", i))
		}
		<-p.s.done
	})
	big := strings.Repeat("x", 20_000)
	b := start(t, s, socket.Config{Timing: timing, Handle: func(context.Context, socket.Envelope) socket.Response {
		return socket.Response{Ack: true, Payload: big}
	}})
	receive(t, "second connection", second)
	eventually(t, "losses counted", func() bool { return b.Status().Lost > 0 })
}

func TestSecondConnectionSurvivesTheFirst(t *testing.T) {
	t.Parallel()
	timing := quick()
	timing.SlowMin, timing.SlowMax = time.Hour, time.Hour
	s := newServer(t, func(p *peer) {
		p.hello()
		if p.number == 1 {
			p.send(`{"type":"disconnect","reason":"link_disabled"}`)
			p.linger()
			return
		}
		p.event("to the second")
		_ = p.next()
		p.linger()
	})
	b := start(t, s, socket.Config{Connections: 2, Timing: timing})
	eventually(t, "ack on the second", func() bool { return b.Status().Acked == 1 })
	eventually(t, "ready with one connection of two", func() bool { return b.Status().Ready() })
}

func TestRefreshOverlaps(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			timing := quick()
			timing.Overlap = 3 * time.Second // the late click comes within it
			secondReady := make(chan struct{})
			acked, code := make(chan string, 1), make(chan websocket.StatusCode, 1)
			s := newServer(t, func(p *peer) {
				p.hello()
				if p.number == 2 {
					p.event("new")
					if p.ackID() == "new" {
						close(secondReady)
					}
				}
				if p.number == 1 {
					p.send(fmt.Sprintf(`{"type":"disconnect","reason":%q,"debug_info":{"host":"h"}}`, reason))
					<-secondReady
					p.click("late click on the old connection")
					acked <- p.ackID()
					code <- p.linger()
					return
				}
				p.linger()
			})
			b := start(t, s, socket.Config{Timing: timing})
			if got := receive(t, "ack on the old connection", acked); got == "" {
				t.Error("click on the old connection was not acknowledged")
			}
			if got := receive(t, "close of the old connection", code); got != websocket.StatusNormalClosure {
				t.Errorf("old connection closed with %d", got)
			}
			eventually(t, "one connection left", func() bool { return b.Status().Connected == 1 })
			if st := b.Status(); st.Reconnects != 1 {
				t.Errorf("reconnects %d, want 1", st.Reconnects)
			}
		})
	}
}

// Slack rows 88, P1.
func TestRefusalsNeverMakeAHotLoop(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		timing  func(*socket.Timing)
		refuse  func(p *peer)
		atMost  int32
		mention string
	}{
		{"link_disabled after the greeting", func(*socket.Timing) {}, func(p *peer) {
			p.hello()
			p.send(`{"type":"disconnect","reason":"link_disabled"}`)
			p.linger()
		}, 1, "link_disabled"},
		{"too_many_websockets in place of the greeting", func(*socket.Timing) {}, func(p *peer) {
			p.send(`{"type":"disconnect","reason":"too_many_websockets"}`)
		}, 1, "too_many_websockets"},
		{"refresh at once, again and again", func(tm *socket.Timing) {
			tm.BackoffMin, tm.BackoffMax = 20*time.Millisecond, time.Hour
		}, func(p *peer) {
			p.hello()
			p.send(`{"type":"disconnect","reason":"refresh_requested"}`)
		}, 10, ""}, // the pauses grow: the eleventh would come after ten seconds
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			timing := quick()
			tt.timing(&timing)
			s := newServer(t, tt.refuse)
			b := start(t, s, socket.Config{Timing: timing})
			eventually(t, "first attempt", func() bool { return s.conns.Load() > 0 })
			time.Sleep(250 * time.Millisecond) // a hot loop makes hundreds of attempts in this time
			if n := s.opens.Load(); n > tt.atMost {
				t.Errorf("%d attempts, want at most %d", n, tt.atMost)
			}
			if got := b.Status().LastError; !strings.Contains(got, tt.mention) {
				t.Errorf("last error %q does not mention %q", got, tt.mention)
			}
		})
	}
}

func TestRecoversWhenSocketModeIsSwitchedOnAgain(t *testing.T) {
	t.Parallel()
	timing := quick()
	timing.SlowMin, timing.SlowMax = 5*time.Millisecond, 10*time.Millisecond
	s := newServer(t, func(p *peer) {
		if p.number < 4 {
			p.send(`{"type":"disconnect","reason":"link_disabled"}`)
			return
		}
		p.hello()
		p.linger()
	})
	b := start(t, s, socket.Config{Timing: timing})
	eventually(t, "ready", func() bool { return b.Status().Ready() })
	if got := b.Status().LastError; got != "" {
		t.Errorf("last error %q after recovery", got)
	}
}

// api answers apps.connections.open with each handler in turn; the last one
// stays.
func api(t *testing.T, answers ...http.HandlerFunc) func(context.Context) (string, error) {
	t.Helper()
	var calls atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := min(int(calls.Add(1)), len(answers))
		answers[n-1](w, r)
	}))
	t.Cleanup(srv.Close)
	client := slack.New("", slack.OptionAppLevelToken("xapp-test"), slack.OptionAPIURL(srv.URL+"/"))
	return socket.WebAPI(client)
}

func reply(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// Slack row P2.
func TestOpenRecovers(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(p *peer) { p.hello(); p.linger() })
	good := func(w http.ResponseWriter, r *http.Request) {
		url, _ := s.open(r.Context())
		reply(200, fmt.Sprintf(`{"ok":true,"url":%q}`, url))(w, r)
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	tests := []struct {
		name string
		bad  []http.HandlerFunc
		wait time.Duration // the least time that recovery must take
	}{
		{"rate limit", []http.HandlerFunc{reply(429, `{"ok":false,"error":"ratelimited"}`, "Retry-After", "1")}, time.Second},
		{"server error with a web page", []http.HandlerFunc{reply(500, "<html>oops</html>")}, 0},
		{"not found", []http.HandlerFunc{reply(404, "")}, 0},
		{"one spurious refusal", []http.HandlerFunc{reply(200, `{"ok":false,"error":"invalid_auth"}`)}, 0},
		{"internal error", []http.HandlerFunc{reply(200, `{"ok":false,"error":"internal_error"}`)}, 0},
		{"no url", []http.HandlerFunc{reply(200, `{"ok":true}`)}, 0},
		{"failure without a word", []http.HandlerFunc{reply(200, `{"ok":false}`)}, 0},
		{"hangs", []http.HandlerFunc{hang}, 0},
		{"refusals that are not about the token", []http.HandlerFunc{
			reply(200, `{"ok":false,"error":"a"}`), reply(200, `{"ok":false,"error":"b"}`), reply(200, `{"ok":false,"error":"c"}`),
			reply(200, `{"ok":false,"error":"d"}`), reply(200, `{"ok":false,"error":"e"}`),
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			timing := quick()
			timing.Open = 200 * time.Millisecond
			began := time.Now()
			b := start(t, s, socket.Config{Open: api(t, append(tt.bad, good)...), Timing: timing})
			eventually(t, "ready", func() bool { return b.Status().Ready() })
			if took := time.Since(began); took < tt.wait {
				t.Errorf("connected after %s, Slack asked for %s", took, tt.wait)
			}
		})
	}
}

func TestRefusedTokenEndsRun(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"invalid_auth", "not_allowed_token_type", "missing_scope", "token_revoked"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			b := start(t, nil, socket.Config{Open: api(t, reply(200, fmt.Sprintf(`{"ok":false,"error":%q}`, code)))})
			receive(t, "end of Run", b.ended)
			var refused *socket.AuthError
			if !errors.As(b.err, &refused) || refused.Code != code || refused.Attempts != 4 {
				t.Fatalf("Run returned %v", b.err)
			}
			if strings.Contains(b.err.Error(), "\n") || !strings.Contains(b.err.Error(), code) {
				t.Errorf("not one clear sentence: %q", b.err)
			}
		})
	}
}

func TestRefusedTokenAfterAGreetingIsGivenTime(t *testing.T) {
	t.Parallel()
	timing := quick()
	timing.AuthGrace = 300 * time.Millisecond
	s := newServer(t, func(p *peer) { p.hello() })
	good := func(w http.ResponseWriter, r *http.Request) {
		url, _ := s.open(r.Context())
		reply(200, fmt.Sprintf(`{"ok":true,"url":%q}`, url))(w, r)
	}
	began := time.Now()
	b := start(t, s, socket.Config{Open: api(t, good, reply(200, `{"ok":false,"error":"invalid_auth"}`)), Timing: timing})
	receive(t, "end of Run", b.ended)
	var refused *socket.AuthError
	if !errors.As(b.err, &refused) || refused.Attempts < 4 {
		t.Errorf("Run returned %v", b.err)
	}
	if took := time.Since(began); took < timing.AuthGrace {
		t.Errorf("gave up after %s, want %s", took, timing.AuthGrace)
	}
}

func TestStopSaysGoodbyeAndDrains(t *testing.T) {
	t.Parallel()
	handling := make(chan struct{})
	acked, code := make(chan string, 1), make(chan websocket.StatusCode, 1)
	s := newServer(t, func(p *peer) {
		p.hello()
		p.click("in flight")
		acked <- p.ackID()
		code <- p.linger()
	})
	release := make(chan struct{})
	b := start(t, s, socket.Config{Handle: func(ctx context.Context, _ socket.Envelope) socket.Response {
		close(handling)
		<-release
		return socket.Response{Ack: ctx.Err() == nil}
	}})
	receive(t, "handler", handling)
	b.cancel()
	close(release)
	if got := receive(t, "ack", acked); got != "in flight" {
		t.Errorf("acked %q while stopping", got)
	}
	if got := receive(t, "close frame", code); got != websocket.StatusNormalClosure {
		t.Errorf("closed with %d, want 1000", got)
	}
	if err := b.stop(t); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if st := b.Status(); st.Ready() {
		t.Error("ready after the end")
	}
}

func TestStopDoesNotWaitForeverForAHandler(t *testing.T) {
	t.Parallel()
	timing := quick()
	timing.Drain = 50 * time.Millisecond
	handling, abandoned := make(chan struct{}), make(chan struct{})
	s := newServer(t, func(p *peer) { p.hello(); p.click("stuck"); p.linger() })
	b := start(t, s, socket.Config{Timing: timing, Handle: func(ctx context.Context, _ socket.Envelope) socket.Response {
		close(handling)
		<-ctx.Done()
		close(abandoned)
		return socket.Response{}
	}})
	receive(t, "handler", handling)
	if err := b.stop(t); err != nil {
		t.Errorf("Run returned %v", err)
	}
	receive(t, "cancelled handler", abandoned)
}

func TestStopWithAPeerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	timing := quick()
	timing.Close = 50 * time.Millisecond
	s := newServer(t, func(p *peer) {
		p.hello()
		<-p.s.done // never reads: no answer to the Close frame
	})
	b := start(t, s, socket.Config{Timing: timing})
	eventually(t, "ready", func() bool { return b.Status().Ready() })
	began := time.Now()
	_ = b.stop(t)
	if took := time.Since(began); took > 4*time.Second { // the library alone waits for five
		t.Errorf("stopping took %s", took)
	}
}

func TestTicketNeverReachesTheLog(t *testing.T) {
	t.Parallel()
	open := func(context.Context) (string, error) {
		return "ws://127.0.0.1:1/link/?ticket=secret-ticket&app_id=x", nil
	}
	b := start(t, nil, socket.Config{Open: open})
	eventually(t, "failure", func() bool { return b.Status().LastError != "" })
	_ = b.stop(t)
	if text := b.log.String() + b.Status().LastError; strings.Contains(text, "secret-ticket") {
		t.Errorf("ticket shown: %s", text)
	}
}

// While no connection is left, a growing pause is cut short: every click would be lost.
func TestPauseIsShortWhileNoConnectionIsLeft(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(p *peer) { p.hello() }) // and hangs up
	timing := quick()
	timing.BackoffMin, timing.BackoffMax, timing.Alone = time.Hour, time.Hour, 20*time.Millisecond
	b := start(t, s, socket.Config{Connections: 1, Timing: timing})
	eventually(t, "five connections", func() bool { return b.Status().Opens >= 5 })
}

// A peer that sends envelopes and hears no acknowledgement any more, nor pings, is no
// connection, however busy it looks.
func TestEnvelopesWithoutPingsAreNoLife(t *testing.T) {
	t.Parallel()
	timing := quick()
	timing.Dead, timing.Ping = 300*time.Millisecond, time.Hour
	s := newServer(t, func(p *peer) {
		p.hello()
		for p.number == 1 {
			p.event("again")
			if p.next() == "" {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		p.linger()
	})
	b := start(t, s, socket.Config{Connections: 1, Timing: timing})
	eventually(t, "another connection", func() bool { return b.Status().Reconnects > 0 })
}

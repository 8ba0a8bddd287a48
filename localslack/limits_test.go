package localslack

import (
	"net"
	"net/http"
	"testing"
	"time"
)

func TestLimiterRefillsAndRemembersRetryAfter(t *testing.T) {
	t.Parallel()
	l := newLimiter(Limits{Factor: 1})
	now := time.Unix(1_700_000_000, 0)
	two := tier{perMinute: 2, burst: 2}
	steps := []struct {
		after time.Duration
		wait  time.Duration
		early bool
	}{
		{0, 0, false}, {0, 0, false}, // the burst
		{0, 30 * time.Second, false},               // the next token is 30 s away
		{10 * time.Second, 20 * time.Second, true}, // asked too early
		{20 * time.Second, 0, false},               // as told
		{0, 30 * time.Second, false},
		{10 * time.Minute, 0, false}, {0, 0, false}, // never more than the burst
		{0, 30 * time.Second, false},
	}
	for i, s := range steps {
		now = now.Add(s.after)
		if wait, early := l.take("m", two, now); wait != s.wait || early != s.early {
			t.Errorf("step %d: wait %s, early %v; want %s, %v", i, wait, early, s.wait, s.early)
		}
	}
	if wait, _ := l.take("other", two, now); wait != 0 {
		t.Errorf("another method waits %s", wait)
	}
}

func TestLimiterFactorAndOff(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for _, tt := range []struct {
		limits Limits
		want   int
	}{{Limits{Factor: 1}, 2}, {Limits{Factor: 3}, 6}, {Limits{Factor: 1, Off: true}, 100}} {
		l := newLimiter(tt.limits)
		n := 0
		for n < 100 {
			if wait, _ := l.take("m", tier{perMinute: 2, burst: 2}, now); wait > 0 {
				break
			}
			n++
		}
		if n != tt.want {
			t.Errorf("%+v lets %d pass, want %d", tt.limits, n, tt.want)
		}
	}
	off := newLimiter(Limits{Factor: 1, Off: true})
	off.block("m", 5*time.Second, now)
	if wait, early := off.take("m", tier4, now); wait != 5*time.Second || !early {
		t.Errorf("an ordered 429 does not hold when limits are off: %s %v", wait, early)
	}
}

// Who heard a 429 knows, who gave the call up does not; what was under way meanwhile is
// borne, what comes afterwards is not.
func TestOnlyWhoHeardKnows(t *testing.T) {
	t.Parallel()
	var h heard
	now := time.Unix(1_700_000_000, 0)
	from := func(conn string, after time.Duration) caller { return caller{conn, now.Add(after)} }
	knows := func(what string, c caller, want bool) {
		t.Helper()
		if got := h.by("m", c); got != want {
			t.Errorf("%s knows: %v", what, got)
		}
	}
	knows("somebody before any 429", from("a", 0), false)
	h.note("m", from("a", 0), now, true)
	knows("who was told", from("a", time.Millisecond), true)
	knows("who called meanwhile", from("b", time.Millisecond), false)
	knows("who called before", from("b", -time.Millisecond), false)
	knows("who calls later", from("b", 2*answerTravels), true)
	h.note("m", from("b", 2*answerTravels), now.Add(2*answerTravels), false)
	knows("who was told, too", from("b", 2*answerTravels), true)
	h.note("m", from("c", 5*answerTravels), now.Add(5*answerTravels), true)
	knows("who was told to wait for something else", from("a", 5*answerTravels), false)
	h.forget(peer{address: "c"}, http.StateIdle)
	knows("who still listens", from("c", 5*answerTravels), true)
	h.forget(peer{address: "c"}, http.StateClosed)
	knows("anybody, when nobody heard it", from("d", 9*answerTravels), false)
}

// peer is a connection of which only its address matters.
type peer struct {
	net.Conn
	address string
}

// RemoteAddr implements net.Conn.
func (p peer) RemoteAddr() net.Addr { return &net.UnixAddr{Name: p.address} }

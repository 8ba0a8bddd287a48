package localslack

import (
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

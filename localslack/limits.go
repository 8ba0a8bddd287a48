package localslack

import (
	"math"
	"sync"
	"time"
)

// tier is a rate limit: so many calls a minute, and how many of them at once.
type tier struct {
	perMinute  float64
	burst      float64
	perChannel bool
}

// Slack's tiers; the "special" ones allow hundreds a minute.
var (
	tier2     = tier{perMinute: 20, burst: 20}
	tier3     = tier{perMinute: 50, burst: 50}
	tier4     = tier{perMinute: 100, burst: 100}
	special   = tier{perMinute: 600, burst: 600}
	posting   = tier{perMinute: 60, burst: 4, perChannel: true}
	oneAMin   = tier{perMinute: 1, burst: 1}
	unlimited = tier{}
)

// bucket refills with time; blocked is set while a Retry-After runs.
type bucket struct {
	tokens  float64
	at      time.Time
	blocked time.Time
}

type limiter struct {
	mu      sync.Mutex
	factor  float64
	off     bool
	buckets map[string]*bucket
}

func newLimiter(l Limits) *limiter {
	return &limiter{factor: l.Factor, off: l.Off, buckets: map[string]*bucket{}}
}

// take spends one call. wait > 0 means 429; early tells that the caller did
// not wait for the last Retry-After.
func (l *limiter) take(key string, t tier, now time.Time) (wait time.Duration, early bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(key, t, now)
	if now.Before(b.blocked) {
		return wholeSeconds(b.blocked.Sub(now)), true
	}
	if l.off || t.perMinute == 0 {
		return 0, false
	}
	rate := t.perMinute * l.factor / 60
	b.tokens = min(t.burst*l.factor, b.tokens+now.Sub(b.at).Seconds()*rate)
	b.at = now
	if b.tokens >= 1 {
		b.tokens--
		return 0, false
	}
	wait = wholeSeconds(time.Duration((1 - b.tokens) / rate * float64(time.Second)))
	b.blocked = now.Add(wait)
	return wait, false
}

// block plays a 429 that a test asked for: calls before its end are early.
func (l *limiter) block(key string, wait time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket(key, unlimited, now).blocked = now.Add(wait)
}

func (l *limiter) bucket(key string, t tier, now time.Time) *bucket {
	b, ok := l.buckets[key]
	if !ok {
		b = &bucket{tokens: t.burst * l.factor, at: now}
		l.buckets[key] = b
	}
	return b
}

// wholeSeconds rounds up, as Retry-After has no fractions.
func wholeSeconds(d time.Duration) time.Duration {
	return time.Duration(math.Ceil(max(d.Seconds(), 1))) * time.Second
}

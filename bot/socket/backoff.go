package socket

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// sleep waits for d and reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// pause computes how long one slot waits before its next connection.
type pause struct {
	timing   Timing
	failures int
	slow     int
}

// next returns the wait after a connection that lived for lived (0: it was
// never ready) and ended with err. A connection that was stable before clears
// the record, so a routine refresh costs no wait at all.
func (p *pause) next(lived time.Duration, err error) time.Duration {
	if lived >= p.timing.StableAfter {
		p.failures, p.slow = 0, 0
	}
	if refusesSockets(err) {
		p.slow++
		return jitter(grow(p.timing.SlowMin, p.timing.SlowMax, p.slow))
	}
	if lived >= p.timing.StableAfter {
		return 0
	}
	p.failures++
	return jitter(grow(p.timing.BackoffMin, p.timing.BackoffMax, p.failures))
}

// refusesSockets reports whether Slack wants no further connection for now:
// Socket Mode was switched off, or the app has too many connections. Those
// last for minutes, and trying quickly makes the second one worse.
func refusesSockets(err error) bool {
	var bye *disconnectError
	return errors.As(err, &bye) && (bye.reason == reasonLinkDisabled || bye.reason == reasonTooMany)
}

// grow doubles from least at the first failure up to most.
func grow(least, most time.Duration, failures int) time.Duration {
	d := least
	for i := 1; i < failures && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

// jitter spreads d over [d/2, d], so that replicas do not come back together.
func jitter(d time.Duration) time.Duration {
	if d <= 1 {
		return d
	}
	return d/2 + rand.N(d/2+1)
}

// gate holds back every slot while Slack's Retry-After runs.
type gate struct {
	mu    sync.Mutex
	until time.Time
}

func (g *gate) shut(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.until) {
		g.until = until
	}
}

func (g *gate) wait(ctx context.Context) bool {
	for {
		g.mu.Lock()
		left := time.Until(g.until)
		g.mu.Unlock()
		if left <= 0 {
			return ctx.Err() == nil
		}
		if !sleep(ctx, left) {
			return false
		}
	}
}

// patience decides when refused tokens end the transport.
type patience struct {
	mu       sync.Mutex
	attempts int
	since    time.Time
}

func (p *patience) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempts, p.since = 0, time.Time{}
}

// refused records one refusal and returns how many there were in a row, and
// for how long.
func (p *patience) refused(now time.Time) (int, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attempts == 0 {
		p.since = now
	}
	p.attempts++
	return p.attempts, now.Sub(p.since)
}

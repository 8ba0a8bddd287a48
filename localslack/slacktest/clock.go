package slacktest

import (
	"sync"
	"time"

	"countersign/localslack"
)

// Clock is a time that tests step. It starts at a fixed instant.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that stands at noon of 2 March 2026, UTC.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Use is an option of New: the server's messages, tickets and triggers follow
// this clock. Acks, retries and rate limits stay on the real one.
func (c *Clock) Use(cfg *localslack.Config) { cfg.Now = c.Now }

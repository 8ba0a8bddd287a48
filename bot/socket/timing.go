package socket

import "time"

// Timing holds the transport's durations. Every zero field means its default.
type Timing struct {
	// Open bounds one call for a connection URL. Default 15 s.
	Open time.Duration
	// Hello bounds the dial and, again, the wait for Slack's greeting.
	// Default 15 s.
	Hello time.Duration
	// Dead is how long a connection may be without a ping of Slack's, whatever else
	// comes. Slack pings about every 10 s, so it is never below two and a half pings. Pongs to our own pings
	// do not count: a server that only answers has forgotten us. Default 30 s.
	Dead time.Duration
	// Ping is the interval of our own pings and the time that Slack has to
	// answer one; they find a peer that vanished without a word. Default 10 s.
	Ping time.Duration
	// Write bounds one acknowledgement. Default 2 s.
	Write time.Duration
	// Drain bounds the wait for handlers at the end. Default 3 s, after which
	// Slack would not take their acknowledgements anyway.
	Drain time.Duration
	// Close bounds the exchange of Close frames. Default 1 s.
	Close time.Duration
	// Overlap is how long a connection that Slack refreshes is still read
	// after its successor is ready; Slack closes it after about 10 s.
	// Default 15 s.
	Overlap time.Duration
	// Stable is how long a connection must have lived for its end to be
	// routine. Default 1 min.
	StableAfter time.Duration
	// Stagger separates the first connections, so that their refreshes do not
	// coincide. Default 5 s.
	Stagger time.Duration
	// BackoffMin and BackoffMax bound the doubling wait after a failure.
	// Defaults 1 s and 1 min.
	BackoffMin, BackoffMax time.Duration
	// Alone is the longest such wait while no connection is left. Default 5 s, which
	// is far from Slack's limit on new connections.
	Alone time.Duration
	// SlowMin and SlowMax bound the doubling wait after link_disabled and
	// too_many_websockets. Defaults 30 s and 5 min.
	SlowMin, SlowMax time.Duration
	// AuthAttempts is how many refusals of the token in a row end Run before
	// the first greeting. Default 4, about ten seconds.
	AuthAttempts int
	// AuthGrace is how long refusals must go on, with no connection left, to
	// end Run after there was a greeting. Default 10 min.
	AuthGrace time.Duration
}

func (t Timing) withDefaults() Timing {
	def := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	def(&t.Open, 15*time.Second)
	def(&t.Hello, 15*time.Second)
	def(&t.Dead, 30*time.Second)
	def(&t.Ping, 10*time.Second)
	def(&t.Write, 2*time.Second)
	def(&t.Drain, 3*time.Second)
	def(&t.Close, time.Second)
	def(&t.Overlap, 15*time.Second)
	def(&t.StableAfter, time.Minute)
	def(&t.Stagger, 5*time.Second)
	def(&t.BackoffMin, time.Second)
	def(&t.BackoffMax, time.Minute)
	def(&t.Alone, 5*time.Second)
	def(&t.SlowMin, 30*time.Second)
	def(&t.SlowMax, 5*time.Minute)
	def(&t.AuthGrace, 10*time.Minute)
	if t.AuthAttempts <= 0 {
		t.AuthAttempts = 4
	}
	return t
}

package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"countersign/bot/socket"
)

// Census is what waits in the database at one moment, all replicas together.
type Census struct {
	Runs       map[string]int // unfinished, by state
	Approvals  map[string]int // pending and approved
	Oldest     time.Time      // when the oldest pending approval was opened; zero: none
	Deliveries int            // wanted, due and not delivered
	Delivery   time.Time      // since when the oldest of those that never failed is wanted; zero: none
}

// Sources are asked at every scrape. Nil functions are left out.
type Sources struct {
	Census func(context.Context) (Census, error)
	Socket func() socket.Status
	Skew   func() (time.Duration, bool) // how far our clock is ahead of Slack's
	Now    func() time.Time
}

// Bounds of a scrape's question to the database: it is asked at most once in the
// time, however many scrape.
const (
	censusTimeout = 2 * time.Second
	censusMemory  = 5 * time.Second
)

// Watch adds the gauges.
func (s *Set) Watch(from Sources) { s.registry.MustRegister(&scrape{Sources: from}) }

// scrape collects gauges from their sources.
type scrape struct {
	Sources
	mu    sync.Mutex
	at    time.Time
	known Census
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

// Describe says nothing: what there is depends on what waits.
func (*scrape) Describe(chan<- *prometheus.Desc) {}

// Collect asks the sources.
func (c *scrape) Collect(out chan<- prometheus.Metric) {
	g := gather{out}
	if c.Census != nil {
		now := c.Now()
		census, err := c.census(now)
		g.gauge("database_up", "Whether the database answered the scrape.", boolean(err == nil))
		if err == nil {
			g.census(&census, now)
		}
	}
	if c.Socket != nil {
		g.socket(c.Socket())
	}
	if c.Skew != nil {
		if ahead, known := c.Skew(); known {
			g.gauge("slack_clock_ahead_seconds", "How far this process's clock is ahead of Slack's, to within a second.", ahead.Seconds())
		}
	}
}

func (c *scrape) census(now time.Time) (Census, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && now.Sub(c.at) < censusMemory {
		return c.known, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), censusTimeout)
	defer cancel()
	census, err := c.Census(ctx)
	if err == nil {
		c.known, c.at = census, now
	}
	return census, err
}

// gather sends metrics of this moment.
type gather struct{ out chan<- prometheus.Metric }

func (g gather) send(kind prometheus.ValueType, d *prometheus.Desc, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	g.out <- m
}

func (g gather) gauge(name, help string, v float64) {
	g.send(prometheus.GaugeValue, desc(name, help), v)
}

func (g gather) count(name, help string, n int64) {
	g.send(prometheus.CounterValue, desc(name, help), float64(n))
}

func (g gather) census(c *Census, now time.Time) {
	for state, n := range c.Runs {
		g.send(prometheus.GaugeValue, desc("runs", "Unfinished runs, by state.", "state"), float64(n), state)
	}
	for state, n := range c.Approvals {
		g.send(prometheus.GaugeValue, desc("approvals", "Open approvals, by state.", "state"), float64(n), state)
	}
	g.gauge("approval_oldest_seconds", "Age of the oldest pending approval; 0: none.", age(c.Oldest, now))
	g.gauge("deliveries_due", "Messages that should be in Slack and are not yet.", float64(c.Deliveries))
	g.gauge("delivery_oldest_seconds", "Age of the oldest of those that did not fail yet; 0: none.", age(c.Delivery, now))
}

func (g gather) socket(s socket.Status) {
	g.gauge("socket_connections", "Live connections to Slack.", float64(s.Connected))
	g.gauge("socket_ack_p99_seconds", "99th percentile of the time to acknowledge, over the last 512.", s.AckP99.Seconds())
	g.gauge("socket_queued", "Envelopes that wait for a worker.", float64(s.Queued))
	g.count("socket_reconnects_total", "Connections that replaced another.", s.Reconnects)
	g.count("socket_received_total", "Envelopes received.", s.Received)
	g.count("socket_acks_total", "Acknowledgements written.", s.Acked)
	g.count("socket_acks_late_total", "Acknowledgements that took longer than three seconds.", s.Late)
	g.count("socket_withheld_total", "Envelopes that were not acknowledged, so that Slack sends them again.", s.Withheld)
}

func age(since, now time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(now.Sub(since), 0).Seconds()
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

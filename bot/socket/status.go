package socket

import (
	"slices"
	"sync"
	"time"
)

// ackDeadline is Slack's limit between delivery and acknowledgement.
const ackDeadline = 3 * time.Second

// Status is a snapshot for readiness probes, metrics and the doctor. Counters
// count from the start of the process.
type Status struct {
	// Connected is how many connections were greeted and are still alive.
	Connected int
	// LastFrame is when the newest frame that Slack sent on its own (message
	// or ping) arrived; zero before the first.
	LastFrame time.Time
	// SlackConnections is how many connections of this app Slack counted at
	// the newest greeting, those of other replicas and of ghosts included.
	SlackConnections int
	// Lifetime is how long the newest connection will live, as Slack expects.
	Lifetime time.Duration
	// Opens counts calls for a connection URL, Reconnects greeted connections
	// that replaced another one.
	Opens, Reconnects int64
	// Received counts envelopes. Queued is how many of them wait for a worker,
	// and QueuedFor how long the first has; seconds mean that handlers hang.
	Received  int64
	Queued    int
	QueuedFor time.Duration
	// Acked counts written acknowledgements; Late those of them that took
	// longer than three seconds; Lost those that could not be written any
	// more; Withheld envelopes that the handler chose not to acknowledge, or
	// that arrived while the transport stopped.
	Acked, Late, Lost, Withheld int64
	// Unknown counts envelopes of unknown types, Malformed messages that are
	// no envelope, Oversize acknowledgements whose payload was dropped, Panics
	// handlers that panicked.
	Unknown, Malformed, Oversize, Panics int64
	// AckP99 is the 99th percentile of the time from delivery to written
	// acknowledgement over the last 512; 0 before the first.
	AckP99 time.Duration
	// LastError is why the newest connection attempt or connection failed; ""
	// if nothing did since the newest greeting.
	LastError string
}

// Ready reports whether envelopes can arrive.
func (s Status) Ready() bool { return s.Connected > 0 }

// ledger keeps the numbers of Status.
type ledger struct {
	mu     sync.Mutex
	status Status
	greets int64
	delays [512]time.Duration
	next   int
}

// record applies change under the lock.
func (l *ledger) record(change func(*Status)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.status)
}

// acked records a written acknowledgement.
func (l *ledger) acked(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delays[l.next%len(l.delays)] = delay
	l.next++
	l.status.Acked++
	if delay > ackDeadline {
		l.status.Late++
	}
}

// greeted records a connection that is ready; first says whether its slot had
// none before.
func (l *ledger) greeted(f frame, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.greets++
	l.status.Connected++
	l.status.SlackConnections = f.connections
	l.status.Lifetime = f.lifetime
	l.status.LastError = ""
	if !first {
		l.status.Reconnects++
	}
}

func (l *ledger) everGreeted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.greets > 0
}

func (l *ledger) snapshot() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.status
	delays := slices.Clone(l.delays[:min(l.next, len(l.delays))])
	if len(delays) > 0 {
		slices.Sort(delays)
		s.AckP99 = delays[(len(delays)*99+99)/100-1]
	}
	return s
}

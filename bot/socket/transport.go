package socket

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Config wires a Transport. Open and Handle are required.
type Config struct {
	// Open asks for a fresh connection URL; see WebAPI. A URL is used once.
	// Errors should be *OpenError where Slack answered.
	Open func(ctx context.Context) (url string, err error)
	// Handle commits what an envelope says and answers it. It is called by
	// several goroutines at once and may see the same event more than once.
	// Its context ends only when the transport gives up draining.
	Handle func(ctx context.Context, e Envelope) Response
	// Connections is how many are held at the same time; 0 means 2. Slack
	// allows ten for all replicas together.
	Connections int
	// Workers is how many envelopes are handled at the same time; 0 means 64: they wait
	// for the database most of the time, and what waits together can be stored together.
	Workers int
	// MaxMessage is the size in bytes of the largest accepted message; 0 means
	// 4 MiB, room for the largest message with its link previews.
	MaxMessage int64
	// HTTPClient dials; nil means one that honours the proxy environment.
	HTTPClient *http.Client
	// Logger is required by nothing; nil discards. Payloads and URLs are never
	// logged.
	Logger *slog.Logger
	// Now is the clock of Envelope.Received and Status; nil means time.Now.
	Now func() time.Time
	// Timing overrides durations; zero fields keep their defaults.
	Timing Timing
}

// Transport holds the connections. Make one with New and call Run once.
type Transport struct {
	cfg      Config
	jobs     *queue[job]
	ledger   ledger
	gate     gate
	patience patience
	greeted  chan struct{}
	once     sync.Once
	mu       sync.Mutex
	live     map[*conn]struct{}
	// watchers are the goroutines that wait for the end of connections.
	watchers sync.WaitGroup
}

// New returns a transport that is not yet running.
func New(cfg Config) *Transport {
	if cfg.Connections <= 0 {
		cfg.Connections = 2
	}
	if cfg.Workers <= 0 {
		cfg.Workers = 64
	}
	if cfg.MaxMessage <= 0 {
		cfg.MaxMessage = 4 << 20
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = &http.Client{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Timing = cfg.Timing.withDefaults()
	return &Transport{
		cfg:     cfg,
		jobs:    newQueue[job](),
		greeted: make(chan struct{}),
		live:    map[*conn]struct{}{},
	}
}

// Status returns a snapshot; it may be called at any time.
func (t *Transport) Status() Status {
	s := t.ledger.snapshot()
	heads, n := t.jobs.waiting()
	s.Queued = n
	for _, j := range heads {
		s.QueuedFor = max(s.QueuedFor, t.cfg.Now().Sub(j.envelope.Received))
	}
	return s
}

// Run connects and hands envelopes to Handle until ctx ends; then it takes
// nothing new, lets what was taken be answered within Timing.Drain, says
// goodbye to Slack and returns nil. The only error it returns is an
// *AuthError.
func (t *Transport) Run(ctx context.Context) error {
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	workers := t.startWorkers(work)
	slots, slotsCtx := errgroup.WithContext(ctx)
	for i := range t.cfg.Connections {
		slots.Go(func() error { return t.keep(slotsCtx, i) })
	}
	err := slots.Wait()
	t.drain(workers, abandon)
	t.closeAll()
	var refused *AuthError
	if errors.As(err, &refused) {
		return refused
	}
	return nil
}

// drain lets queued and running handlers finish, for at most Timing.Drain.
func (t *Transport) drain(workers *sync.WaitGroup, abandon context.CancelFunc) {
	t.jobs.close()
	finished := make(chan struct{})
	go func() {
		workers.Wait()
		close(finished)
	}()
	timer := time.NewTimer(t.cfg.Timing.Drain)
	defer timer.Stop()
	select {
	case <-finished:
	case <-timer.C:
		t.cfg.Logger.Warn("stopping with envelopes unanswered; slack sends events again", "queued", t.Status().Queued)
		abandon()
	}
}

// closeAll says goodbye on every connection and waits for the goroutines that
// belong to them.
func (t *Transport) closeAll() {
	t.mu.Lock()
	var all sync.WaitGroup
	for c := range t.live {
		all.Go(func() { c.close() })
	}
	t.mu.Unlock()
	all.Wait()
	t.watchers.Wait()
}

func (t *Transport) add(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live[c] = struct{}{}
}

func (t *Transport) remove(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, c)
}

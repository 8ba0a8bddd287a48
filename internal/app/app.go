// Package app wires countersign: configuration in, a running program out. It is
// the only place that knows every part.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"countersign/agent/llm"
	"countersign/approvals/decisions"
	"countersign/bot"
	"countersign/bot/socket"
	"countersign/internal/config"
	"countersign/internal/id"
	"countersign/internal/metrics"
	"countersign/internal/store"
	"countersign/tools"
)

// Options are what the configuration does not say.
type Options struct {
	Logger *slog.Logger
	Now    func() time.Time // nil: time.Now
	Gaps   bot.Gaps         // zero fields: what Slack allows
	Lease  time.Duration    // 0: the queue's default
	// AckWithin is the time in which Slack wants its answers; 0: three seconds.
	AckWithin time.Duration
	Sweep     time.Duration        // of leases; 0: the queue's default
	Model     llm.Model            // nil: the configured one
	Extra     []tools.Tool         // beside the configured ones
	Traces    trace.TracerProvider // nil: nothing is traced
	// Between stands between the parts and the database, so that tests can let a
	// process die at any commit; nil: nothing does.
	Between func(Ports) Ports
}

// App is a wired program that does not run yet: what a process has once, and the
// edition of its configuration that is at work, which a reload replaces.
type App struct {
	*ground
	cfg  *config.Config // as the process began
	stop cleanups

	reloading sync.Mutex     // held while an edition takes over from another, and at the end
	read      *config.Config // as it was read last
	ended     bool           // no edition takes over any more
	leaving   sync.WaitGroup // editions that others took over from

	started chan struct{} // closed when group is set
	group   *errgroup.Group
	life    context.Context // of the group

	mu      sync.RWMutex
	current *edition
}

// New opens and wires everything; nothing runs yet. What it opened before an
// error it closes again.
func New(ctx context.Context, cfg *config.Config, opt Options) (*App, error) {
	a := &App{ground: newGround(opt), cfg: cfg, read: cfg, started: make(chan struct{})}
	if err := a.wireDatabase(ctx); err != nil {
		return nil, errors.Join(err, a.stop.run())
	}
	e, err := a.prepare(ctx, &edition{ground: a.ground, cfg: cfg})
	if err != nil {
		return nil, errors.Join(err, a.stop.run())
	}
	a.current = e
	a.policy.Store(e.law)
	a.metrics.Watch(metrics.Sources{Census: a.store.Census, Socket: a.Status, Skew: a.SlackSkew, Now: a.now})
	return a, nil
}

func ownerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), id.Call())
}

// Run serves until the context ends, then gives back what it holds and stops.
func (a *App) Run(ctx context.Context) error {
	defer a.close()
	if err := a.queue.Start(ctx, a.advance); err != nil {
		return err
	}
	a.group, a.life = errgroup.WithContext(ctx)
	first := a.live()
	a.connect(first.slack)
	a.serve(first)
	a.group.Go(func() error { return a.serveHTTP(a.life) })
	a.group.Go(func() error {
		<-a.life.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.life), stopTimeout)
		defer cancel()
		return errors.Join(a.lastEdition().schedule.Stop(ctx), a.queue.Stop(ctx))
	})
	close(a.started)
	err := a.group.Wait()
	a.leaving.Wait()
	a.live().bot.Finish()
	return err
}

// stopTimeout bounds how long a stop waits for running work.
const stopTimeout = 15 * time.Second

// lastEdition is the one that the process ends with: from now on none takes over.
func (a *App) lastEdition() *edition {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	a.ended = true
	return a.live()
}

func (a *App) close() {
	if err := errors.Join(a.live().hands.closers.run(), a.stop.run()); err != nil {
		a.log.Warn("stopping", "error", err)
	}
}

// live is the edition that is at work.
func (a *App) live() *edition {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.current
}

// Status says what is connected, for readiness.
func (a *App) Status() socket.Status { return a.live().slack.socket.Status() }

// Addr is where health is served; empty: nowhere.
func (a *App) Addr() string { return a.cfg.HTTP.Addr }

// Failing says that the latest posts to Slack failed.
func (a *App) Failing() bool { return !a.live().bot.Failing().IsZero() }

// SlackSkew is how far our clock is ahead of Slack's; false when not known.
func (a *App) SlackSkew() (time.Duration, bool) { return a.live().slack.edge.Skew() }

// Store is the open database, for commands and tests.
func (a *App) Store() *store.Store { return a.store }

// Door is where verdicts enter, for tests.
func (a *App) Door() *decisions.Door { return a.live().door }

// cleanups are undone in reverse.
type cleanups []func() error

func (c *cleanups) add(f func() error) { *c = append(*c, f) }

func (c *cleanups) run() error {
	var errs []error
	for i := len(*c) - 1; i >= 0; i-- {
		errs = append(errs, (*c)[i]())
	}
	*c = nil
	return errors.Join(errs...)
}

func (a *App) serveHTTP(ctx context.Context) error {
	if a.cfg.HTTP.Addr == "" {
		<-ctx.Done()
		return nil
	}
	server := &http.Server{Addr: a.cfg.HTTP.Addr, Handler: a.handler(), ReadHeaderTimeout: 5 * time.Second}
	stopped := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			a.log.Warn("stop the health listener", "error", err)
		}
	})
	defer stopped()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen on %s (http.addr, COUNTERSIGN_HTTP_ADDR): %w", a.cfg.HTTP.Addr, err)
	}
	return nil
}

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
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/agent/prompts"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot"
	"countersign/bot/slacktext"
	"countersign/bot/socket"
	"countersign/internal/config"
	"countersign/internal/id"
	"countersign/internal/metrics"
	"countersign/internal/queue"
	"countersign/internal/schedule"
	"countersign/internal/store"
	"countersign/tools"
	"countersign/tools/mcp"
)

// Options are what the configuration does not say.
type Options struct {
	Logger *slog.Logger
	Now    func() time.Time     // nil: time.Now
	Gaps   bot.Gaps             // zero fields: what Slack allows
	Lease  time.Duration        // 0: the queue's default
	Sweep  time.Duration        // of leases; 0: the queue's default
	Model  llm.Model            // nil: the configured one
	Extra  []tools.Tool         // beside the configured ones
	Traces trace.TracerProvider // nil: nothing is traced
	// Between stands between the parts and the database, so that tests can let a
	// process die at any commit; nil: nothing does.
	Between func(Ports) Ports
}

// App is a wired program that does not run yet.
type App struct {
	cfg  *config.Config
	opt  Options
	now  func() time.Time
	log  *slog.Logger
	stop cleanups

	reloading sync.Mutex
	running   *config.Config // as it was taken over last; what needs a restart holds as in cfg
	switched  switched
	metrics   *metrics.Set
	store     *store.Store
	ports     Ports
	queue     *queue.Queue
	registry  *tools.Registry
	servers   []*mcp.Server
	policy    atomic.Pointer[policy.Policy] // as it holds now
	masker    *slacktext.Masker
	prompts   *prompts.Prompts
	gate      *agent.Gate
	slack     slackSide
	agent     *agent.Agent
	door      *decisions.Door
	bot       *bot.Bot
	socket    *socket.Transport
	everybody agent.Directory // people of Slack, and services
	schedule  *schedule.Scheduler
	owner     string
}

// New opens and wires everything; nothing runs yet. What it opened before an
// error it closes again.
func New(ctx context.Context, cfg *config.Config, opt Options) (*App, error) {
	a := bare(cfg, opt)
	for _, step := range []func(context.Context) error{
		a.wireDatabase, a.wireTools, a.wireSlack, a.wireAgent, a.wireBot, a.wireSchedule,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, a.stop.run())
		}
	}
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
	defer func() {
		if err := a.stop.run(); err != nil {
			a.log.Warn("stopping", "error", err)
		}
	}()
	if err := a.queue.Start(ctx, a.advance); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.bot.Run(ctx) })
	g.Go(func() error { return a.socket.Run(ctx) })
	a.schedule.Start()
	g.Go(func() error { return a.serveHTTP(ctx) })
	g.Go(func() error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return errors.Join(a.schedule.Stop(ctx), a.queue.Stop(ctx))
	})
	a.bot.Poke()
	err := g.Wait()
	a.bot.Finish()
	return err
}

// stopTimeout bounds how long a stop waits for running work.
const stopTimeout = 15 * time.Second

// Status says what is connected, for readiness.
func (a *App) Status() socket.Status { return a.socket.Status() }

// Addr is where health is served; empty: nowhere.
func (a *App) Addr() string { return a.cfg.HTTP.Addr }

// Failing says that the latest posts to Slack failed.
func (a *App) Failing() bool { return !a.bot.Failing().IsZero() }

// SlackSkew is how far our clock is ahead of Slack's; false when not known.
func (a *App) SlackSkew() (time.Duration, bool) { return a.slack.edge.Skew() }

// Store is the open database, for commands and tests.
func (a *App) Store() *store.Store { return a.store }

// Door is where verdicts enter, for tests.
func (a *App) Door() *decisions.Door { return a.door }

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

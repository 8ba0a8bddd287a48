package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"countersign/agent"
	"countersign/agent/prompts"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot"
	"countersign/bot/slacktext"
	"countersign/bot/socket"
	"countersign/internal/config"
	"countersign/internal/metrics"
	"countersign/internal/queue"
	"countersign/internal/schedule"
	"countersign/internal/store"
	"countersign/tools"
	"countersign/tools/mcp"
)

// ground is what a process has once, whatever its configuration says later.
type ground struct {
	opt     Options
	now     func() time.Time
	log     *slog.Logger
	owner   string
	metrics *metrics.Set
	store   *store.Store
	ports   Ports
	queue   *queue.Queue
	policy  atomic.Pointer[policy.Policy] // as it holds now, for every edition
}

func newGround(opt Options) *ground {
	g := &ground{opt: opt, now: opt.Now, log: opt.Logger, owner: ownerID(), metrics: metrics.New()}
	if g.now == nil {
		g.now = time.Now
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	return g
}

// edition is everything that one reading of the configuration made. A reload makes
// another, which takes over as a second replica would; what did not change between
// the two, its connections and its tools, goes over to the next.
type edition struct {
	*ground
	cfg *config.Config
	*hands
	slack *line

	law       *policy.Policy // of this configuration; it holds from the takeover on
	masker    *slacktext.Masker
	prompts   *prompts.Prompts
	gate      *agent.Gate
	people    *bot.Directory
	everybody agent.Directory // people of Slack, and services
	agent     *agent.Agent
	door      *decisions.Door
	bot       *bot.Bot
	programs  http.Handler
	schedule  *schedule.Scheduler

	retired chan struct{}      // closed: another took over; runs are given back at the next good point
	cut     context.CancelFunc // ends the bot
	ended   chan struct{}      // closed when the bot ended
	work    sync.WaitGroup     // runs that are being advanced
}

// hands are the tools of an edition, and what they hold open.
type hands struct {
	registry *tools.Registry
	servers  []*mcp.Server
	closers  cleanups
}

// line is the connection to Slack under one pair of tokens.
type line struct {
	edge   *bot.Edge
	self   bot.Self
	socket *socket.Transport

	cut     context.CancelFunc
	retired atomic.Bool
	done    chan struct{} // closed when err is set
	err     error
}

// prepare wires an edition; nothing of it runs yet. It may have got hands and a line
// of another one. What it opened before an error is closed again.
func (a *App) prepare(ctx context.Context, e *edition) (*edition, error) {
	e.retired, e.ended = make(chan struct{}), make(chan struct{})
	given := e.hands
	for _, step := range []func(context.Context) error{e.wireTools, e.wireSlack, e.wireAgent, e.wireBot, e.wireSchedule} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, e.drop(given))
		}
	}
	if e.slack.socket == nil {
		e.slack.socket = socket.New(socket.Config{Open: e.slack.edge.Open(), Handle: a.handle, Logger: a.log, Now: a.now})
	}
	return e, nil
}

// drop closes the tools that an edition opened itself.
func (a *edition) drop(given *hands) error {
	if a.hands == nil || a.hands == given {
		return nil
	}
	return a.hands.closers.run()
}

// handle gives what Slack sends to the edition that is at work.
func (a *App) handle(ctx context.Context, e socket.Envelope) socket.Response {
	return a.live().bot.Handle(ctx, e)
}

// connect starts a line. When Slack refuses it for good the process ends, unless
// another line took over.
func (a *App) connect(l *line) {
	ctx, cut := context.WithCancel(a.life)
	l.cut, l.done = cut, make(chan struct{})
	a.group.Go(func() error {
		defer cut()
		l.err = l.socket.Run(ctx)
		close(l.done)
		if l.retired.Load() {
			return nil
		}
		return l.err
	})
}

// serve starts an edition's own work.
func (a *App) serve(e *edition) {
	ctx, cut := context.WithCancel(a.life)
	e.cut = cut
	a.group.Go(func() error {
		defer cut()
		defer close(e.ended)
		return e.bot.Run(ctx)
	})
	e.schedule.Start()
	e.bot.Poke()
}

// enter gives the edition at work for one stretch of work on a run; leave it with work.Done.
func (a *App) enter() *edition {
	a.mu.RLock()
	defer a.mu.RUnlock()
	a.current.work.Add(1)
	return a.current
}

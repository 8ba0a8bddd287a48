package bot

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"golang.org/x/sync/errgroup"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/bot/card"
	"countersign/bot/slacktext"
	"countersign/bot/socket"
	"countersign/bot/words"
	"countersign/tools"
)

// Self is who the bot is in its workspace, from auth.test.
type Self struct {
	Team       string // the installation
	User       string
	Bot        string
	App        string // empty: not known
	Name       string
	Enterprise string // of an enterprise organisation; empty: none
}

// Config wires a Bot.
type Config struct {
	API        *slack.Client
	Self       Self
	Agent      *agent.Agent
	Door       *decisions.Door
	Outbox     Outbox
	Places     Places
	Clicks     Clicks
	Views      Views
	Marks      Marks
	After      After
	Sightings  Sightings // nil: what arrives is not noted
	Directory  *Directory
	Tools      *tools.Registry
	Words      *words.Catalogue
	Card       *card.Renderer
	Now        func() time.Time
	Clock      func() error // an error while Now cannot be trusted; nil: it can
	Logger     *slog.Logger
	Owner      string
	Channels   []string // where it listens; empty: wherever it was invited
	Cards      string   // the channel that gets every card too; empty: none
	Notify     bool     // approvers are told privately of every card
	AllReplies bool     // replies without a mention reach the asker's run
	Language   string   // of channel messages; empty or auto: the asker's
	Gaps       Gaps
	Lease      time.Duration // of a delivery: after it another replica may try; Slack calls end before it
	AckWithin  time.Duration // in which Slack wants the answer to a press or a form; 0: three seconds
}

// Gaps are the least times between calls that Slack allows.
type Gaps struct {
	Post     time.Duration // chat.postMessage in one channel: Slack allows one a second
	Update   time.Duration // chat.update: tier 3, fifty a minute
	Progress time.Duration // between two edits of one progress message
}

// Bot is the Slack edge. Run it once.
type Bot struct {
	Config
	poke   chan struct{} // there may be deliveries
	soon   sooner
	lanes  pacer
	gone   uninstalled
	native nativeStatus
	work   sync.WaitGroup
	pacing sync.Map // progress subjects: when they were last edited
	forms  sync.Map // views that are being filled: closed when they are
	health health
	seen   sighted
}

// New makes a Bot that is not yet running.
func New(c Config) *Bot {
	return &Bot{Config: c, poke: make(chan struct{}, 1)}
}

// Poke tells the delivery loop of this process that there is something to deliver.
func (b *Bot) Poke() {
	select {
	case b.poke <- struct{}{}:
	default:
	}
}

// Run delivers and finishes what was clicked, until the context ends. The socket
// is run beside it and calls Handle.
func (b *Bot) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.deliverLoop(ctx) })
	g.Go(func() error { return b.clickLoop(ctx) })
	b.background("recovery", recoverTimeout, b.recover)
	return g.Wait()
}

// recoverTimeout bounds the look after a start.
const recoverTimeout = 2 * time.Minute

// Finish waits for the work that follows acknowledgements. Call it when the socket
// hands over nothing any more.
func (b *Bot) Finish() { b.work.Wait() }

// background runs a piece of work that follows an acknowledgement; Finish waits for it.
func (b *Bot) background(name string, timeout time.Duration, f func(context.Context) error) {
	b.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		defer func() {
			if v := recover(); v != nil {
				b.Logger.ErrorContext(ctx, "panic", "work", name, "value", fmt.Sprint(v))
			}
		}()
		if err := f(ctx); err != nil {
			b.Logger.WarnContext(ctx, "work after an acknowledgement failed", "work", name, "error", err)
		}
	})
}

// lang is the language of channel messages about a run.
func (b *Bot) lang(run *agent.Run) string {
	if b.Language != "" && b.Language != "auto" {
		return b.Language
	}
	return run.Language
}

// Handle commits what an envelope says and acknowledges it.
func (b *Bot) Handle(ctx context.Context, e socket.Envelope) socket.Response {
	b.note(e)
	switch e.Type {
	case socket.TypeEvent:
		if err := b.unfit(); err != nil { // a run of another time would wait for that time
			b.Logger.WarnContext(ctx, "an event is left to other replicas", "error", err)
			return socket.Response{}
		}
		return b.event(ctx, e)
	case socket.TypeInteraction:
		return b.interaction(ctx, e)
	case socket.TypeCommand:
		return b.command(ctx, e)
	}
	return socket.Response{Ack: true}
}

// unfit says why Now cannot be trusted at the moment.
func (b *Bot) unfit() error {
	if b.Clock == nil {
		return nil
	}
	return b.Clock()
}

// reader reads what people typed.
func (b *Bot) reader() slacktext.Reader {
	return slacktext.Reader{Self: b.Self.User, Name: b.Directory.KnownName}
}

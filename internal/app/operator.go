package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/agent/prompts"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot"
	"countersign/bot/slacktext"
	"countersign/bot/survey"
	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/internal/queue"
	"countersign/internal/store"
	"countersign/tools"
)

// Operator works beside a countersign that may be running: it reads, commits and
// rings, and never claims a run.
type Operator struct {
	Store *store.Store
	Mask  *slacktext.Masker
	app   *edition
	stop  cleanups
}

// NewOperator opens the configured database as it is: it migrates nothing, because
// a running process may be of another version.
func NewOperator(ctx context.Context, cfg *config.Config, opt Options) (*Operator, error) {
	a := bare(cfg, opt)
	o := &Operator{app: a}
	for _, step := range []func(context.Context) error{o.openExisting, o.ringOnly, a.wireMask} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	o.Store, o.Mask = a.store, a.masker
	return o, nil
}

// Close closes what the operator opened.
func (o *Operator) Close() error { return o.stop.run() }

// Door gives the door through which verdicts enter, with people looked up in Slack
// as for a click, and who the bot is there.
func (o *Operator) Door(ctx context.Context) (*decisions.Door, bot.Self, error) {
	a := o.app
	_, err := o.Self(ctx)
	if err != nil {
		return nil, bot.Self{}, err
	}
	if err := o.clock(ctx); err != nil {
		return nil, bot.Self{}, err
	}
	if a.prompts, err = prompts.New(); err != nil {
		return nil, bot.Self{}, err
	}
	a.hands = &hands{}
	if a.registry, err = tools.NewRegistry(); err != nil {
		return nil, bot.Self{}, err
	}
	p, err := policyOf(a.cfg)
	if err != nil {
		return nil, bot.Self{}, err
	}
	a.policy.Store(p)
	box, err := boxOf(a.cfg)
	if err != nil {
		return nil, bot.Self{}, err
	}
	a.gate = &agent.Gate{Tools: a.registry, Policy: a.currentPolicy, Prompts: a.prompts, Timeout: a.cfg.Limits.ToolTimeout, Trials: agent.NewTrials(a.now)}
	return decisions.New(decisions.Config{
		Store: a.store, Care: a.store, Factors: a.store, Grants: a.store, Reviews: a.store, Box: box, Notify: a.cfg.Approvals.Notify == "dm", Directory: bot.NewDirectory(a.slack.edge.API, a.slack.self, a.gate.Policy, a.now), Gate: a.gate, Prompts: a.prompts,
		Now: a.now, Logger: a.log, Cards: string(a.cfg.Slack.ApprovalsChannel), Lease: a.lease(), PerMinute: a.cfg.Approvals.ResumePerMinute, Mask: a.mask,
	}), a.slack.self, nil
}

// clock says whether anything can be decided by the clock of this machine.
func (o *Operator) clock(ctx context.Context) error {
	err := o.app.queue.CompareClocks(ctx)
	if errors.Is(err, queue.ErrSkewed) {
		return fault.Wrap(err, fault.Unavailable, "The clock of this machine differs from the database's, so nothing can be decided here: set it first.")
	}
	return err
}

// Self asks Slack who the bot is.
func (o *Operator) Self(ctx context.Context) (bot.Self, error) {
	switch {
	case o.app.slack != nil:
	case o.app.cfg.Slack.BotToken.IsZero():
		return bot.Self{}, fault.New(fault.Invalid, "SLACK_BOT_TOKEN (xoxb-…) is needed: Slack is asked who people are.")
	default:
		if err := o.app.askSlack(ctx); err != nil {
			return bot.Self{}, err
		}
	}
	return o.app.slack.self, nil
}

// Workspace is where people have their accounts: that of the bot token, or without one
// that of the runs in the database, because what concerns the database alone should need
// no secret of Slack's.
func (o *Operator) Workspace(ctx context.Context) (string, error) {
	if !o.app.cfg.Slack.BotToken.IsZero() {
		self, err := o.Self(ctx)
		return self.Team, err
	}
	found, err := o.Store.Installations(ctx)
	switch {
	case err != nil:
		return "", err
	case len(found) != 1:
		return "", fault.New(fault.Invalid, "The database has runs of %d workspaces, so it does not say which one is meant: set SLACK_BOT_TOKEN (xoxb-…).", len(found))
	}
	return found[0], nil
}

// bare is an edition of which nothing is wired.
func bare(cfg *config.Config, opt Options) *edition {
	return &edition{ground: newGround(opt), cfg: cfg}
}

func (o *Operator) openExisting(ctx context.Context) (err error) {
	a := o.app
	if a.store, err = OpenExisting(ctx, store.Config{URL: a.cfg.Database.URL.Reveal(), Now: a.now, Logger: a.log}); err != nil {
		return err
	}
	o.stop.add(a.store.Close)
	current, known, err := a.store.SchemaVersion(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the schema's version: %w", err)
	case current < known:
		return fault.New(fault.Conflict, "The database has schema %d and this version needs %d: `countersign migrate` brings it there.", current, known)
	case current > known:
		return fault.New(fault.Conflict, "The database has schema %d and this version knows %d: use the newer version.", current, known)
	}
	return nil
}

// OpenExisting opens a database that must be there; it is not migrated.
func OpenExisting(ctx context.Context, c store.Config) (*store.Store, error) {
	if file, ok := strings.CutPrefix(c.URL, "sqlite:"); ok {
		if _, err := os.Stat(file); err != nil {
			return nil, fault.Wrap(err, fault.NotFound, "There is no database at %s: is DATABASE_URL (database.url) that of the running countersign? `serve` and `migrate` make a new one.", file)
		}
	}
	return store.Open(ctx, c)
}

// ringOnly gives the store a queue that rings and is never started.
func (o *Operator) ringOnly(ctx context.Context) (err error) {
	a := o.app
	a.queue, err = queue.New(queue.Config{
		DB: a.store.Writer(), Postgres: a.store.URL(), Leases: a.store, Owner: a.owner, DatabaseNow: a.store.DatabaseNow, Now: a.now, Logger: a.log,
	})
	if err != nil {
		return err
	}
	o.stop.add(func() error { return a.queue.Stop(context.WithoutCancel(ctx)) })
	a.store.Attach(a.queue, nil)
	return nil
}

func (a *edition) wireMask(context.Context) (err error) {
	if a.masker, err = slacktext.NewMasker(a.cfg.Redact); err != nil {
		return fault.Wrap(err, fault.Invalid, "redact: %s.", err)
	}
	return nil
}

// Parts are the tools and the policy of a configuration, without anything around them.
type Parts struct {
	Tools  *tools.Registry
	Policy *policy.Policy
	app    *edition
}

// NewParts builds them; the fault says which setting is wrong.
func NewParts(ctx context.Context, cfg *config.Config, opt Options) (*Parts, error) {
	a := bare(cfg, opt)
	if err := a.wireTools(ctx); err != nil {
		return nil, errors.Join(err, a.drop(nil))
	}
	return &Parts{Tools: a.registry, Policy: a.law, app: a}, nil
}

// Absent gives the MCP servers that are not connected, by name, and why.
func (p *Parts) Absent() map[string]string {
	absent := map[string]string{}
	for i, s := range p.app.servers {
		if status := s.Status(); !status.Connected {
			absent[p.app.cfg.Tools.MCP[i].Name] = status.Error
		}
	}
	return absent
}

// Close closes what the tools opened.
func (p *Parts) Close() error { return p.app.closers.run() }

// Model gives the configured model.
func Model(cfg *config.Config, opt Options) llm.Model { return bare(cfg, opt).model() }

// Survey asks the configured workspace.
func Survey(cfg *config.Config, now func() time.Time) *survey.Survey {
	s := cfg.Slack
	return survey.New(survey.Config{
		BotToken: s.BotToken.Reveal(), AppToken: s.AppToken.Reveal(), Address: apiURL(s.APIURL), Client: &http.Client{Timeout: slackTimeout}, Now: now,
	})
}

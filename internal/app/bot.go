package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"countersign/bot"
	"countersign/bot/card"
	"countersign/bot/words"
	"countersign/internal/fault"
	"countersign/internal/schedule"
)

func (a *edition) wireBot(_ context.Context) error {
	catalogue, err := words.Load()
	if err != nil {
		return err
	}
	renderer := &card.Renderer{
		Grants: card.Bounds(grantsOf(a.cfg)),
		Words:  catalogue, Currency: a.cfg.Model.Price.Currency, Masker: a.masker, Safe: a.door.Safe,
		Schema:  func(tool string) json.RawMessage { return a.parameters(tool) },
		Private: func(tool string) bool { t, ok := a.registry.Get(tool); return ok && t.Spec().Private },
	}
	a.bot = bot.New(bot.Config{
		API: a.slack.edge.API, Self: a.slack.self, Agent: a.agent, Door: a.door, Outbox: a.ports, Places: a.ports, Clicks: a.ports, Views: a.ports, Marks: a.ports, After: a.ports, Sightings: a.ports,
		Directory: a.people, Tools: a.registry, Words: catalogue, Card: renderer, Now: a.now, Clock: a.queue.Clock, Logger: a.log, Owner: a.owner,
		Channels: idsOf(a.cfg.Slack.Channels), Cards: string(a.cfg.Slack.ApprovalsChannel), Notify: a.cfg.Approvals.Notify == "dm", AllReplies: a.cfg.Slack.ThreadReplies == "all", Language: a.cfg.Slack.Language, Gaps: a.gaps(), Lease: a.deliveryLease(), AckWithin: a.opt.AckWithin,
	})
	a.programs = a.api()
	return nil
}

func (a *edition) parameters(tool string) json.RawMessage {
	if t, ok := a.registry.Get(tool); ok {
		return t.Spec().Parameters
	}
	return nil
}

// gaps are what Slack allows: a message a second in a channel, fifty edits a
// minute, and a progress line that people can follow.
func (a *edition) gaps() bot.Gaps {
	g := a.opt.Gaps
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&g.Post, time.Second}, {&g.Update, 1200 * time.Millisecond}, {&g.Progress, 3 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return g
}

// deliveryLease is how long a replica may take for one delivery before another
// takes it for dead.
func (a *edition) deliveryLease() time.Duration {
	if a.opt.Lease > 0 {
		return a.opt.Lease
	}
	return 10 * time.Second
}

func (a *edition) wireSchedule(context.Context) (err error) {
	a.schedule, err = schedule.New(schedule.Config{Elect: timely{a.store, a.queue.Clock}, Owner: a.owner, Now: a.now, Logger: a.log}, append(a.scheduled(), schedule.Job{
		Name: "expire", Every: a.cfg.Approvals.Sweep, Run: a.door.ExpireDue,
	}, schedule.Job{
		Name: "care", Every: a.cfg.Approvals.Sweep, Run: a.door.CareDue,
	}, schedule.Job{
		Name: "grants", Every: a.cfg.Approvals.Sweep, Run: a.door.TendGrants,
	}, schedule.Job{
		Name: "probe", Every: max(a.cfg.Approvals.Sweep, time.Second), Run: a.door.ProbeDue,
	}, schedule.Job{
		Name: "audit head", Every: time.Hour, Run: a.logHead,
	}, a.keepJob())...)
	if err != nil && len(a.cfg.Schedules) > 0 {
		return fault.Wrap(err, fault.Invalid, "schedules: %s.", err)
	}
	return err
}

// timely lets no process lead whose clock cannot be trusted: what is due by it is not.
type timely struct {
	schedule.Elector
	clock func() error
}

// Elect says that another one leads while the clock is wrong.
func (t timely) Elect(ctx context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error) {
	if t.clock() != nil {
		return false, nil
	}
	return t.Elector.Elect(ctx, name, owner, now, ttl)
}

// logHead notes the record's head where whoever can change the database cannot: in
// the log. Settled cards are the other witness.
func (a *edition) logHead(ctx context.Context) error {
	seq, hash, err := a.store.AuditHead(ctx)
	if err != nil {
		return err
	}
	a.log.InfoContext(ctx, "audit head", "head", fmt.Sprintf("%d:%s", seq, hash))
	return nil
}

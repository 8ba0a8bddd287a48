package bot

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/card"
)

const (
	mostOnHome = 20  // requests
	mostRead   = 100 // of what waits, of reviews and of grants
)

func (b *Bot) wishHome(ctx context.Context, user string) error {
	if user == "" {
		return nil
	}
	now := b.Now()
	if err := b.Outbox.Wish(ctx, []agent.Wish{{Subject: "home/" + user, Priority: agent.PriorityHome, ReadyAt: now}}, now); err != nil {
		return fmt.Errorf("wish for Home: %w", err)
	}
	b.Poke()
	return nil
}

// deliverHome publishes a person's Home: what waits for them, and their runs.
func (b *Bot) deliverHome(ctx context.Context, d Delivery, user string) Receipt {
	person, err := b.Directory.Person(ctx, b.actor(user), false)
	if err != nil {
		return b.failed(d, "", err)
	}
	home, err := b.homeOf(ctx, person)
	if err != nil {
		return b.failed(d, "", err)
	}
	at, leave := b.pace(ctx, lane{method: methodHome}, b.Gaps.Update, false)
	if leave == nil {
		return Receipt{RetryAt: at}
	}
	defer leave()
	view := b.Card.Home(home, b.where(b.langOf(ctx, user), ""))
	if _, err := b.API.PublishViewContext(ctx, slack.PublishViewContextRequest{UserID: user, View: view}); err != nil {
		return b.failed(d, methodHome, err)
	}
	return Receipt{Version: d.Version}
}

// homeOf reads what stands on a person's Home.
func (b *Bot) homeOf(ctx context.Context, person policy.Person) (h card.Home, err error) {
	if h.Waiting, h.Partial, err = b.waitingFor(ctx, person); err != nil {
		return h, err
	}
	if h.Reviews, err = b.reviewsFor(ctx, person); err != nil {
		return h, err
	}
	if h.Granting, err = b.After.Granting(ctx, b.Self.Team, person.Actor, mostRead); err != nil {
		return h, err
	}
	h.Partial = h.Partial || len(h.Reviews) == mostRead || len(h.Granting) == mostRead
	h.Reader = person.Actor
	h.Runs, err = b.Views.RunsOf(ctx, b.Self.Team, person.Actor, mostOnHome)
	return h, err
}

// reviewsFor lists what others approved alone and this person may look at.
func (b *Bot) reviewsFor(ctx context.Context, person policy.Person) ([]decisions.Case, error) {
	all, err := b.After.Unreviewed(ctx, b.Self.Team, mostRead)
	return slices.DeleteFunc(all, func(c decisions.Case) bool {
		a := &c.Approval
		return a.ActedAlone(person.Actor) || a.Needs().MayDecide(person, a.Requesters()) != nil
	}), err
}

// waitingFor lists the approvals that a person may decide, soonest expiry first, and
// says whether there may be more of them.
func (b *Bot) waitingFor(ctx context.Context, person policy.Person) (mine []decisions.Case, partial bool, err error) {
	all, err := b.Views.Waiting(ctx, b.Self.Team, mostRead)
	partial = len(all) == mostRead
	return slices.DeleteFunc(all, func(c decisions.Case) bool {
		return c.Approval.Needs().MayDecide(person, c.Approval.Requesters()) != nil
	}), partial, err
}

// health remembers how deliveries fare, for readiness.
type health struct {
	mu        sync.Mutex
	delivered time.Time // the last success
	failing   time.Time // since when nothing but failures came; zero: the last one worked
	missed    time.Time // when Slack last dropped events
	oldest    time.Duration
}

func (h *health) note(d Delivery, r Receipt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.Error == "" && r.Version > 0:
		h.delivered, h.failing = r.At, time.Time{}
	case r.Error != "" && !r.Place && !r.Gone && h.failing.IsZero(): // what is given up is of one message alone
		h.failing = r.At
	}
	h.oldest = r.At.Sub(d.Since)
}

// Failing says since when every delivery failed; zero when the last one worked.
func (b *Bot) Failing() time.Time {
	b.health.mu.Lock()
	defer b.health.mu.Unlock()
	return b.health.failing
}

package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// place is an event about where we may be.
func (b *Bot) place(ctx context.Context, m message) error {
	switch m.Type {
	case "channel_id_changed":
		if m.OldChannel == "" || m.NewChannel == "" {
			return nil
		}
		defer b.Poke()
		return b.Places.MoveChannel(ctx, m.OldChannel, m.NewChannel)
	case "tokens_revoked":
		if !slices.Contains(m.Tokens.Bot, b.Self.User) {
			return nil // a person's token: we use none
		}
		fallthrough
	case "app_uninstalled":
		b.gone.flag.Store(true)
		b.Logger.ErrorContext(ctx, "the workspace removed the app; nothing is sent until it is installed again and this process has its new token", "event", m.Type)
		return nil
	}
	if m.Channel == "" {
		return nil
	}
	b.Logger.WarnContext(ctx, "a channel was closed for us", "event", m.Type, "channel", m.Channel)
	channel := m.Channel
	b.background("closed channel", callTimeout, func(ctx context.Context) error { // what was just on its way is stored by then
		timer := time.NewTimer(closedAgain)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		defer b.Poke()
		return b.Places.CloseChannel(ctx, channel, b.Now())
	})
	defer b.Poke()
	return b.Places.CloseChannel(ctx, channel, b.Now())
}

// closedAgain is after how long a closed channel is looked at once more.
const closedAgain = 3 * time.Second

// Removed says that the workspace removed the app.
func (b *Bot) Removed() bool { return b.gone.dead() }

// missed says that Slack dropped events because there were too many: what waits is
// looked through as after a start, not more often than each few minutes.
func (b *Bot) missed(ctx context.Context) {
	now := b.Now()
	b.health.mu.Lock()
	again := now.Sub(b.health.missed) > missedEvery
	if again {
		b.health.missed = now
	}
	b.health.mu.Unlock()
	if again {
		b.Logger.WarnContext(ctx, "Slack dropped events: this workspace has too many of them; waiting threads are read again")
		b.background("recovery", recoverTimeout, b.recover)
	}
}

const missedEvery = 2 * time.Minute

// reworded tells runs that a message which reached them reads differently now.
func (b *Bot) reworded(ctx context.Context, now *message) error {
	said := b.reader().Read(typed(now))
	told := agent.Message{Kind: agent.Edited, Text: said.Text, TS: now.TS}
	if at, ok := agent.SentAt(now.Edited.TS); ok {
		told.At = at // edits may come in any order
	}
	return b.tellChange(ctx, now, now.TS, told, "edited/"+now.Edited.TS)
}

// tellChange tells the unfinished runs of a thread what its author did to a message that
// reached them, the request or what was said later, and shows it on the cards that wait.
func (b *Bot) tellChange(ctx context.Context, m *message, ts string, told agent.Message, what string) error {
	runs, err := b.Views.OpenRuns(ctx, b.thread(m.Channel, m.root()))
	if err != nil {
		return err
	}
	for i := range runs {
		r := &runs[i]
		heard := &agent.Message{From: r.Asker}
		if r.MessageTS != ts {
			if heard, err = b.Places.Heard(ctx, r.ID, ts); err != nil {
				return err
			}
		}
		if heard == nil || heard.From.User != m.User {
			continue
		}
		told.Run, told.From, told.Name = r.ID, heard.From, heard.Name
		err = b.tell(ctx, told, what+"/"+r.ID+"/"+ts)
		if err == nil {
			err = b.redrawCards(ctx, r.ID)
		}
		if err != nil && !errors.Is(err, agent.ErrSettled) {
			return err
		}
	}
	return nil
}

// redrawCards asks for the cards of a run that still wait.
func (b *Bot) redrawCards(ctx context.Context, run string) error {
	work, err := b.Views.Load(ctx, run)
	if err != nil {
		return err
	}
	now := b.Now()
	var wishes []agent.Wish
	for _, a := range work.Approvals {
		if a.State == approvals.Pending {
			wishes = append(wishes, agent.CardWishes(a, b.Cards, now)...)
		}
	}
	if len(wishes) == 0 {
		return nil
	}
	if err := b.Outbox.Wish(ctx, wishes, now); err != nil {
		return fmt.Errorf("show the cards again: %w", err)
	}
	b.Poke()
	return nil
}

// wasReworded says that the run has not read yet what its people did to their words.
func wasReworded(work *agent.Work) bool {
	return slices.ContainsFunc(work.Inbox, func(m agent.Message) bool { return m.Kind == agent.Edited || m.Kind == agent.TakenBack })
}

// neverBegin remembers a request that was deleted before it was heard: Slack does not
// promise that the message comes before its deletion. It says whether it was heard already.
func (b *Bot) neverBegin(ctx context.Context, m *message, root string) (begun bool, err error) {
	was := m.Previous
	if was == nil || b.automatic(was) || m.ChannelType != "im" && !b.mentions(was) {
		return false, nil
	}
	fresh, err := b.Clicks.SeenEvent(ctx, agent.MessageKey(b.thread(m.Channel, root), m.DeletedTS), b.Now())
	return !fresh, err
}

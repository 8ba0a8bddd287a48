package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// mostRecovered bounds how many runs a start looks after.
const mostRecovered = 500

// recover brings up to date what may have been missed while no process was there:
// cards and progress lines are rendered again, and the threads of runs that wait
// are read once, so that a stop or an answer typed meanwhile counts. Every message
// has a key: what was heard before changes nothing.
func (b *Bot) recover(ctx context.Context) error {
	if err := b.unfit(); err != nil {
		return err
	}
	runs, err := b.Views.Unfinished(ctx, b.Self.Team, mostRecovered)
	if err != nil {
		return fmt.Errorf("read unfinished runs: %w", err)
	}
	cases, err := b.Views.Waiting(ctx, b.Self.Team, mostRecovered)
	if err != nil {
		return fmt.Errorf("read waiting approvals: %w", err)
	}
	now := b.Now()
	var wishes []agent.Wish
	for i := range cases {
		a := &cases[i].Approval
		wishes = append(wishes, agent.Wish{Subject: approvals.CardSubject(a.ID, a.Channel), Channel: a.Channel, ThreadTS: a.ThreadTS, Priority: agent.PriorityCard, ReadyAt: now})
	}
	var failed error // after the first failure threads are left alone: Slack is slow or asks for patience
	for i := range runs {
		r := &runs[i]
		if r.Rootless() {
			continue // its root message is a delivery that is still due
		}
		wishes = append(wishes, agent.Wish{Subject: agent.ProgressSubject(r.ID), Channel: r.Channel, ThreadTS: r.TS, Priority: agent.PriorityProgress, ReadyAt: now})
		if failed == nil && (r.State == agent.WaitingApproval || r.State == agent.WaitingInput) {
			failed = b.reread(ctx, r)
		}
	}
	return errors.Join(failed, b.Outbox.Wish(ctx, wishes, now))
}

// reread hears what people typed in a thread since the request.
func (b *Bot) reread(ctx context.Context, r *agent.Run) error {
	messages, _, _, err := b.API.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
		ChannelID: r.Channel, Timestamp: r.TS, Oldest: r.MessageTS, Limit: 200,
	})
	if err != nil {
		return fmt.Errorf("read the thread %s again: %w", r.TS, err)
	}
	for i := range messages {
		m := &messages[i]
		if m.Timestamp == r.MessageTS && m.SubType == tombstone {
			return b.deleted(ctx, message{Type: "message", Channel: r.Channel, DeletedTS: m.Timestamp})
		}
		if m.Timestamp <= r.MessageTS {
			continue
		}
		again := message{
			Type: "message", Subtype: m.SubType, Channel: r.Channel, User: m.User, Text: m.Text, TS: m.Timestamp, ThreadTS: r.TS, BotID: m.BotID,
		}
		if err := b.message(ctx, again); err != nil {
			return err
		}
	}
	return nil
}

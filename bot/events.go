package bot

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"countersign/agent"
	"countersign/bot/socket"
)

// outer is the Events API's outer object, as far as it is needed.
type outer struct {
	TeamID string          `json:"team_id"`
	Event  json.RawMessage `json:"event"`
	Type   string          `json:"type"`
}

// message is a Slack message event; app_mention has the same shape.
type message struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Channel     string          `json:"channel"`
	ChannelType string          `json:"channel_type"`
	User        string          `json:"user"`
	Text        string          `json:"text"`
	TS          string          `json:"ts"`
	EventTS     string          `json:"event_ts"`
	ThreadTS    string          `json:"thread_ts"`
	BotID       string          `json:"bot_id"`
	AppID       string          `json:"app_id"`
	BotProfile  json.RawMessage `json:"bot_profile"`
	Blocks      json.RawMessage `json:"blocks"`
	Tab         string          `json:"tab"`
	DeletedTS   string          `json:"deleted_ts"`
	Message     *message        `json:"message"`
	Previous    *message        `json:"previous_message"`
	OldChannel  string          `json:"old_channel_id"`
	NewChannel  string          `json:"new_channel_id"`
	Tokens      struct {
		Bot []string `json:"bot"`
	} `json:"tokens"`
	Edited struct {
		TS string `json:"ts"`
	} `json:"edited"`
}

// root is the ts of the thread that the message belongs to or opens.
func (m *message) root() string {
	if m.ThreadTS != "" {
		return m.ThreadTS
	}
	return m.TS
}

// event handles one event. It is acknowledged once what it means is committed; an
// event that cannot be committed comes again.
func (b *Bot) event(ctx context.Context, e socket.Envelope) socket.Response {
	var o outer
	var m message
	if json.Unmarshal(e.Payload, &o) == nil && o.Type == "app_rate_limited" {
		b.missed(ctx)
		return socket.Response{Ack: true}
	}
	if b.forget(o.Event) {
		return socket.Response{Ack: true}
	}
	if json.Unmarshal(e.Payload, &o) != nil || len(o.Event) == 0 || json.Unmarshal(o.Event, &m) != nil {
		return socket.Response{Ack: true} // nothing that coming again would mend
	}
	if err := b.take(ctx, m); err != nil {
		b.Logger.WarnContext(ctx, "an event could not be stored; Slack sends it again", "type", m.Type, "error", err)
		return socket.Response{}
	}
	return socket.Response{Ack: true}
}

// forget handles the events that say that people or groups changed. They have a shape
// of their own: their user is an object.
func (b *Bot) forget(event json.RawMessage) bool {
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(event, &kind) != nil {
		return false
	}
	switch kind.Type {
	case "user_change", "subteam_members_changed", "subteam_updated":
		b.Directory.Forget(event)
		return true
	}
	return false
}

func (b *Bot) take(ctx context.Context, m message) error {
	switch m.Type {
	case "app_mention":
		return b.heard(ctx, m)
	case "message":
		return b.message(ctx, m)
	case "app_home_opened":
		if m.Tab == "" || m.Tab == "home" {
			return b.wishHome(ctx, m.User)
		}
	case "channel_id_changed", "channel_archive", "group_archive", "channel_left", "group_left", "tokens_revoked", "app_uninstalled":
		return b.place(ctx, m)
	case "member_joined_channel":
		if m.User == b.Self.User {
			fresh, err := b.Clicks.SeenEvent(ctx, "greeting/"+b.Self.Team+"/"+m.Channel+"/"+m.EventTS, b.Now())
			if err != nil || !fresh {
				return err
			}
			b.background("greeting", callTimeout, func(ctx context.Context) error { return b.greet(ctx, m.Channel) })
		}
	}
	return nil
}

// message sorts a message event by its subtype: edits and deletions by name, the
// lines that Slack writes itself ignored, everything that a person typed heard.
func (b *Bot) message(ctx context.Context, m message) error {
	switch m.Subtype {
	case "", "file_share", "thread_broadcast", "me_message":
		return b.heard(ctx, m)
	case "message_changed":
		return b.changed(ctx, m)
	case "message_deleted":
		return b.deleted(ctx, m)
	}
	return nil
}

// automatic says that no person typed the message: another bot, a workflow, or we.
func (b *Bot) automatic(m *message) bool {
	profile := len(m.BotProfile) > 0 && string(m.BotProfile) != "null"
	return m.User == "" || m.User == b.Self.User || m.BotID != "" || profile || m.AppID != "" && m.AppID == b.Self.App
}

func (b *Bot) listens(channel string) bool {
	return len(b.Channels) == 0 || slices.Contains(b.Channels, channel)
}

// tombstone is what Slack leaves of a deleted message that has replies, as every request
// of ours has: it comes as an edit by Slack itself.
const tombstone = "tombstone"

// changed starts a run when an edit adds the first mention, and tells a run whose
// request, or what it was told later, was edited. Edits that only a link preview made
// mean nothing.
func (b *Bot) changed(ctx context.Context, m message) error {
	now, was := m.Message, m.Previous
	if now != nil && now.Subtype == tombstone {
		return b.deleted(ctx, message{Type: m.Type, Channel: m.Channel, ChannelType: m.ChannelType, DeletedTS: now.TS, Previous: was})
	}
	if now == nil || now.Text == "" || b.automatic(now) {
		return nil
	}
	now.Channel, now.ChannelType = m.Channel, m.ChannelType
	if was != nil && was.Text == now.Text {
		return nil
	}
	if was != nil && b.mentions(was) || !b.mentions(now) {
		return b.reworded(ctx, now)
	}
	now.Type, now.Subtype = "message", ""
	return b.heard(ctx, *now)
}

// redraw lets a deleted message of ours be posted again if it still waits. It is
// asked for once more a little later: a message may be deleted before the receipt
// of its post is stored.
func (b *Bot) redraw(ctx context.Context, m message) error {
	b.background("deleted", callTimeout, func(ctx context.Context) error {
		timer := time.NewTimer(receiptTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		defer b.Poke()
		return b.Outbox.Redraw(ctx, m.Channel, m.DeletedTS, b.Now())
	})
	defer b.Poke()
	return b.Outbox.Redraw(ctx, m.Channel, m.DeletedTS, b.Now())
}

// receiptTime is how long a receipt may take from the post to the database.
const receiptTime = 2 * time.Second

// deleted stops the run whose request was deleted, and tells one what its people took
// back. A message of ours that still waits for people is posted again.
func (b *Bot) deleted(ctx context.Context, m message) error {
	if m.DeletedTS == "" {
		return nil
	}
	if m.Previous != nil && m.Previous.User == b.Self.User {
		return b.redraw(ctx, m)
	}
	root := m.DeletedTS
	if m.Previous != nil && m.Previous.ThreadTS != "" {
		root = m.Previous.ThreadTS
	}
	stopped, err := b.stopDeleted(ctx, m, root)
	if err != nil || stopped {
		return err
	}
	if err := b.tellDeleted(ctx, m); err != nil {
		return err
	}
	begun, err := b.neverBegin(ctx, &m, root)
	if err == nil && begun { // it was heard between the two looks
		_, err = b.stopDeleted(ctx, m, root)
	}
	return err
}

// tellDeleted tells runs that somebody deleted what they had told them.
func (b *Bot) tellDeleted(ctx context.Context, m message) error {
	was := m.Previous
	if was == nil || b.automatic(was) {
		return nil
	}
	was.Channel = m.Channel
	return b.tellChange(ctx, was, m.DeletedTS, agent.Message{Kind: agent.TakenBack, Text: b.reader().Read(typed(was)).Text, TS: m.DeletedTS}, "taken_back")
}

// stopDeleted stops the run of a deleted request; false when there is none.
func (b *Bot) stopDeleted(ctx context.Context, m message, root string) (bool, error) {
	runs, err := b.Views.OpenRuns(ctx, b.thread(m.Channel, root))
	if err != nil {
		return false, err
	}
	for i := range runs {
		if runs[i].MessageTS == m.DeletedTS {
			return true, b.tell(ctx, agent.Message{Run: runs[i].ID, Kind: agent.Stop, From: runs[i].Asker, Text: "the request was deleted", TS: m.DeletedTS}, "deleted/"+m.DeletedTS)
		}
	}
	return false, nil
}

func (b *Bot) thread(channel, root string) agent.Thread {
	return agent.Thread{Installation: b.Self.Team, Channel: channel, TS: root}
}

func (b *Bot) mentions(m *message) bool {
	return b.reader().Read(typed(m)).Mentioned
}

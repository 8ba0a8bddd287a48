package localslack

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// subscription is the bot event that covers messages of a kind of channel.
func subscription(k ChannelKind) string {
	switch k {
	case Private:
		return "message.groups"
	case Direct:
		return "message.im"
	case Multi:
		return "message.mpim"
	}
	return "message.channels"
}

// emitPosted tells the app about a new message, and about its mention when
// there is one. The two come in either order.
func (c *change) emitPosted(m Message) {
	ch := c.w.channels[m.Channel]
	if m.EphemeralTo != "" || !ch.Has(c.w.app.UserID) {
		return
	}
	base := c.w.messageEvent(m, ch)
	mention := c.w.mentionEvent(m, ch)
	if mention == nil {
		c.emit(base)
		return
	}
	pair := []Event{mention, base}
	if c.w.random.IntN(2) == 0 {
		slices.Reverse(pair)
	}
	c.emit(pair[0])
	c.emit(pair[1])
}

// messageEvent is the event of a message that was posted.
func (w *Workspace) messageEvent(m Message, ch Channel) Event {
	e := Event(w.wireMessage(m, true))
	maps.Copy(e, object{"channel": m.Channel, "channel_type": channelType(ch), "event_ts": m.TS})
	if m.Broadcast {
		e["subtype"] = "thread_broadcast"
		if root, ok := w.message(m.Channel, m.ThreadTS); ok {
			e["root"] = w.wireMessage(root, false)
		}
	}
	delete(e, "reply_count")
	if w.random.IntN(3) == 0 { // not every delivery has them
		delete(e, "team")
		delete(e, "client_msg_id")
	}
	return e
}

// mentionEvent is the app_mention of a message, or nil. The app's own posts
// and direct messages cause none.
func (w *Workspace) mentionEvent(m Message, ch Channel) Event {
	if ch.Kind == Direct || m.User == w.app.UserID || !mentions(m.Text, w.app.UserID) {
		return nil
	}
	e := Event(w.wireMessage(m, false))
	maps.Copy(e, object{"type": "app_mention", "channel": m.Channel, "event_ts": m.TS})
	for _, k := range []string{"reply_count", "reply_users", "reply_users_count", "latest_reply", "is_locked", "subscribed"} {
		delete(e, k)
	}
	return e
}

// emitChanged tells about an edit: message_changed, and app_mention again when
// the new text has the mention.
func (c *change) emitChanged(m, previous Message) {
	ch := c.w.channels[m.Channel]
	if m.EphemeralTo != "" || !ch.Has(c.w.app.UserID) {
		return
	}
	now := formatTS(c.w.now())
	c.emit(Event{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": m.Channel, "channel_type": channelType(ch),
		"ts": now, "event_ts": now, "message": c.w.wireMessage(m, true), "previous_message": c.w.wireMessage(previous, true),
	})
	if mention := c.w.mentionEvent(m, ch); mention != nil && !m.Deleted {
		mention["event_ts"] = now
		c.emit(mention)
	}
}

func (c *change) emitDeleted(m Message) {
	ch := c.w.channels[m.Channel]
	if m.EphemeralTo != "" || !ch.Has(c.w.app.UserID) {
		return
	}
	now := formatTS(c.w.now())
	c.emit(Event{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": m.Channel, "channel_type": channelType(ch),
		"ts": now, "event_ts": now, "deleted_ts": m.TS, "previous_message": c.w.wireMessage(m, true),
	})
}

// emitMembership tells about joins and leaves, which the app sees in channels
// that it is in; its own leaving has another name.
func (c *change) emitMembership(kind string, ch Channel, user, inviter string) {
	now := formatTS(c.w.now())
	if user == c.w.app.UserID && kind == "member_left_channel" {
		kind = "channel_left"
		if ch.Kind == Private {
			kind = "group_left"
		}
		c.emit(Event{"type": kind, "channel": ch.ID, "actor_id": inviter, "event_ts": now})
		return
	}
	if !ch.Has(c.w.app.UserID) {
		return
	}
	short := "C"
	if ch.Kind == Private {
		short = "G"
	}
	e := Event{"type": kind, "user": user, "channel": ch.ID, "channel_type": short, "team": c.w.people[user].TeamID, "event_ts": now}
	if inviter != "" {
		e["inviter"] = inviter
	}
	c.emit(e)
}

func (c *change) emitPersonChanged(p Person) {
	c.emit(Event{"type": "user_change", "user": c.w.wirePerson(p), "cache_ts": c.w.now().Unix(), "event_ts": formatTS(c.w.now())})
}

func (c *change) emitGroupChanged(g Usergroup, added, removed []string, before int64) {
	c.emit(Event{
		"type": "subteam_members_changed", "subteam_id": g.ID, "team_id": c.w.team.ID, "date_previous_update": before,
		"date_update": g.Updated, "added_users": added, "added_users_count": len(added), "removed_users": removed,
		"removed_users_count": len(removed), "event_ts": formatTS(c.w.now()),
	})
}

// eventKinds are the names under which an app subscribes to an event.
func eventKinds(e Event) string {
	kind, _ := e["type"].(string)
	if kind != "message" {
		return kind
	}
	t, _ := e["channel_type"].(string)
	return subscription(ChannelKind(t))
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

package localslack

import (
	"encoding/json"
	"slices"
)

// PutPerson adds or changes a person, as an administrator or they themselves
// would; the app is told by user_change.
func (s *Server) PutPerson(p Person) error {
	return s.ws.update(func(c *change) error {
		_, known := c.w.people[p.ID]
		c.putPerson(p)
		if known {
			c.emitPersonChanged(c.w.people[p.ID])
		}
		return nil
	})
}

// PutUsergroup adds or changes a group; the app is told who came and went.
func (s *Server) PutUsergroup(g Usergroup) error {
	return s.ws.update(func(c *change) error {
		old, known := c.w.usergroups[g.ID]
		g.Updated = c.w.now().Unix()
		c.putUsergroup(g)
		added, removed := missing(g.Members, old.Members), missing(old.Members, g.Members)
		if known && len(added)+len(removed) > 0 {
			c.emitGroupChanged(g, added, removed, old.Updated)
		}
		return nil
	})
}

// missing lists what of all is not in known.
func missing(all, known []string) []string {
	return slices.DeleteFunc(slices.Concat([]string{}, all), func(x string) bool { return slices.Contains(known, x) })
}

// PutChannel adds or changes a channel without telling the app.
func (s *Server) PutChannel(ch Channel) error {
	return s.ws.update(func(c *change) error {
		c.putChannel(ch)
		return nil
	})
}

// Archive closes a channel for everybody.
func (s *Server) Archive(channel, by string) error {
	return s.ws.update(func(c *change) error {
		ch, ok := c.w.channels[channel]
		if !ok {
			return refuse("channel_not_found")
		}
		ch.Archived = true
		c.putChannel(ch)
		kind := "channel_archive"
		if ch.Kind == Private {
			kind = "group_archive"
		}
		if ch.Has(c.w.app.UserID) {
			c.emit(Event{"type": kind, "channel": channel, "user": by, "event_ts": formatTS(c.w.now())})
		}
		return nil
	})
}

// RenameChannelID gives a channel another id, as the start of sharing does; its
// messages move along.
func (s *Server) RenameChannelID(old, id string) error {
	return s.ws.update(func(c *change) error {
		ch, ok := c.w.channels[old]
		if !ok {
			return refuse("channel_not_found")
		}
		moved := ch
		moved.ID = id
		c.putChannel(moved)
		for _, m := range slices.Clone(c.w.messages[old]) {
			m.Channel = id
			c.putMessage(m)
		}
		ch.Archived, ch.Members = true, nil
		c.putChannel(ch)
		c.emit(Event{"type": "channel_id_changed", "old_channel_id": old, "new_channel_id": id, "event_ts": formatTS(c.w.now())})
		return nil
	})
}

// EmitEvent sends any inner event to the app if it is subscribed to its type:
// tokens_revoked, app_uninstalled, channel_shared, unheard-of ones.
func (s *Server) EmitEvent(e Event) error {
	return s.ws.update(func(c *change) error {
		c.emit(e)
		return nil
	})
}

// EmitOuter sends an events_api payload of its own kind, such as
// app_rate_limited.
func (s *Server) EmitOuter(payload map[string]any) {
	kind, _ := payload["type"].(string)
	s.socket.send(envelope{kind: "events_api", inner: kind, payload: marshal(payload)})
}

// marshal is for our own plain values, which always marshal.
func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

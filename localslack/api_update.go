package localslack

import (
	"encoding/json"
	"unicode/utf8"
)

// ownMessage finds a message that the app may change.
func (c *change) ownMessage(target, ts, refusal string) (Message, error) {
	ch, err := c.room(target)
	if err != nil {
		return Message{}, err
	}
	m, ok := c.w.message(ch.ID, ts)
	switch {
	case !ok, m.Deleted, m.EphemeralTo != "":
		return m, refuse("message_not_found")
	case m.User != c.w.app.UserID:
		return m, refuse(refusal)
	case ch.Archived:
		return m, refuse("is_inactive")
	case m.Streaming == streamLive:
		return m, refuse("streaming_state_conflict")
	}
	return m, nil
}

func (s *Server) chatUpdate(c call) (reply, error) {
	ts, err := c.args.need("ts")
	if err != nil {
		return nil, err
	}
	d, err := s.readDraft(c.args)
	switch {
	case err != nil:
		return nil, err
	case utf8.RuneCountInString(d.text) > maxUpdateText:
		return nil, refuse("msg_too_long")
	case d.text == "" && d.blocks == nil && d.attachments == nil:
		return nil, refuse("no_text")
	}
	var m Message
	err = s.ws.update(func(ch *change) error {
		before, err := ch.ownMessage(c.args.str("channel"), ts, "cant_update_message")
		if err != nil {
			return err
		}
		if ch.w.channels[before.Channel].Archived {
			return refuse("is_inactive")
		}
		m = s.edited(before, d, c.args)
		m = ch.putMessage(m)
		ch.emitChanged(m, before)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.inspect(m)
	out := s.posted(m, "")
	out["text"] = m.Text
	return out, nil
}

// edited applies an update. What is not mentioned stays, but for parse and
// link_names, which fall back to their defaults.
func (s *Server) edited(m Message, d draft, a args) Message {
	if a.has("text") || a.has("markdown_text") {
		m.Text = storeText(d.text)
	}
	if d.blocks != nil || s.cfg.UpdateDropsBlocks {
		m.Blocks = s.ws.complete(d.blocks)
	}
	if d.attachments != nil {
		m.Attachments = dropEmpty(d.attachments)
	}
	if d.hasMetadata {
		m.Metadata = d.metadata
	}
	m.NoUnfurl = m.NoUnfurl || d.noUnfurl
	m.Parse, m.LinkNames = "client", false
	if a.has("parse") {
		m.Parse = a.str("parse")
	}
	if a.has("link_names") {
		m.LinkNames = a.flag("link_names", false)
	}
	if len(m.Blocks) == 0 {
		m.Edited = &Edited{User: m.User, TS: formatTS(s.cfg.Now())}
	}
	return m
}

func dropEmpty(raw json.RawMessage) json.RawMessage {
	if countItems(raw) == 0 {
		return nil
	}
	return raw
}

func (s *Server) chatDelete(c call) (reply, error) {
	ts, err := c.args.need("ts")
	if err != nil {
		return nil, err
	}
	var m Message
	err = s.ws.update(func(ch *change) error {
		m, err = ch.ownMessage(c.args.str("channel"), ts, "cant_delete_message")
		if err != nil {
			return err
		}
		ch.remove(m)
		return nil
	})
	return reply{"channel": m.Channel, "ts": ts}, err
}

// remove marks a message as deleted and tells the app. Of a message with replies a
// tombstone stays, which the app hears of as of an edit.
func (c *change) remove(m Message) {
	gone := m
	gone.Deleted = true
	gone = c.putMessage(gone)
	if !m.IsReply() && c.w.hasReplies(m) {
		c.emitChanged(gone, m)
		return
	}
	c.emitDeleted(m)
}

func (s *Server) chatGetPermalink(c call) (reply, error) {
	var m Message
	err := s.ws.update(func(ch *change) error {
		room, err := ch.room(c.args.str("channel"))
		if err != nil {
			return err
		}
		var ok bool
		if m, ok = ch.w.message(room.ID, c.args.str("message_ts")); !ok || m.Deleted {
			return refuse("message_not_found")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return reply{"channel": m.Channel, "permalink": s.permalink(m)}, nil
}

// permalink opens the message on the page.
func (s *Server) permalink(m Message) string {
	link := s.base + "/archives/" + m.Channel + "/p" + m.TS[:10] + m.TS[11:]
	if m.IsReply() {
		link += "?thread_ts=" + m.ThreadTS + "&cid=" + m.Channel
	}
	return link
}

package localslack

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/localslack/blockkit"
)

func chatMethods() map[string]method {
	return map[string]method{
		"chat.postMessage":   {run: (*Server).chatPostMessage, scope: "chat:write", tier: posting},
		"chat.postEphemeral": {run: (*Server).chatPostEphemeral, scope: "chat:write", tier: tier4},
		"chat.update":        {run: (*Server).chatUpdate, scope: "chat:write", tier: tier3},
		"chat.delete":        {run: (*Server).chatDelete, scope: "chat:write", tier: tier3},
		"chat.getPermalink":  {run: (*Server).chatGetPermalink, tier: special},
	}
}

func (s *Server) chatPostMessage(c call) (reply, error) {
	d, err := s.readDraft(c.args)
	if err != nil {
		return nil, err
	}
	if d.text == "" && countItems(d.blocks) == 0 && countItems(d.attachments) == 0 {
		return nil, refuse("no_text")
	}
	if utf8.RuneCountInString(d.text) > maxPostText {
		d.text, d.warning = cutRunes(d.text, maxPostText), "message_truncated"
	}
	target, err := c.args.need("channel")
	if err != nil {
		return nil, err
	}
	var m Message
	err = s.ws.update(func(ch *change) error {
		room, err := ch.roomForPost(target, c.args.str("thread_ts"))
		if err != nil {
			return err
		}
		m = ch.w.botMessage(room.ID, d)
		m.ThreadTS = c.args.str("thread_ts")
		m.Broadcast = m.ThreadTS != "" && c.args.flag("reply_broadcast", false)
		m.Parse, m.LinkNames = c.args.str("parse"), c.args.flag("link_names", false)
		m = ch.post(m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.inspect(m)
	return s.posted(m, d.warning), nil
}

// botMessage is a new message of the app.
func (w *Workspace) botMessage(channel string, d draft) Message {
	return Message{
		Channel: channel, User: w.app.UserID, BotID: w.app.BotID, AppID: w.app.ID, Text: storeText(d.text),
		Blocks: w.complete(d.blocks), Attachments: d.attachments, Metadata: d.metadata, NoUnfurl: d.noUnfurl,
	}
}

// complete fills in what Slack fills in: block and action ids.
func (w *Workspace) complete(blocks json.RawMessage) json.RawMessage {
	if countItems(blocks) == 0 {
		return nil
	}
	return blockkit.Complete(blocks, func() string { return w.id("b") })
}

// post stores a new message and tells the app.
func (c *change) post(m Message) Message {
	m.TS = c.w.nextTS(m.Channel)
	m = c.putMessage(m)
	c.clearStatus(m)
	c.emitPosted(m)
	return m
}

// clearStatus takes the status line away once the app posts in the thread.
func (c *change) clearStatus(m Message) {
	key := m.Channel + "/" + m.Root()
	if st, ok := c.w.statuses[key]; ok && m.User == c.w.app.UserID && st.Text != "" {
		st.Text = ""
		c.putStatus(st)
	}
}

func (s *Server) posted(m Message, warning string) reply {
	s.ws.mu.Lock()
	defer s.ws.mu.Unlock()
	out := reply{"channel": m.Channel, "ts": m.TS, "message": s.ws.wireMessage(m, true)}
	if warning != "" {
		out["warning"] = warning
	}
	return out
}

// room finds a conversation of the bot by id, #name or person id.
func (c *change) room(target string) (Channel, error) {
	w := c.w
	if p, ok := w.people[target]; ok {
		return c.direct(p.ID), nil
	}
	ch, ok := w.channels[target]
	if !ok {
		ch, ok = w.channelNamed(strings.TrimPrefix(target, "#"))
	}
	switch {
	case !ok, ch.Kind != Public && !ch.Has(w.app.UserID):
		return ch, refuse("channel_not_found")
	case !ch.Has(w.app.UserID):
		return ch, refuse("not_in_channel")
	}
	return ch, nil
}

func (w *Workspace) channelNamed(name string) (Channel, bool) {
	for _, ch := range w.channels {
		if ch.Name == name && name != "" {
			return ch, true
		}
	}
	return Channel{}, false
}

// direct is the conversation of the app with one person, made when missing.
func (c *change) direct(user string) Channel {
	for _, ch := range c.w.channels {
		if ch.Kind == Direct && ch.Has(user) && ch.Has(c.w.app.UserID) {
			return ch
		}
	}
	ch := Channel{ID: c.w.id("D"), Kind: Direct, Members: []string{user, c.w.app.UserID}}
	c.putChannel(ch)
	return ch
}

// roomForPost is room with the checks of posting.
func (c *change) roomForPost(target, thread string) (Channel, error) {
	ch, err := c.room(target)
	switch {
	case err != nil:
		return ch, err
	case ch.Archived:
		return ch, refuse("is_archived")
	case ch.ReadOnly:
		return ch, refuse("restricted_action")
	}
	return ch, c.w.checkThread(ch.ID, thread)
}

var tsPattern = regexp.MustCompile(`^\d{10}\.\d{6}$`)

// checkThread refuses a thread_ts that no reply can hang on.
func (w *Workspace) checkThread(channel, thread string) error {
	if thread == "" {
		return nil
	}
	if !tsPattern.MatchString(thread) {
		return refuse("cannot_reply_to_message")
	}
	root, ok := w.message(channel, thread)
	switch {
	case !ok:
		return refuse("thread_not_found")
	case root.IsReply(), root.EphemeralTo != "":
		return refuse("cannot_reply_to_message")
	case root.Deleted && !w.hasReplies(root):
		return refuse("thread_not_found")
	}
	return nil
}

func (w *Workspace) hasReplies(root Message) bool {
	return slices.ContainsFunc(w.messages[root.Channel], func(m Message) bool {
		return m.IsReply() && m.ThreadTS == root.TS && !m.Deleted
	})
}

func (s *Server) chatPostEphemeral(c call) (reply, error) {
	d, err := s.readDraft(c.args)
	if err != nil {
		return nil, err
	}
	switch {
	case d.text == "" && countItems(d.blocks) == 0 && countItems(d.attachments) == 0:
		return nil, refuse("no_text")
	case utf8.RuneCountInString(d.text) > maxPostText:
		return nil, refuse("msg_too_long")
	}
	user, err := c.args.need("user")
	if err != nil {
		return nil, err
	}
	var m Message
	err = s.ws.update(func(ch *change) error {
		room, err := ch.roomForPost(c.args.str("channel"), c.args.str("thread_ts"))
		if err != nil {
			return err
		}
		if !room.Has(user) {
			return refuse("user_not_in_channel")
		}
		m = ch.w.botMessage(room.ID, d)
		m.ThreadTS, m.EphemeralTo = c.args.str("thread_ts"), user
		m = ch.post(m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.inspect(m)
	return reply{"message_ts": m.TS}, nil
}

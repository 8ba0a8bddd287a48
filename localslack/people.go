package localslack

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// Post is a message that a person sends.
type Post struct {
	User      string
	Channel   string
	Text      string // as typed: "@countersign hello", #channel, `code`
	ThreadTS  string // reply in this thread
	Broadcast bool   // "also send to channel"
	Files     []Upload
	// Raw takes Text as it is stored, sequences included, and makes no block of
	// it: messages of old clients, pasted forms, forged ones.
	Raw bool
	// Blocks replaces the block that Slack makes of the text; unknown types are
	// allowed here.
	Blocks json.RawMessage
}

// Upload is a file that a person attaches.
type Upload struct {
	Name    string
	Content []byte
}

// Say posts as a person. Bots other than the app may speak too; their messages
// carry a bot_id.
func (s *Server) Say(_ context.Context, p Post) (Message, error) {
	var m Message
	err := s.ws.update(func(c *change) error {
		who, err := c.speaker(p)
		if err != nil {
			return err
		}
		m = Message{
			Channel: p.Channel, User: p.User, Text: p.Text, Blocks: p.Blocks, ThreadTS: p.ThreadTS, Broadcast: p.Broadcast && p.ThreadTS != "",
		}
		if !p.Raw {
			typed := writeAsPerson(p.Text, c.w.names())
			m.Text = typed.text
			if p.Blocks == nil {
				m.Blocks = c.w.richText(typed)
			}
		}
		if who.IsBot {
			m.BotID, m.AppID = who.BotID, who.AppID
		} else {
			m.ClientMsgID = newUUID()
		}
		if m.Files = c.attach(p); len(m.Files) > 0 {
			m.Subtype = "file_share"
		}
		m = c.post(m)
		return nil
	})
	return m, err
}

func (c *change) speaker(p Post) (Person, error) {
	who, ok := c.w.people[p.User]
	ch, found := c.w.channels[p.Channel]
	switch {
	case !ok, who.Deleted:
		return who, refuse("user_not_found")
	case !found:
		return who, refuse("channel_not_found")
	case !ch.Has(p.User):
		return who, refuse("not_in_channel")
	case ch.Archived:
		return who, refuse("is_archived")
	case strings.TrimSpace(p.Text) == "" && len(p.Files) == 0:
		return who, refuse("no_text")
	}
	return who, c.w.checkThread(p.Channel, p.ThreadTS)
}

// attach stores the files of a post.
func (c *change) attach(p Post) []string {
	var ids []string
	for _, u := range p.Files {
		f := File{
			ID: c.w.id("F"), Name: u.Name, Title: u.Name, User: p.User, Mimetype: mimetype(u.Name), Content: u.Content,
			Created: c.w.now(), Channels: []string{p.Channel},
		}
		c.putFile(f)
		ids = append(ids, f.ID)
	}
	return ids
}

func (w *Workspace) names() names {
	return names{
		people:   sortedBy(w.people, func(p Person) string { return p.ID }),
		groups:   sortedBy(w.usergroups, func(g Usergroup) string { return g.ID }),
		channels: sortedBy(w.channels, func(c Channel) string { return c.ID }),
	}
}

// richText is the one block of a person's message.
func (w *Workspace) richText(t typedText) []byte {
	if len(t.blocks) == 0 {
		return nil
	}
	return marshal([]any{object{"type": "rich_text", "block_id": w.id("b"), "elements": t.blocks}})
}

// EditMessage changes the text of a person's own message.
func (s *Server) EditMessage(_ context.Context, user, channel, ts, text string) (Message, error) {
	var m Message
	err := s.ws.update(func(c *change) error {
		before, err := c.personal(user, channel, ts, "cant_update_message")
		if err != nil {
			return err
		}
		typed := writeAsPerson(text, c.w.names())
		m = before
		m.Text, m.Blocks = typed.text, c.w.richText(typed)
		m.Edited = &Edited{User: user, TS: formatTS(c.w.now())}
		m = c.putMessage(m)
		c.emitChanged(m, before)
		return nil
	})
	return m, err
}

// Unfurl plays the preview that Slack adds to a message with a link: an edit
// that changes no text.
func (s *Server) Unfurl(_ context.Context, channel, ts, title string) error {
	return s.ws.update(func(c *change) error {
		before, ok := c.w.message(channel, ts)
		if !ok || before.Deleted {
			return refuse("message_not_found")
		}
		m := before
		m.Attachments = marshal([]any{object{"id": 1, "title": title, "fallback": title}})
		c.emitChanged(c.putMessage(m), before)
		return nil
	})
}

// DeleteMessage removes a person's own message; an administrator may remove
// any message, the app's too: an empty user.
func (s *Server) DeleteMessage(_ context.Context, user, channel, ts string) error {
	return s.ws.update(func(c *change) error {
		m, err := c.personal(user, channel, ts, "cant_delete_message")
		if err != nil {
			return err
		}
		c.remove(m)
		return nil
	})
}

func (c *change) personal(user, channel, ts, refusal string) (Message, error) {
	m, ok := c.w.message(channel, ts)
	switch {
	case !ok, m.Deleted:
		return m, refuse("message_not_found")
	case user != "" && m.User != user:
		return m, refuse(refusal)
	}
	return m, nil
}

// React adds a person's emoji.
func (s *Server) React(_ context.Context, user, channel, ts, name string) error {
	return s.ws.update(func(c *change) error {
		return c.react(reacting{user: user, channel: channel, ts: ts, name: name, add: true})
	})
}

// Unreact takes it back.
func (s *Server) Unreact(_ context.Context, user, channel, ts, name string) error {
	return s.ws.update(func(c *change) error {
		return c.react(reacting{user: user, channel: channel, ts: ts, name: name})
	})
}

// OpenDirect gives the conversation of a person with the bot.
func (s *Server) OpenDirect(_ context.Context, user string) (Channel, error) {
	var ch Channel
	err := s.ws.update(func(c *change) error {
		if _, ok := c.w.people[user]; !ok {
			return refuse("user_not_found")
		}
		ch = c.direct(user)
		return nil
	})
	return ch, err
}

// OpenHome shows the app's Home tab to a person.
func (s *Server) OpenHome(_ context.Context, user string) error {
	return s.ws.update(func(c *change) error {
		if _, ok := c.w.people[user]; !ok {
			return refuse("user_not_found")
		}
		e := Event{
			"type": "app_home_opened", "user": user, "channel": c.direct(user).ID, "tab": "home", "event_ts": formatTS(c.w.now()),
		}
		if v, ok := c.w.homes[user]; ok {
			e["view"] = c.w.wireView(v, nil)
		}
		c.emit(e)
		return nil
	})
}

// Join lets a person into a channel; inviting the bot is joining as the bot.
func (s *Server) Join(_ context.Context, user, channel string) error {
	return s.join(user, channel, "")
}

// Invite is Join on behalf of a member.
func (s *Server) Invite(_ context.Context, by, user, channel string) error {
	return s.join(user, channel, by)
}

func (s *Server) join(user, channel, inviter string) error {
	return s.ws.update(func(c *change) error {
		ch, ok := c.w.channels[channel]
		if !ok {
			return refuse("channel_not_found")
		}
		if ch.Has(user) {
			return nil
		}
		ch.Members = append(slices.Clone(ch.Members), user)
		c.putChannel(ch)
		c.emitMembership("member_joined_channel", ch, user, inviter)
		return nil
	})
}

// Leave takes a person, or the bot, out of a channel.
func (s *Server) Leave(_ context.Context, user, channel string) error {
	return s.ws.update(func(c *change) error {
		ch, ok := c.w.channels[channel]
		if !ok || !ch.Has(user) {
			return refuse("not_in_channel")
		}
		ch.Members = slices.DeleteFunc(slices.Clone(ch.Members), func(u string) bool { return u == user })
		c.putChannel(ch)
		c.emitMembership("member_left_channel", ch, user, user)
		return nil
	})
}

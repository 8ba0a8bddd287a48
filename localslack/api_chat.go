package localslack

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/localslack/blockkit"
)

// Slack's limits on messages, in characters unless said.
const (
	maxPostText     = 40_000 // longer texts are cut, with a warning
	maxUpdateText   = 4_000
	maxMarkdownText = 12_000
	maxAttachments  = 100
	maxMetadata     = 4_096 // bytes; Slack has a limit but publishes none
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

// draft is the content of a message in a call, checked.
type draft struct {
	text        string
	blocks      json.RawMessage // nil: not given; [] given and empty
	attachments json.RawMessage
	metadata    *Metadata
	hasMetadata bool
	noUnfurl    bool
	warning     string
}

// readDraft reads and checks text, blocks, attachments and metadata.
func (s *Server) readDraft(a args) (d draft, err error) {
	d.text = a.str("text")
	if md := a.str("markdown_text"); md != "" {
		if d.text != "" || a.has("blocks") {
			return d, refuse("markdown_text_conflict")
		}
		if utf8.RuneCountInString(md) > maxMarkdownText {
			return d, refuse("msg_too_long")
		}
		d.text = md
		a["blocks"], _ = json.Marshal([]any{object{"type": "markdown", "text": md}})
	}
	if d.blocks, err = a.object("blocks"); err != nil {
		return d, refuse("invalid_blocks_format")
	}
	if err := s.checkBlocks(d.blocks, blockkit.Message); err != nil {
		return d, err
	}
	if d.attachments, err = a.object("attachments"); err != nil {
		return d, err
	}
	if n := countItems(d.attachments); n > maxAttachments {
		return d, refuse("too_many_attachments")
	}
	d.noUnfurl = a.has("unfurl_links") && !a.flag("unfurl_links", true) && a.has("unfurl_media") && !a.flag("unfurl_media", true)
	d.hasMetadata = a.has("metadata")
	d.metadata, err = readMetadata(a)
	return d, err
}

// checkBlocks refuses blocks that Slack would refuse.
func (s *Server) checkBlocks(raw json.RawMessage, where blockkit.Surface) error {
	problem := blockkit.Check(raw, where)
	if problem == nil {
		return nil
	}
	s.violate(ViolationBlocks, problem.Code)
	return refuse(problem.Code, problem.Messages...)
}

func countItems(raw json.RawMessage) int {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return 0
	}
	return len(items)
}

// readMetadata returns nil for missing and for empty metadata.
func readMetadata(a args) (*Metadata, error) {
	raw, err := a.object("metadata")
	if err != nil {
		return nil, refuse("invalid_metadata_format")
	}
	if raw == nil || string(raw) == "{}" {
		return nil, nil
	}
	if len(raw) > maxMetadata {
		return nil, refuse("metadata_too_large")
	}
	var m Metadata
	if json.Unmarshal(raw, &m) != nil || m.EventType == "" || !flatEnough(m.EventPayload) {
		return nil, refuse("invalid_metadata_schema")
	}
	return &m, nil
}

// flatEnough accepts plain values and one level of objects or arrays.
func flatEnough(payload json.RawMessage) bool {
	var top map[string]any
	if json.Unmarshal(payload, &top) != nil {
		return false
	}
	for _, v := range top {
		if depth(v) > 2 {
			return false
		}
	}
	return true
}

func depth(v any) int {
	deepest := 0
	switch x := v.(type) {
	case map[string]any:
		for _, y := range x {
			deepest = max(deepest, depth(y))
		}
		return deepest + 1
	case []any:
		for _, y := range x {
			deepest = max(deepest, depth(y))
		}
		if _, ofObjects := first(x).(map[string]any); ofObjects {
			return deepest // an array of objects counts as one level
		}
		return deepest + 1
	}
	return 0
}

func first(x []any) any {
	if len(x) == 0 {
		return nil
	}
	return x[0]
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

// inspect looks at what the app posted for things that no careful app posts.
func (s *Server) inspect(m Message) {
	if m.Text == "" && len(m.Blocks) > 0 {
		s.violate(ViolationNoText, m.Channel+" "+m.TS)
	}
	for _, seq := range Active(m) {
		switch {
		case seq == "!here", seq == "!channel", seq == "!everyone", strings.HasPrefix(seq, "!subteam^"):
			s.violate(ViolationBroadcast, seq)
		case strings.HasPrefix(seq, "http") && !m.NoUnfurl:
			s.violate(ViolationUnfurl, m.Channel+" "+m.TS)
		}
	}
}

// Active lists what Slack interprets in a message, in its text and its blocks:
// "@U1", "#C1", "!here", "!subteam^S1", "!date^…", "https://…". What is only
// shown, escaped or in plain text, is not among it.
func Active(m Message) []string {
	return slices.Concat(
		sequences(m.Text), sequences(strings.Join(blockkit.Interpreted(m.Blocks), "\n")), blockkit.Mentions(m.Blocks))
}

func cutRunes(s string, n int) string {
	runes := []rune(s)
	return string(runes[:min(n, len(runes))])
}

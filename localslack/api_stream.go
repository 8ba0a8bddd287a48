package localslack

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"countersign/localslack/blockkit"
)

// The states of a streamed message.
const (
	streamLive = "in_progress"
	streamDone = "completed"
)

func streamMethods() map[string]method {
	return map[string]method{
		"chat.startStream":  {run: (*Server).chatStartStream, scope: "chat:write", tier: tier2},
		"chat.appendStream": {run: (*Server).chatAppendStream, scope: "chat:write", tier: tier4},
		"chat.stopStream":   {run: (*Server).chatStopStream, scope: "chat:write", tier: tier2},
	}
}

// chunk is one piece of a stream.
type chunk struct {
	Type   string          `json:"type"` // markdown_text, task_update, plan_update, blocks
	Text   string          `json:"text"`
	ID     string          `json:"id"`
	Title  string          `json:"title"`
	Status string          `json:"status"`
	Blocks json.RawMessage `json:"blocks"`
}

// streamChunks reads markdown_text or chunks, not both.
func streamChunks(a args) ([]chunk, error) {
	md := a.str("markdown_text")
	raw, err := a.object("chunks")
	switch {
	case err != nil:
		return nil, refuse("invalid_chunks_format")
	case md != "" && raw != nil:
		return nil, refuse("markdown_text_conflict")
	case utf8.RuneCountInString(md) > maxMarkdownText:
		return nil, refuse("msg_too_long")
	case md != "":
		return []chunk{{Type: "markdown_text", Text: md}}, nil
	case raw == nil:
		return nil, nil
	}
	var chunks []chunk
	if json.Unmarshal(raw, &chunks) != nil {
		return nil, refuse("invalid_chunks")
	}
	for _, c := range chunks {
		if c.Type == "task_update" && (c.ID == "" || c.Title == "" || c.Status == "") {
			return nil, refuse("invalid_chunks")
		}
	}
	return chunks, nil
}

func (s *Server) chatStartStream(c call) (reply, error) {
	if c.args.has("blocks") {
		return nil, refuse("invalid_arguments", "[ERROR] blocks are allowed in chat.stopStream only")
	}
	chunks, err := streamChunks(c.args)
	if err != nil {
		return nil, err
	}
	var m Message
	err = s.ws.update(func(ch *change) error {
		room, err := ch.roomForPost(c.args.str("channel"), c.args.str("thread_ts"))
		switch {
		case err != nil:
			return err
		case c.args.str("thread_ts") == "":
			return refuse("invalid_thread_ts")
		case room.Kind != Direct && c.args.str("recipient_user_id") == "":
			return refuse("missing_recipient_user_id")
		case room.Kind != Direct && c.args.str("recipient_team_id") == "":
			return refuse("missing_recipient_team_id")
		}
		m = ch.w.botMessage(room.ID, draft{noUnfurl: true})
		m.ThreadTS, m.Streaming, m.Subtype = c.args.str("thread_ts"), streamLive, "bot_message"
		m = ch.post(appended(m, chunks, true))
		return nil
	})
	return reply{"channel": m.Channel, "ts": m.TS}, err
}

// appended adds chunks to a message. Tasks that come with the start are lost,
// as they are at Slack.
func appended(m Message, chunks []chunk, start bool) Message {
	var tasks []any
	for _, c := range chunks {
		switch c.Type {
		case "markdown_text":
			m.Text += storeText(c.Text)
		case "task_update":
			if !start {
				tasks = append(tasks, object{"type": "task_card", "task_id": c.ID, "title": c.Title, "status": c.Status})
			}
		}
	}
	if len(tasks) > 0 {
		m.Blocks = mergeTasks(m.Blocks, tasks)
	}
	return m
}

// mergeTasks replaces the tasks that have a new state and appends new ones.
func mergeTasks(old json.RawMessage, tasks []any) json.RawMessage {
	var all []any
	_ = json.Unmarshal(old, &all) // our own blocks; none at first
	for _, t := range tasks {
		id := taskID(t)
		replaced := false
		for i := range all {
			if taskID(all[i]) == id {
				all[i], replaced = t, true
			}
		}
		if !replaced {
			all = append(all, t)
		}
	}
	raw, _ := json.Marshal(all) // plain maps always marshal
	return raw
}

func taskID(v any) any {
	m, _ := v.(map[string]any)
	return m["task_id"]
}

// liveStream finds the message that is being streamed.
func (c *change) liveStream(a args, life time.Duration) (Message, error) {
	room, err := c.room(a.str("channel"))
	if err != nil {
		return Message{}, err
	}
	m, ok := c.w.message(room.ID, a.str("ts"))
	switch {
	case !ok, m.Deleted:
		return m, refuse("message_not_found")
	case m.User != c.w.app.UserID:
		return m, refuse("message_not_owned_by_app")
	case m.Streaming != streamLive, formatTS(c.w.now().Add(-life)) > m.TS:
		return m, refuse("message_not_in_streaming_state")
	}
	return m, nil
}

func (s *Server) chatAppendStream(c call) (reply, error) {
	chunks, err := streamChunks(c.args)
	switch {
	case err != nil:
		return nil, err
	case len(chunks) == 0:
		return nil, refuse("no_text")
	}
	var m Message
	err = s.ws.update(func(ch *change) error {
		old, err := ch.liveStream(c.args, s.cfg.Timing.Stream)
		if err != nil {
			return err
		}
		m = ch.putMessage(appended(old, chunks, false))
		return nil
	})
	return reply{"channel": m.Channel, "ts": m.TS}, err
}

func (s *Server) chatStopStream(c call) (reply, error) {
	chunks, err := streamChunks(c.args)
	if err != nil {
		return nil, err
	}
	blocks, err := c.args.object("blocks")
	if err != nil {
		return nil, refuse("invalid_blocks_format")
	}
	if err := s.checkBlocks(blocks, blockkit.Message); err != nil {
		return nil, err
	}
	meta, err := readMetadata(c.args)
	if err != nil {
		return nil, err
	}
	var m Message
	err = s.ws.update(func(ch *change) error {
		old, err := ch.liveStream(c.args, s.cfg.Timing.Stream)
		if err != nil {
			return err
		}
		m = appended(old, chunks, false)
		m.Streaming, m.Metadata = streamDone, meta
		if blocks != nil {
			m.Blocks = ch.w.complete(blocks)
		}
		m = ch.putMessage(m)
		ch.emitChanged(m, old)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.posted(m, ""), nil
}

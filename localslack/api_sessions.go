package localslack

import (
	"slices"
	"time"
	"unicode/utf8"
)

func sessionMethods() map[string]method {
	return map[string]method{
		"assistant.threads.setStatus": {run: (*Server).threadsSetStatus, scope: "chat:write", tier: special},
		"agents.sessions.setStatus":   {run: (*Server).sessionsSetStatus, scope: "chat:write", tier: tier3},
		"agents.sessions.rename":      {run: (*Server).sessionsRename, scope: "chat:write", tier: tier3},
		// the rest of the agent view is only shown in the agent's own tab, which is not played
		"assistant.threads.setTitle":            {run: (*Server).agentOnly, scope: "assistant:write", tier: tier4},
		"assistant.threads.setSuggestedPrompts": {run: (*Server).agentOnly, scope: "assistant:write", tier: tier4},
	}
}

func (s *Server) threadsSetStatus(c call) (reply, error) {
	messages := c.args.list("loading_messages")
	if len(messages) > 10 || slices.ContainsFunc(messages, func(m string) bool { return utf8.RuneCountInString(m) > 50 }) {
		return nil, refuse("invalid_arguments", "[ERROR] loading_messages: at most 10 of 50 characters")
	}
	thread, err := c.args.need("thread_ts")
	if err != nil {
		return nil, err
	}
	return reply{}, s.ws.update(func(ch *change) error {
		room, err := ch.roomForPost(c.args.str("channel_id"), thread)
		if err != nil {
			return err
		}
		ch.putStatus(Status{
			Channel: room.ID, ThreadTS: thread, Text: c.args.str("status"), Until: s.cfg.Now().Add(s.cfg.Timing.Status),
		})
		return nil
	})
}

// sessionTexts are how a session's state reads in the thread.
var sessionTexts = map[string]string{"active": "", "processing": "is working…", "suspended": "is waiting for input", "closed": ""}

func (s *Server) sessionsSetStatus(c call) (reply, error) {
	state := c.args.str("status")
	text, known := sessionTexts[state]
	thread := c.args.str("thread_ts")
	switch {
	case !s.cfg.App.IsAgent:
		return nil, refuse("feature_disabled")
	case !known:
		return nil, refuse("invalid_status")
	case thread == "":
		return nil, refuse("thread_ts_required")
	}
	return reply{}, s.ws.update(func(ch *change) error {
		room, err := ch.roomForPost(c.args.str("channel_id"), thread)
		if err != nil {
			return err
		}
		ch.putStatus(Status{Channel: room.ID, ThreadTS: thread, Text: text, State: state, Until: s.cfg.Now().Add(time.Hour)})
		return nil
	})
}

func (s *Server) sessionsRename(c call) (reply, error) {
	title := c.args.str("title")
	switch n := utf8.RuneCountInString(title); {
	case !s.cfg.App.IsAgent:
		return nil, refuse("feature_disabled")
	case c.args.str("thread_ts") == "":
		return nil, refuse("thread_ts_required")
	case n < 1 || n > 200:
		return nil, refuse("invalid_arguments", "[ERROR] title: 1 to 200 characters")
	}
	return reply{}, s.ws.update(func(ch *change) error {
		_, err := ch.roomForPost(c.args.str("channel"), c.args.str("thread_ts"))
		return err
	})
}

func (s *Server) agentOnly(call) (reply, error) {
	if !s.cfg.App.IsAgent {
		return nil, refuse("not_agent_app")
	}
	return reply{}, nil
}

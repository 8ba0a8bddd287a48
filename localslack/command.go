package localslack

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
)

// SlashCommand is a command typed into the composer.
type SlashCommand struct {
	User    string
	Channel string
	Command string // with its slash
	Text    string
}

// Slash sends a command and shows what the app answers in its ack.
func (s *Server) Slash(ctx context.Context, cmd SlashCommand) (Outcome, error) {
	if !slices.Contains(s.cfg.App.Commands, cmd.Command) {
		return Outcome{}, refuse("no_such_command")
	}
	ch, ok := s.ws.Channel(cmd.Channel)
	if !ok || !ch.Has(cmd.User) {
		return Outcome{}, refuse("not_in_channel")
	}
	p, _ := s.ws.Person(cmd.User)
	team := s.ws.Team()
	url := s.newResponseURL(responseURL{user: cmd.User, channel: ch.ID})
	payload := marshal(object{
		"token": "legacy", "team_id": team.ID, "team_domain": team.Domain, "channel_id": ch.ID, "channel_name": ch.Name, "user_id": p.ID,
		"user_name": p.Name, "command": cmd.Command, "text": cmd.Text, "api_app_id": s.ws.App().ID, "response_url": url,
		"trigger_id": s.newTrigger(cmd.User), "is_enterprise_install": "false",
	})
	res, err := s.interact(ctx, envelope{kind: "slash_commands", inner: cmd.Command, payload: payload, accepts: true})
	switch {
	case err != nil:
		return Outcome{}, err
	case !res.acked:
		return s.sorry(cmd.User, cmd.Command+" failed with the error “operation_timeout”"), nil
	case res.payload == nil:
		return Outcome{Acked: true}, nil
	}
	return Outcome{Acked: true, Reply: res.payload}, s.respond(responseURL{user: cmd.User, channel: ch.ID}, ackMessage(res.payload))
}

// ackMessage reads a message in an ack: an object, or just a text.
func ackMessage(raw json.RawMessage) args {
	a := args{}
	if json.Unmarshal(raw, &a) == nil {
		return a
	}
	a = args{}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		a.setString("text", text)
	}
	return a
}

// Shortcut is a press on an app shortcut; with a message it is a message
// shortcut.
type Shortcut struct {
	User       string
	CallbackID string
	Channel    string
	TS         string
}

// Shortcut sends a global or message shortcut.
func (s *Server) Shortcut(ctx context.Context, sc Shortcut) (Outcome, error) {
	var payload object
	inner := "shortcut"
	err := s.ws.update(func(c *change) error {
		if sc.TS != "" {
			inner = "message_action"
		}
		payload = c.w.payload(inner, sc.User)
		maps.Copy(payload, object{"callback_id": sc.CallbackID, "trigger_id": s.newTrigger(sc.User), "action_ts": formatTS(c.w.now())})
		if sc.TS == "" {
			return nil
		}
		m, ok := c.w.message(sc.Channel, sc.TS)
		if !ok || !m.VisibleTo(sc.User) {
			return refuse("message_not_found")
		}
		maps.Copy(payload, object{
			"message_ts": m.TS, "message": c.w.wireMessage(m, true), "channel": object{"id": m.Channel, "name": c.w.channels[m.Channel].Name},
			"response_url": s.newResponseURL(responseURL{user: sc.User, channel: m.Channel, ts: m.TS}),
		})
		return nil
	})
	if err != nil {
		return Outcome{}, err
	}
	res, err := s.interact(ctx, envelope{kind: "interactive", inner: inner, payload: marshal(payload)})
	if err != nil || res.acked {
		return Outcome{Acked: res.acked}, err
	}
	return s.sorry(sc.User, s.ws.App().Name+" "+noticeNoAnswer), nil
}

// Suggest asks the app for the options of an external select.
func (s *Server) Suggest(ctx context.Context, c Click, typed string) (json.RawMessage, error) {
	var payload object
	err := s.ws.update(func(ch *change) error {
		v, ok := ch.w.shown(c.User, c.ViewID)
		if !ok {
			return refuse("not_found")
		}
		found, err := findElement(v.Blocks, c)
		if err != nil {
			return err
		}
		payload = ch.w.payload("block_suggestion", c.User)
		maps.Copy(payload, object{
			"action_id": found.ActionID, "block_id": found.BlockID, "value": typed, "view": ch.w.wireView(v, nil),
			"container": object{"type": "view", "view_id": v.ID},
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	res, err := s.interact(ctx, envelope{kind: "interactive", inner: "block_suggestion", payload: marshal(payload), accepts: true})
	return res.payload, err
}

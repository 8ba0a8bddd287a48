package localslack

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"countersign/localslack/blockkit"
)

// values is what inputs hold: block id, action id, the element's state object.
type values = map[string]map[string]json.RawMessage

// Click is a press on an interactive element of a message, a modal or a Home
// tab.
type Click struct {
	User     string
	Channel  string // messages
	TS       string // messages
	ViewID   string // modals and Home tabs
	BlockID  string // may stay empty when the action id is unique
	ActionID string
	// Selected is the result of a select, picker or checkbox, as it stands in
	// the action: {"selected_option": {…}}. Buttons need none.
	Selected json.RawMessage
	// State is what the inputs of the surface hold at that moment.
	State values
	// Forge changes the payload before it is sent: what a hostile sender could
	// try. Tests only.
	Forge func(payload map[string]any)
}

// Outcome is what the person sees of an interaction.
type Outcome struct {
	Acked  bool
	Errors map[string]string // modal submissions: text at the block id
	Notice string            // Slack's own sentence when something went wrong
	Reply  json.RawMessage   // what the app put into its ack, if anything
}

// What Slack tells people when the app does not answer in time.
const (
	noticeNoAnswer = "did not respond. Please try again."
	noticeTrouble  = "We had some trouble connecting. Try again?"
)

// Click sends block_actions and waits for the ack.
func (s *Server) Click(ctx context.Context, c Click) (Outcome, error) {
	var payload object
	err := s.ws.update(func(ch *change) error {
		var err error
		if c.ViewID != "" {
			payload, err = s.viewAction(ch.w, c)
		} else {
			payload, err = s.messageAction(ch.w, c)
		}
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	if c.Forge != nil {
		c.Forge(payload)
	}
	res, err := s.interact(ctx, envelope{kind: "interactive", inner: "block_actions", payload: marshal(payload), accepts: true})
	if err != nil || res.acked {
		return Outcome{Acked: res.acked, Reply: res.payload}, err
	}
	return s.sorry(c.User, s.ws.App().Name+" "+noticeNoAnswer), nil
}

// sorry tells a person that something went wrong.
func (s *Server) sorry(user, text string) Outcome {
	_ = s.ws.update(func(c *change) error { // a notice is not saved, nothing can fail
		c.notice(user, text)
		return nil
	})
	return Outcome{Notice: text}
}

// interact sends an envelope that is never retried and waits for its ack or
// the end of its clock.
func (s *Server) interact(ctx context.Context, env envelope) (ackResult, error) {
	result := make(chan ackResult, 8) // room for the acks of duplicates
	env.done = func(r ackResult) {
		select {
		case result <- r:
		default:
		}
	}
	s.socket.send(env)
	select {
	case r := <-result:
		return r, nil
	case <-ctx.Done():
		return ackResult{}, ctx.Err()
	case <-s.done:
		return ackResult{}, context.Canceled
	}
}

// person is the user object of a payload.
func (w *Workspace) person(id string) object {
	p := w.people[id]
	return object{"id": p.ID, "username": p.Name, "name": p.Name, "team_id": p.TeamID}
}

// payload is what all interactions have in common.
func (w *Workspace) payload(kind, user string) object {
	return object{
		"type": kind, "team": object{"id": w.team.ID, "domain": w.team.Domain}, "user": w.person(user), "api_app_id": w.app.ID,
		"token": "legacy", "enterprise": nil, "is_enterprise_install": false, "future_field": object{"nested": []any{1, nil}},
	}
}

func (s *Server) messageAction(w *Workspace, c Click) (object, error) {
	m, ok := w.message(c.Channel, c.TS)
	ch := w.channels[c.Channel]
	switch {
	case !ok, !m.VisibleTo(c.User):
		return nil, refuse("message_not_found")
	case !ch.Has(c.User):
		return nil, refuse("not_in_channel")
	}
	found, err := findElement(m.Blocks, c)
	if err != nil {
		return nil, err
	}
	container := object{"type": "message", "message_ts": m.TS, "channel_id": m.Channel, "is_ephemeral": m.EphemeralTo != ""}
	if m.IsReply() {
		container["thread_ts"] = m.ThreadTS
	}
	name := ch.Name
	if ch.Kind == Direct {
		name = "directmessage"
	}
	p := w.payload("block_actions", c.User)
	maps.Copy(p, object{
		"container": container, "channel": object{"id": m.Channel, "name": name}, "trigger_id": s.newTrigger(c.User),
		"response_url": s.newResponseURL(responseURL{user: c.User, channel: m.Channel, ts: m.TS, thread: m.ThreadTS, ephemeral: m.EphemeralTo != ""}),
		"actions":      []object{w.action(found, c)},
		"state":        object{"values": stateOf(m.Blocks, c.State)},
	})
	if m.EphemeralTo == "" {
		p["message"] = w.wireMessage(m, true)
	}
	return p, nil
}

func (s *Server) viewAction(w *Workspace, c Click) (object, error) {
	v, ok := w.shown(c.User, c.ViewID)
	if !ok {
		return nil, refuse("not_found")
	}
	found, err := findElement(v.Blocks, c)
	if err != nil {
		return nil, err
	}
	p := w.payload("block_actions", c.User)
	maps.Copy(p, object{
		"container": object{"type": "view", "view_id": v.ID}, "trigger_id": s.newTrigger(c.User),
		"view": w.wireView(v, stateOf(v.Blocks, c.State)), "actions": []object{w.action(found, c)},
	})
	return p, nil
}

// shown finds a view on a person's screen: a modal of their stack or their
// Home tab.
func (w *Workspace) shown(user, id string) (View, bool) {
	if h, ok := w.homes[user]; ok && h.ID == id {
		return h, true
	}
	stack := w.views[user]
	i := slices.IndexFunc(stack, func(v View) bool { return v.ID == id })
	if i < 0 {
		return View{}, false
	}
	return stack[i], true
}

func findElement(blocks json.RawMessage, c Click) (blockkit.Found, error) {
	for _, f := range blockkit.Elements(blocks) {
		if f.ActionID == c.ActionID && (c.BlockID == "" || c.BlockID == f.BlockID) {
			return f, nil
		}
	}
	return blockkit.Found{}, refuse("no_such_element", c.BlockID+" "+c.ActionID)
}

// action is the entry of "actions" for one press.
func (w *Workspace) action(f blockkit.Found, c Click) object {
	a := object{"type": f.Type, "action_id": f.ActionID, "block_id": f.BlockID, "action_ts": formatTS(w.now())}
	for _, key := range []string{"value", "text", "style", "confirm", "placeholder", "icon"} {
		if v, ok := f.Element[key]; ok {
			a[key] = v
		}
	}
	if len(c.Selected) > 0 {
		var chosen object
		if json.Unmarshal(c.Selected, &chosen) == nil {
			maps.Copy(a, chosen)
		}
	}
	return a
}

// stateOf is what all inputs hold: what was typed, else what they were given.
func stateOf(blocks json.RawMessage, typed values) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, f := range blockkit.Elements(blocks) {
		initial := f.State()
		if initial == nil {
			continue
		}
		if out[f.BlockID] == nil {
			out[f.BlockID] = map[string]any{}
		}
		out[f.BlockID][f.ActionID] = initial
		if raw, ok := typed[f.BlockID][f.ActionID]; ok {
			out[f.BlockID][f.ActionID] = raw
		}
	}
	return out
}

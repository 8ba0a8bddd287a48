package localslack

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"countersign/localslack/blockkit"
)

// maxStack is how many modals may lie on each other.
const maxStack = 3

func viewMethods() map[string]method {
	return map[string]method{
		"views.open":    {run: (*Server).viewsOpen, tier: tier4},
		"views.push":    {run: (*Server).viewsPush, tier: tier4},
		"views.update":  {run: (*Server).viewsUpdate, tier: tier4},
		"views.publish": {run: (*Server).viewsPublish, tier: tier4},
	}
}

// sentView is the view argument of a call or of an ack.
type sentView struct {
	Type            string          `json:"type"`
	CallbackID      string          `json:"callback_id"`
	ExternalID      string          `json:"external_id"`
	PrivateMetadata string          `json:"private_metadata"`
	Title           json.RawMessage `json:"title"`
	Submit          json.RawMessage `json:"submit"`
	Close           json.RawMessage `json:"close"`
	Blocks          json.RawMessage `json:"blocks"`
	ClearOnClose    bool            `json:"clear_on_close"`
	NotifyOnClose   bool            `json:"notify_on_close"`
}

// readView checks a view and gives it as it will be stored, without ids.
func (s *Server) readView(raw json.RawMessage, where blockkit.Surface) (View, error) {
	if raw == nil {
		return View{}, missingField("view")
	}
	if p := blockkit.CheckView(raw, where); p != nil {
		s.violate(ViolationBlocks, p.Code)
		return View{}, refuse(p.Code, p.Messages...)
	}
	var v sentView
	if err := json.Unmarshal(raw, &v); err != nil {
		return View{}, refuse("invalid_arguments", "[ERROR] view does not parse")
	}
	return View{
		Type: v.Type, CallbackID: v.CallbackID, ExternalID: v.ExternalID, PrivateMetadata: v.PrivateMetadata, Title: v.Title,
		Submit: v.Submit, Close: v.Close, Blocks: v.Blocks, ClearOnClose: v.ClearOnClose, NotifyOnClose: v.NotifyOnClose,
	}, nil
}

// argView is readView for the "view" argument.
func (s *Server) argView(a args, where blockkit.Surface) (View, error) {
	raw, err := a.object("view")
	if err != nil {
		return View{}, err
	}
	return s.readView(raw, where)
}

// place gives a view its id, hash and block ids.
func (w *Workspace) place(v View, user string) View {
	v.ID, v.User = w.id("V"), user
	v.RootID = v.ID
	return w.stamped(v)
}

// stamped fills in the block ids and makes the hash anew.
func (w *Workspace) stamped(v View) View {
	v.Blocks = blockkit.Complete(v.Blocks, func() string { return w.id("b") })
	h := fnv.New64a()
	h.Write(v.Blocks)
	w.seq++
	v.Hash = fmt.Sprintf("%d.%x%d", w.now().Unix(), h.Sum64(), w.seq)
	return v
}

func (s *Server) viewsOpen(c call) (reply, error) {
	return s.openView(c, func(_ []View, v View) ([]View, error) { return []View{v}, nil })
}

func (s *Server) viewsPush(c call) (reply, error) {
	return s.openView(c, pushOn)
}

// pushOn puts a view on a stack.
func pushOn(stack []View, v View) ([]View, error) {
	if len(stack) == 0 {
		return nil, refuse("not_found")
	}
	if len(stack) >= maxStack {
		return nil, refuse("push_limit_reached")
	}
	v.RootID, v.PreviousID = stack[0].ID, stack[len(stack)-1].ID
	return append(slices.Clone(stack), v), nil
}

func (s *Server) openView(c call, arrange func([]View, View) ([]View, error)) (reply, error) {
	trigger := c.args.str("trigger_id")
	if trigger == "" {
		trigger = c.args.str("interactivity_pointer")
	}
	if trigger == "" {
		return nil, missingField("trigger_id")
	}
	v, err := s.argView(c.args, blockkit.Modal)
	if err != nil {
		return nil, err
	}
	user, err := s.spendTrigger(trigger)
	if err != nil {
		return nil, err
	}
	return s.storeView(func(ch *change) (View, error) {
		if ch.w.externalTaken(v.ExternalID, "") {
			return v, refuse("duplicate_external_id")
		}
		placed := ch.w.place(v, user)
		stack, err := arrange(ch.w.views[user], placed)
		if err != nil {
			return v, err
		}
		ch.putViews(user, stack)
		return stack[len(stack)-1], nil
	})
}

// storeView runs a commit that ends in one view and answers with it.
func (s *Server) storeView(fn func(*change) (View, error)) (reply, error) {
	var out reply
	err := s.ws.update(func(ch *change) error {
		v, err := fn(ch)
		if err == nil {
			out = reply{"view": ch.w.wireView(v, nil)}
		}
		return err
	})
	return out, err
}

func (w *Workspace) externalTaken(id, except string) bool {
	if id == "" {
		return false
	}
	for _, stack := range w.views {
		if slices.ContainsFunc(stack, func(v View) bool { return v.ExternalID == id && v.ID != except }) {
			return true
		}
	}
	return false
}

func (s *Server) viewsUpdate(c call) (reply, error) {
	id, external := c.args.str("view_id"), c.args.str("external_id")
	if id == "" && external == "" {
		return nil, missingField("view_id")
	}
	v, err := s.argView(c.args, blockkit.Modal)
	if err != nil {
		return nil, err
	}
	return s.storeView(func(ch *change) (View, error) {
		old, ok := ch.w.findView(func(x View) bool { return x.ID == id || (id == "" && x.ExternalID == external) })
		switch hash := c.args.str("hash"); {
		case !ok:
			return v, refuse("not_found")
		case hash != "" && hash != old.Hash:
			return v, refuse("hash_conflict")
		case ch.w.externalTaken(v.ExternalID, old.ID):
			return v, refuse("duplicate_external_id")
		}
		return ch.replaceView(old, v), nil
	})
}

func (w *Workspace) findView(match func(View) bool) (View, bool) {
	for _, stack := range w.views {
		if i := slices.IndexFunc(stack, match); i >= 0 {
			return stack[i], true
		}
	}
	return View{}, false
}

// replaceView gives an open view new contents in its place.
func (c *change) replaceView(old, v View) View {
	v.ID, v.User, v.RootID, v.PreviousID = old.ID, old.User, old.RootID, old.PreviousID
	v = c.w.stamped(v)
	stack := slices.Clone(c.w.views[old.User])
	i := slices.IndexFunc(stack, func(x View) bool { return x.ID == old.ID })
	stack[i] = v
	c.putViews(old.User, stack)
	return v
}

func (s *Server) viewsPublish(c call) (reply, error) {
	user, err := c.args.need("user_id")
	if err != nil {
		return nil, err
	}
	v, err := s.argView(c.args, blockkit.Home)
	if err != nil {
		return nil, err
	}
	return s.storeView(func(ch *change) (View, error) {
		if _, ok := ch.w.people[user]; !ok {
			return v, refuse("user_not_found")
		}
		old, had := ch.w.homes[user]
		if hash := c.args.str("hash"); hash != "" && hash != old.Hash {
			return v, refuse("hash_conflict")
		}
		placed := ch.w.place(v, user)
		if had {
			placed.ID, placed.RootID = old.ID, old.ID
		}
		ch.putHome(placed)
		return placed, nil
	})
}

// wireView is the view object; state is what its inputs hold.
func (w *Workspace) wireView(v View, state any) object {
	if state == nil {
		state = object{}
	}
	o := object{
		"id": v.ID, "team_id": w.team.ID, "type": v.Type, "blocks": v.Blocks, "private_metadata": v.PrivateMetadata,
		"callback_id": v.CallbackID, "external_id": v.ExternalID, "state": object{"values": state}, "hash": v.Hash,
		"title": nil, "submit": nil, "close": nil,
		"clear_on_close": v.ClearOnClose, "notify_on_close": v.NotifyOnClose, "submit_disabled": false, "previous_view_id": nil,
		"root_view_id": v.RootID, "app_id": w.app.ID, "app_installed_team_id": w.team.ID, "bot_id": w.app.BotID,
	}
	putRaw(o, "title", v.Title)
	putRaw(o, "submit", v.Submit)
	putRaw(o, "close", v.Close)
	if v.PreviousID != "" {
		o["previous_view_id"] = v.PreviousID
	}
	return o
}

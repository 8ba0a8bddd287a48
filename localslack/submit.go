package localslack

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"countersign/localslack/blockkit"
)

// Submission is a press on a modal's submit button. Inputs that are not
// mentioned in Values keep what the app put in.
type Submission struct {
	User   string
	ViewID string
	Values values
	Forge  func(payload map[string]any) // tests only
}

// Submit checks the inputs as Slack's client does, sends view_submission and
// does what the app's ack says.
func (s *Server) Submit(ctx context.Context, sub Submission) (Outcome, error) {
	var payload object
	var view View
	var wrong map[string]string
	err := s.ws.update(func(c *change) error {
		var ok bool
		if view, ok = c.w.top(sub.User, sub.ViewID); !ok {
			return refuse("not_found")
		}
		state := stateOf(view.Blocks, sub.Values)
		wrong = checkInputs(view.Blocks, state)
		payload = c.w.payload("view_submission", sub.User)
		maps.Copy(payload, object{
			"trigger_id": s.newTrigger(sub.User), "view": c.w.wireView(view, state), "response_urls": []any{},
		})
		return nil
	})
	if err != nil || len(wrong) > 0 {
		return Outcome{Errors: wrong}, err
	}
	if sub.Forge != nil {
		sub.Forge(payload)
	}
	res, err := s.interact(ctx, envelope{kind: "interactive", inner: "view_submission", payload: marshal(payload), accepts: true})
	switch {
	case err != nil:
		return Outcome{}, err
	case !res.acked:
		return s.sorry(sub.User, noticeTrouble), nil
	}
	return s.obey(view, res.payload)
}

// top finds the modal that the person sees; those below cannot be used.
func (w *Workspace) top(user, id string) (View, bool) {
	stack := w.views[user]
	if len(stack) == 0 || stack[len(stack)-1].ID != id {
		return View{}, false
	}
	return stack[len(stack)-1], true
}

// checkInputs finds what Slack's client refuses by itself.
func checkInputs(blocks json.RawMessage, state map[string]map[string]any) map[string]string {
	wrong := map[string]string{}
	for _, f := range blockkit.Elements(blocks) {
		if !f.Input {
			continue
		}
		raw, ok := state[f.BlockID][f.ActionID].(json.RawMessage)
		if !ok {
			raw = marshal(state[f.BlockID][f.ActionID])
		}
		if text := f.Refuse(raw); text != "" {
			wrong[f.BlockID] = text
		}
	}
	return wrong
}

// obey does what the ack of a view_submission asks for.
func (s *Server) obey(view View, ack json.RawMessage) (Outcome, error) {
	var a struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
		View   json.RawMessage   `json:"view"`
	}
	if len(ack) > 0 && json.Unmarshal(ack, &a) != nil {
		return s.sorry(view.User, noticeTrouble), nil
	}
	switch a.Action {
	case "errors":
		if len(a.Errors) == 0 || !onlyInputs(view.Blocks, a.Errors) {
			s.violate(ViolationBlocks, "errors for blocks that are no inputs")
			return s.sorry(view.User, noticeTrouble), nil
		}
		return Outcome{Acked: true, Errors: a.Errors, Reply: ack}, nil
	case "update", "push":
		return s.showNext(view, a.Action, a.View)
	case "clear":
		return s.pop(view, true)
	case "":
		return s.pop(view, false)
	}
	return s.sorry(view.User, noticeTrouble), nil
}

func onlyInputs(blocks json.RawMessage, errors map[string]string) bool {
	inputs := map[string]bool{}
	for _, f := range blockkit.Elements(blocks) {
		inputs[f.BlockID] = inputs[f.BlockID] || f.Input
	}
	return !slices.ContainsFunc(slices.Collect(maps.Keys(errors)), func(id string) bool { return !inputs[id] })
}

// pop closes the view, or the whole stack.
func (s *Server) pop(view View, all bool) (Outcome, error) {
	return Outcome{Acked: true}, s.ws.update(func(c *change) error {
		stack := c.w.views[view.User]
		i := slices.IndexFunc(stack, func(v View) bool { return v.ID == view.ID })
		if i < 0 {
			return nil // the app has closed it meanwhile
		}
		if all {
			i = 0
		}
		c.putViews(view.User, stack[:i])
		return nil
	})
}

// showNext replaces the view, or puts another one on it.
func (s *Server) showNext(view View, how string, raw json.RawMessage) (Outcome, error) {
	next, err := s.readView(raw, blockkit.Modal)
	if err == nil {
		err = s.ws.update(func(c *change) error {
			if how == "update" {
				if _, open := c.w.findView(func(v View) bool { return v.ID == view.ID }); !open {
					return refuse("not_found")
				}
				c.replaceView(view, next)
				return nil
			}
			stack, err := pushOn(c.w.views[view.User], c.w.place(next, view.User))
			if err == nil {
				c.putViews(view.User, stack)
			}
			return err
		})
	}
	if err != nil {
		return s.sorry(view.User, noticeTrouble), nil
	}
	return Outcome{Acked: true}, nil
}

// CloseView closes a person's modal with its cancel button, or the whole stack
// with the X. The app is told only when it asked for it.
func (s *Server) CloseView(ctx context.Context, user, viewID string, all bool) (Outcome, error) {
	var payloads []object
	err := s.ws.update(func(c *change) error {
		view, ok := c.w.top(user, viewID)
		if !ok {
			return refuse("not_found")
		}
		stack := c.w.views[user]
		all = all || view.ClearOnClose
		closed := stack[len(stack)-1:]
		if all {
			closed = stack
		}
		for _, v := range closed {
			if v.NotifyOnClose {
				p := c.w.payload("view_closed", user)
				p["view"], p["is_cleared"] = c.w.wireView(v, nil), all
				payloads = append(payloads, p)
			}
		}
		c.putViews(user, stack[:len(stack)-len(closed)])
		return nil
	})
	if err != nil {
		return Outcome{}, err
	}
	for _, p := range payloads {
		if _, err := s.interact(ctx, envelope{kind: "interactive", inner: "view_closed", payload: marshal(p)}); err != nil {
			return Outcome{}, err
		}
	}
	return Outcome{Acked: true}, nil
}

package localslack

import (
	"context"
	"encoding/json"
	"net/http"
)

// pageBody limits what a browser may send at once: a message with a few files.
const pageBody = 8 << 20 // bytes

// pageAct is what a person did on the page; each act reads the fields it needs.
type pageAct struct {
	User     string                                `json:"user"`
	Channel  string                                `json:"channel"`
	TS       string                                `json:"ts"`
	ThreadTS string                                `json:"thread_ts"`
	Text     string                                `json:"text"`
	Files    []Upload                              `json:"files"`
	Name     string                                `json:"name"`   // of a reaction, a command or a fault
	Remove   bool                                  `json:"remove"` // the reaction
	ViewID   string                                `json:"view_id"`
	BlockID  string                                `json:"block_id"`
	ActionID string                                `json:"action_id"`
	Selected json.RawMessage                       `json:"selected"`
	State    map[string]map[string]json.RawMessage `json:"state"`
	Values   map[string]map[string]json.RawMessage `json:"values"` // of a modal
	All      bool                                  `json:"all"`    // close the whole stack
}

// pageReply is how an act went.
type pageReply struct {
	Acked   bool              `json:"acked"`
	Errors  map[string]string `json:"errors,omitempty"` // by block id
	Notice  string            `json:"notice,omitempty"` // what Slack tells the person
	Message *pageMessage      `json:"message,omitempty"`
	Channel *Channel          `json:"channel,omitempty"`
}

type actFunc func(context.Context, pageAct) (pageReply, error)

// acts are the things a person can do, by the last part of their address.
func (p *page) acts() map[string]actFunc {
	return map[string]actFunc{
		"say": p.say, "edit": p.edit, "delete": p.remove, "react": p.react, "join": p.join, "direct": p.direct,
		"home": p.openHome, "click": p.click, "slash": p.slash, "submit": p.submit, "close": p.close,
		"break": p.breakIt,
	}
}

// acting decodes the request, checks that its person can be played, and acts.
func (p *page) acting(act actFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var a pageAct
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, pageBody)).Decode(&a); err != nil {
			writeError(w, refuse("invalid_json"))
			return
		}
		if who, ok := p.player(a.User); !ok || a.User == "" {
			writeError(w, refuse("user_not_found"))
			return
		} else if a.User = who.ID; a.Channel != "" && !p.sees(who, a.Channel) {
			writeError(w, refuse("channel_not_found"))
			return
		}
		reply, err := act(r.Context(), a)
		if err != nil {
			writeError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, reply)
	}
}

func (p *page) say(ctx context.Context, a pageAct) (pageReply, error) {
	m, err := p.server.Say(ctx, Post{User: a.User, Channel: a.Channel, Text: a.Text, ThreadTS: a.ThreadTS, Files: a.Files})
	return p.posted(m, err)
}

func (p *page) edit(ctx context.Context, a pageAct) (pageReply, error) {
	m, err := p.server.EditMessage(ctx, a.User, a.Channel, a.TS, a.Text)
	return p.posted(m, err)
}

func (p *page) posted(m Message, err error) (pageReply, error) {
	if err != nil {
		return pageReply{}, err
	}
	shown := p.message(m)
	return pageReply{Acked: true, Message: &shown}, nil
}

func (p *page) remove(ctx context.Context, a pageAct) (pageReply, error) {
	return pageReply{Acked: true}, p.server.DeleteMessage(ctx, a.User, a.Channel, a.TS)
}

func (p *page) react(ctx context.Context, a pageAct) (pageReply, error) {
	if a.Remove {
		return pageReply{Acked: true}, p.server.Unreact(ctx, a.User, a.Channel, a.TS, a.Name)
	}
	return pageReply{Acked: true}, p.server.React(ctx, a.User, a.Channel, a.TS, a.Name)
}

func (p *page) join(ctx context.Context, a pageAct) (pageReply, error) {
	return pageReply{Acked: true}, p.server.Join(ctx, a.User, a.Channel)
}

func (p *page) direct(ctx context.Context, a pageAct) (pageReply, error) {
	c, err := p.server.OpenDirect(ctx, a.User)
	return pageReply{Acked: true, Channel: &c}, err
}

func (p *page) openHome(ctx context.Context, a pageAct) (pageReply, error) {
	return pageReply{Acked: true}, p.server.OpenHome(ctx, a.User)
}

func (p *page) click(ctx context.Context, a pageAct) (pageReply, error) {
	out, err := p.server.Click(ctx, Click{
		User: a.User, Channel: a.Channel, TS: a.TS, ViewID: a.ViewID, BlockID: a.BlockID, ActionID: a.ActionID,
		Selected: a.Selected, State: a.State,
	})
	return replied(out), err
}

func (p *page) slash(ctx context.Context, a pageAct) (pageReply, error) {
	out, err := p.server.Slash(ctx, SlashCommand{User: a.User, Channel: a.Channel, Command: a.Name, Text: a.Text})
	return replied(out), err
}

func (p *page) submit(ctx context.Context, a pageAct) (pageReply, error) {
	out, err := p.server.Submit(ctx, Submission{User: a.User, ViewID: a.ViewID, Values: a.Values})
	return replied(out), err
}

func (p *page) close(ctx context.Context, a pageAct) (pageReply, error) {
	out, err := p.server.CloseView(ctx, a.User, a.ViewID, a.All)
	return replied(out), err
}

func replied(o Outcome) pageReply {
	return pageReply{Acked: o.Acked, Errors: o.Errors, Notice: o.Notice}
}

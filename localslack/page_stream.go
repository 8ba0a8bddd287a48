package localslack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// streamIdle is how long the stream is silent before it shows that it lives,
// well below what proxies and browsers cut off.
const streamIdle = 15 * time.Second

// events streams what changes on the person's screen as server-sent events;
// each carries the new state of its subject, so a lost one heals with the next.
func (p *page) events(w http.ResponseWriter, r *http.Request) {
	me, ok := p.player(r.URL.Query().Get("user"))
	if !ok {
		writeError(w, refuse("user_not_found"))
		return
	}
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		after = p.server.Workspace().Seq()
	}
	watch := p.server.Workspace().Watch(after)
	defer watch.Close()
	out := newStream(w)
	for {
		c, err := nextWithin(r.Context(), watch)
		switch {
		case r.Context().Err() != nil:
			return
		case err != nil:
			err = out.comment("still here")
		default:
			err = out.send(p.event(me, c))
		}
		if err != nil {
			return // the browser is gone; it asks again with what it has seen
		}
	}
}

func nextWithin(ctx context.Context, watch *Watcher) (Change, error) {
	ctx, cancel := context.WithTimeout(ctx, streamIdle)
	defer cancel()
	return watch.Next(ctx)
}

// event is what the person's screen has to learn from a change; nil if nothing.
func (p *page) event(me Person, c Change) map[string]any {
	if c.User != "" && c.User != me.ID && c.Kind != ChangePerson {
		return nil
	}
	ws := p.server.Workspace()
	switch c.Kind {
	case ChangeMessage:
		return p.messageEvent(me, c)
	case ChangeChannel:
		return p.channelEvent(me, c)
	case ChangePerson, ChangeUsergroup:
		return map[string]any{"kind": "people", "people": filled(ws.People()), "usergroups": filled(ws.Usergroups())}
	case ChangeViews:
		return map[string]any{"kind": "views", "views": filled(ws.Views(me.ID))}
	case ChangeHome:
		return map[string]any{"kind": "home", "home": p.home(me)}
	case ChangeStatus:
		return map[string]any{"kind": "status", "channel": c.Channel, "statuses": filled(ws.Statuses(c.Channel))}
	case ChangeNotice:
		return noticeEvent(ws.Notices(me.ID))
	case ChangeSocket:
		return map[string]any{"kind": "sockets", "sockets": p.server.Connections()}
	case ChangeReset:
		return map[string]any{"kind": "reset"}
	}
	return nil
}

func (p *page) messageEvent(me Person, c Change) map[string]any {
	if !p.sees(me, c.Channel) {
		return nil
	}
	m, ok := p.server.Workspace().Message(c.Channel, c.TS)
	if !ok || !m.VisibleTo(me.ID) {
		return map[string]any{"kind": "gone", "channel": c.Channel, "ts": c.TS}
	}
	return map[string]any{"kind": "message", "message": p.message(m)}
}

// channelEvent carries the channel's messages too: the person may just have
// been let in.
func (p *page) channelEvent(me Person, c Change) map[string]any {
	e := map[string]any{"kind": "channels", "channels": filled(p.channels(me))}
	if p.sees(me, c.Channel) {
		e["messages"] = map[string][]pageMessage{c.Channel: p.messages(c.Channel, me)}
	}
	return e
}

func noticeEvent(notices []Notice) map[string]any {
	if len(notices) == 0 {
		return nil
	}
	return map[string]any{"kind": "notice", "text": notices[len(notices)-1].Text}
}

// stream writes server-sent events.
type stream struct {
	w    http.ResponseWriter
	ctrl *http.ResponseController
}

func newStream(w http.ResponseWriter) *stream {
	s := &stream{w: w, ctrl: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	// A server that limits how long answers take must not cut the stream; one
	// that cannot lift the limit only makes the browser ask again.
	_ = s.ctrl.SetWriteDeadline(time.Time{})
	_ = s.comment("hello")
	return s
}

func (s *stream) send(event map[string]any) error {
	if event == nil {
		return nil
	}
	body, err := json.Marshal(event) // one line: JSON escapes line breaks
	if err != nil {
		return fmt.Errorf("event: %w", err)
	}
	return s.write("data: " + string(body) + "\n\n")
}

func (s *stream) comment(text string) error { return s.write(": " + text + "\n\n") }

func (s *stream) write(text string) error {
	_, err := s.w.Write([]byte(text))
	return errors.Join(err, s.ctrl.Flush())
}

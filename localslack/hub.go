package localslack

import (
	"context"
	"sync"
)

// ChangeKind says what a Change is about.
type ChangeKind string

// What can change.
const (
	ChangeMessage   ChangeKind = "message"   // posted, edited, deleted, reaction: read Message(Channel, TS)
	ChangeChannel   ChangeKind = "channel"   // read Channel(Channel)
	ChangePerson    ChangeKind = "person"    // read Person(User)
	ChangeUsergroup ChangeKind = "usergroup" // read Usergroups()
	ChangeViews     ChangeKind = "views"     // a modal of User opened, changed or closed: read Views(User)
	ChangeHome      ChangeKind = "home"      // read Home(User)
	ChangeFile      ChangeKind = "file"
	ChangeStatus    ChangeKind = "status" // read Statuses(Channel)
	ChangeNotice    ChangeKind = "notice" // read Notices(User)
	ChangeAck       ChangeKind = "ack"    // an envelope was acked, timed out or dropped: read Server.Deliveries
	ChangeCall      ChangeKind = "call"   // a Web API call was answered: read Server.Calls
	ChangeSocket    ChangeKind = "socket" // a Socket Mode connection opened or closed
	ChangeReset     ChangeKind = "reset"  // the watcher missed changes: read everything again
)

// Change tells that a subject changed; it carries names, never contents, so
// that whoever watches reads the current state. A change with User set and
// kind message, views, home or notice concerns that person's screen only.
type Change struct {
	Seq     int64      `json:"seq"` // 1, 2, 3 … since the server started
	Kind    ChangeKind `json:"kind"`
	Channel string     `json:"channel,omitempty"`
	TS      string     `json:"ts,omitempty"`
	Thread  string     `json:"thread,omitempty"` // root ts when TS is a reply
	User    string     `json:"user,omitempty"`
}

// kept is how many changes a watcher may be behind when it joins.
const kept = 4096

// hub hands every change to every watcher, in order, and never waits for one.
type hub struct {
	mu       sync.Mutex
	seq      int64
	recent   []Change
	watchers map[*Watcher]struct{}
}

func newHub() *hub { return &hub{watchers: map[*Watcher]struct{}{}} }

func (h *hub) publish(c Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	c.Seq = h.seq
	h.recent = append(h.recent, c)
	if len(h.recent) > 2*kept {
		h.recent = append([]Change(nil), h.recent[len(h.recent)-kept:]...)
	}
	for w := range h.watchers {
		w.push(c)
	}
}

// watch joins a watcher that first gets what was published after seq.
func (h *hub) watch(after int64) *Watcher {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &Watcher{hub: h, ring: make(chan struct{}, 1)}
	switch {
	case after >= h.seq:
	case len(h.recent) > 0 && after < h.recent[0].Seq-1:
		w.push(Change{Seq: h.seq, Kind: ChangeReset})
	default:
		for _, c := range h.recent {
			if c.Seq > after {
				w.push(c)
			}
		}
	}
	h.watchers[w] = struct{}{}
	return w
}

func (h *hub) last() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

// Watcher receives changes in order. Its queue is unbounded: a slow reader
// delays nobody.
type Watcher struct {
	hub   *hub
	ring  chan struct{}
	mu    sync.Mutex
	queue []Change
}

func (w *Watcher) push(c Change) {
	w.mu.Lock()
	w.queue = append(w.queue, c)
	w.mu.Unlock()
	select {
	case w.ring <- struct{}{}:
	default:
	}
}

// Next waits for the next change; it returns the context's error when that
// ends first.
func (w *Watcher) Next(ctx context.Context) (Change, error) {
	for {
		w.mu.Lock()
		if len(w.queue) > 0 {
			c := w.queue[0]
			w.queue = w.queue[1:]
			w.mu.Unlock()
			return c, nil
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
			return Change{}, ctx.Err()
		case <-w.ring:
		}
	}
}

// Close stops the watcher; it gets nothing more.
func (w *Watcher) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watchers, w)
}

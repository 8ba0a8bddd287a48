package localslack

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// Workspace holds everything that people and the bot see. All methods are safe
// for concurrent use and return copies.
type Workspace struct {
	now     func() time.Time
	hub     *hub
	journal *journal
	base    string // of the server, for links

	mu         sync.Mutex
	random     *rand.Rand
	wants      func(Event) bool // is the app subscribed to it?
	deliver    func(outEvent)   // called with mu held, must not block
	unsent     []outEvent       // from the journal: not acked when the server ended
	team       Team
	app        App
	seq        int64 // source of ids
	lastTS     map[string]string
	people     map[string]Person
	usergroups map[string]Usergroup
	channels   map[string]Channel
	messages   map[string][]Message // by channel, ordered by ts
	files      map[string]File
	homes      map[string]View
	views      map[string][]View // by person, the top of the stack is last
	statuses   map[string]Status // by channel + "/" + thread
	notices    []Notice
}

// Event is the inner object of an Events API delivery.
type Event map[string]any

func newWorkspace(now func() time.Time, seed uint64) *Workspace {
	return &Workspace{
		now: now, random: newRandom(seed), hub: newHub(), lastTS: map[string]string{},
		people: map[string]Person{}, usergroups: map[string]Usergroup{}, channels: map[string]Channel{},
		messages: map[string][]Message{}, files: map[string]File{}, homes: map[string]View{},
		views: map[string][]View{}, statuses: map[string]Status{},
	}
}

// Watch joins a watcher that gets every change after seq; 0 means all that is
// still remembered, Seq() only what comes.
func (w *Workspace) Watch(after int64) *Watcher { return w.hub.watch(after) }

// Seq is the number of the last change.
func (w *Workspace) Seq() int64 { return w.hub.last() }

// Team is the workspace's own team.
func (w *Workspace) Team() Team {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.team
}

// App is the installed app.
func (w *Workspace) App() App {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.app
}

// Person finds a person by id.
func (w *Workspace) Person(id string) (Person, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.people[id]
	return p, ok
}

// People are all people, by id, the deleted ones included.
func (w *Workspace) People() []Person {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sortedBy(w.people, func(p Person) string { return p.ID })
}

// Usergroups are all groups, by id.
func (w *Workspace) Usergroups() []Usergroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sortedBy(w.usergroups, func(g Usergroup) string { return g.ID })
}

// Channel finds a channel by id.
func (w *Workspace) Channel(id string) (Channel, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.channels[id]
	return c, ok
}

// Channels are the channels that the person sees (public ones and those they
// are a member of), by id; all of them for an empty user.
func (w *Workspace) Channels(user string) []Channel {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := sortedBy(w.channels, func(c Channel) string { return c.ID })
	return slices.DeleteFunc(all, func(c Channel) bool {
		return user != "" && c.Kind != Public && !c.Has(user)
	})
}

// Message finds a message, the deleted ones included (Deleted is set).
func (w *Workspace) Message(channel, ts string) (Message, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.message(channel, ts)
}

func (w *Workspace) message(channel, ts string) (Message, bool) {
	i, ok := w.messageIndex(channel, ts)
	if !ok {
		return Message{}, false
	}
	return w.messages[channel][i], true
}

func (w *Workspace) messageIndex(channel, ts string) (int, bool) {
	return slices.BinarySearchFunc(w.messages[channel], ts, func(m Message, ts string) int {
		return strings.Compare(m.TS, ts)
	})
}

// Messages are all messages of a channel, thread replies included, that the
// person may see, oldest first; every one (but the deleted) for an empty user.
func (w *Workspace) Messages(channel, user string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Message
	for _, m := range w.messages[channel] {
		if (user == "" && !m.Deleted) || (user != "" && m.VisibleTo(user)) {
			out = append(out, m)
		}
	}
	return out
}

// Thread is the root message and its replies that the person may see.
func (w *Workspace) Thread(channel, root, user string) []Message {
	return slices.DeleteFunc(w.Messages(channel, user), func(m Message) bool { return m.Root() != root })
}

// File finds a file by id.
func (w *Workspace) File(id string) (File, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, ok := w.files[id]
	return f, ok
}

// Home is the person's Home tab, if the app has published one.
func (w *Workspace) Home(user string) (View, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.homes[user]
	return v, ok
}

// Views is the person's stack of open modals; the last one is on top.
func (w *Workspace) Views(user string) []View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.views[user])
}

// Statuses are the app's status lines in a channel's threads that still hold.
func (w *Workspace) Statuses(channel string) []Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := sortedBy(w.statuses, func(s Status) string { return s.Channel + "/" + s.ThreadTS })
	now := w.now()
	return slices.DeleteFunc(all, func(s Status) bool {
		return s.Channel != channel || s.Text == "" || now.After(s.Until)
	})
}

// Notices are what Slack told the person so far, oldest first; everybody's for
// an empty user.
func (w *Workspace) Notices(user string) []Notice {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.notices), func(n Notice) bool { return user != "" && n.User != user })
}

// id makes the next id with the given prefix: U00000001 and so on.
func (w *Workspace) id(prefix string) string {
	w.seq++
	return fmt.Sprintf("%s%08X", prefix, w.seq)
}

// nextTS gives the channel's next message time: now, or the smallest later one
// that is still free.
func (w *Workspace) nextTS(channel string) string {
	ts := formatTS(w.now())
	if last := w.lastTS[channel]; ts <= last {
		ts = afterTS(last)
	}
	w.lastTS[channel] = ts
	return ts
}

// formatTS writes an instant as Slack does: seconds, a dot, six digits.
func formatTS(t time.Time) string {
	us := t.UnixMicro()
	return fmt.Sprintf("%010d.%06d", us/1e6, us%1e6)
}

func afterTS(ts string) string {
	var sec, us int64
	if _, err := fmt.Sscanf(ts, "%d.%d", &sec, &us); err != nil {
		return ts + "1"
	}
	return formatTS(time.UnixMicro(sec*1e6 + us + 1))
}

func sortedBy[T any](m map[string]T, key func(T) string) []T {
	out := make([]T, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return out
}

package localslack

import (
	"slices"
	"strings"
)

// change is one commit: what it puts is visible, appended to the journal and
// told to watchers and to the app in one go, in order.
type change struct {
	w       *Workspace
	records []record
	changes []Change
	events  []Event
}

// update runs one commit under the workspace's lock. When fn fails nothing may
// have been put: check first, put last.
func (w *Workspace) update(fn func(*change) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &change{w: w}
	if err := fn(c); err != nil {
		return err
	}
	var out []outEvent
	for _, e := range c.events {
		if w.wants != nil && w.wants(e) {
			o := w.outerEvent(e)
			out = append(out, o)
			c.save(kindEvent, o)
		}
	}
	if err := w.journal.append(w.seq, c.records); err != nil {
		return err
	}
	for _, x := range c.changes {
		w.hub.publish(x)
	}
	for _, o := range out {
		w.deliver(o)
	}
	return nil
}

// emit tells the app about an event once the change is committed.
func (c *change) emit(e Event) { c.events = append(c.events, e) }

func (c *change) tell(x Change) { c.changes = append(c.changes, x) }

func (c *change) save(kind string, value any) {
	c.records = append(c.records, record{Kind: kind, Value: value})
}

func (c *change) putPerson(p Person) {
	if p.TeamID == "" {
		p.TeamID = c.w.team.ID
	}
	c.w.people[p.ID] = p
	c.save(kindPerson, p)
	c.tell(Change{Kind: ChangePerson, User: p.ID})
}

func (c *change) putUsergroup(g Usergroup) {
	g.Members = slices.Clone(g.Members)
	c.w.usergroups[g.ID] = g
	c.save(kindUsergroup, g)
	c.tell(Change{Kind: ChangeUsergroup})
}

func (c *change) putChannel(ch Channel) {
	ch.Members = slices.Clone(ch.Members)
	c.w.channels[ch.ID] = ch
	c.save(kindChannel, ch)
	c.tell(Change{Kind: ChangeChannel, Channel: ch.ID})
}

// putMessage stores a new message or a new version of an old one.
func (c *change) putMessage(m Message) Message {
	m.Version++
	c.w.storeMessage(m)
	c.save(kindMessage, m)
	x := Change{Kind: ChangeMessage, Channel: m.Channel, TS: m.TS, User: m.EphemeralTo}
	if m.IsReply() {
		x.Thread = m.ThreadTS
	}
	c.tell(x)
	return m
}

func (w *Workspace) storeMessage(m Message) {
	i, found := w.messageIndex(m.Channel, m.TS)
	if found {
		w.messages[m.Channel][i] = m
	} else {
		w.messages[m.Channel] = slices.Insert(w.messages[m.Channel], i, m)
	}
	if strings.Compare(m.TS, w.lastTS[m.Channel]) > 0 {
		w.lastTS[m.Channel] = m.TS
	}
}

func (c *change) putFile(f File) {
	c.w.files[f.ID] = f
	c.save(kindFile, f)
	c.tell(Change{Kind: ChangeFile, User: f.User})
}

func (c *change) putHome(v View) {
	c.w.homes[v.User] = v
	c.save(kindHome, v)
	c.tell(Change{Kind: ChangeHome, User: v.User})
}

// putViews replaces a person's stack of modals.
func (c *change) putViews(user string, stack []View) {
	c.w.views[user] = slices.Clone(stack)
	c.save(kindViews, viewStack{User: user, Views: stack})
	c.tell(Change{Kind: ChangeViews, User: user})
}

// putStatus is not saved: a status does not outlive the process that set it.
func (c *change) putStatus(s Status) {
	c.w.statuses[s.Channel+"/"+s.ThreadTS] = s
	c.tell(Change{Kind: ChangeStatus, Channel: s.Channel, Thread: s.ThreadTS})
}

func (c *change) notice(user, text string) {
	c.w.notices = append(c.w.notices, Notice{User: user, Text: text, At: c.w.now()})
	c.tell(Change{Kind: ChangeNotice, User: user})
}

package slacktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"countersign/localslack"
	"countersign/localslack/blockkit"
)

// Message names one message; what it says is read anew each time.
type Message struct {
	Channel string
	TS      string
	s       *Slack
}

func (s *Slack) message(m localslack.Message) Message {
	return Message{Channel: m.Channel, TS: m.TS, s: s}
}

func (m Message) key() string { return m.Channel + "/" + m.TS }

// Now is the message as it stands.
func (m Message) Now() localslack.Message {
	now, _ := m.s.Server.Workspace().Message(m.Channel, m.TS)
	return now
}

// Shown is everything that a reader of the message sees, a text a line.
func (m Message) Shown() string { return shown(m.Now()) }

func shown(m localslack.Message) string {
	return strings.Join(append([]string{m.Text}, blockkit.Texts(m.Blocks)...), "\n")
}

// Value is the value of the message's button; the test ends without one.
func (m Message) Value(actionID string) string {
	m.s.t.Helper()
	for _, f := range blockkit.Elements(m.Now().Blocks) {
		if f.ActionID == actionID {
			v, _ := f.Element["value"].(string)
			return v
		}
	}
	m.s.t.Fatalf("no button %s in:\n%s", actionID, m.Shown())
	return ""
}

// Match is a condition on a message.
type Match struct {
	what string
	ok   func(localslack.Message) bool
}

// Text wants a text somewhere in the message: its text or any block.
func Text(part string) Match {
	return Match{fmt.Sprintf("text %q", part), func(m localslack.Message) bool { return strings.Contains(shown(m), part) }}
}

// NoText wants a text to stand nowhere in the message.
func NoText(part string) Match {
	return Match{fmt.Sprintf("no text %q", part), func(m localslack.Message) bool { return !strings.Contains(shown(m), part) }}
}

// Button wants an element with this action id.
func Button(actionID string) Match {
	return Match{"button " + actionID, func(m localslack.Message) bool { return hasAction(m, actionID) }}
}

// NoButton wants no such element; NoButton("") none at all.
func NoButton(actionID string) Match {
	return Match{"no button " + actionID, func(m localslack.Message) bool {
		if actionID == "" {
			return len(blockkit.Elements(m.Blocks)) == 0
		}
		return !hasAction(m, actionID)
	}}
}

func hasAction(m localslack.Message, id string) bool {
	if !bytes.Contains(m.Blocks, []byte(id)) { // most of very many messages: what follows takes a while
		return false
	}
	for _, f := range blockkit.Elements(m.Blocks) {
		if f.ActionID == id {
			return true
		}
	}
	return false
}

// InThread wants a reply in the thread of a message.
func InThread(of Message) Match {
	root := of.Now().Root()
	return Match{"in thread " + root, func(m localslack.Message) bool {
		return m.Channel == of.Channel && m.IsReply() && m.ThreadTS == root
	}}
}

// In wants a message in a channel.
func (s *Slack) In(channel string) Match {
	s.t.Helper()
	id := s.Channel(channel)
	return Match{"in " + channel, func(m localslack.Message) bool { return m.Channel == id }}
}

// OnlyFor wants a note that only this person sees.
func OnlyFor(p Person) Match {
	return Match{"only for " + p.ID, func(m localslack.Message) bool { return m.EphemeralTo == p.ID }}
}

// Public wants a message that everybody sees.
func Public() Match {
	return Match{"public", func(m localslack.Message) bool { return m.EphemeralTo == "" }}
}

// Meta wants a value in the metadata's payload.
func Meta(key, value string) Match {
	return Match{"metadata " + key + "=" + value, func(m localslack.Message) bool {
		if m.Metadata == nil {
			return false
		}
		var payload map[string]any
		return json.Unmarshal(m.Metadata.EventPayload, &payload) == nil && payload[key] == value
	}}
}

// MetaHas wants a text in a value of the metadata's payload.
func MetaHas(key, part string) Match {
	return Match{"metadata " + key + " with " + part, func(m localslack.Message) bool {
		if m.Metadata == nil {
			return false
		}
		var payload map[string]any
		text := ""
		if json.Unmarshal(m.Metadata.EventPayload, &payload) == nil {
			text, _ = payload[key].(string)
		}
		return strings.Contains(text, part)
	}}
}

func all(m localslack.Message, wanted []Match) bool {
	for _, w := range wanted {
		if !w.ok(m) {
			return false
		}
	}
	return true
}

func describe(wanted []Match) string {
	var words []string
	for _, w := range wanted {
		words = append(words, w.what)
	}
	return strings.Join(words, ", ")
}

// Expect waits for a message of the bot that no earlier expectation took.
func (s *Slack) Expect(wanted ...Match) Message {
	s.t.Helper()
	var found Message
	s.until("a message with "+describe(wanted), func() bool {
		for _, m := range s.untaken() {
			if all(m, wanted) {
				found = s.message(m)
				return true
			}
		}
		return false
	})
	s.seen[found.key()] = true
	return found
}

// All are the bot's messages of this moment that fulfil the conditions; nothing is waited for.
func (s *Slack) All(wanted ...Match) []Message {
	ws := s.Server.Workspace()
	bot := ws.App().UserID
	var out []Message
	for _, c := range ws.Channels("") {
		for _, m := range ws.Messages(c.ID, "") {
			if m.User == bot && !m.Deleted && all(m, wanted) {
				out = append(out, s.message(m))
			}
		}
	}
	return out
}

// Find is the first of All.
func (s *Slack) Find(wanted ...Match) (Message, bool) {
	found := s.All(wanted...)
	if len(found) == 0 {
		return Message{}, false
	}
	return found[0], true
}

// untaken are the bot's messages that no expectation took.
func (s *Slack) untaken() []localslack.Message {
	ws := s.Server.Workspace()
	bot := ws.App().UserID
	var out []localslack.Message
	for _, c := range ws.Channels("") {
		for _, m := range ws.Messages(c.ID, "") {
			if m.User == bot && !s.seen[s.message(m).key()] {
				out = append(out, m)
			}
		}
	}
	return out
}

// ExpectUpdate waits until the same message fulfils the conditions.
func (s *Slack) ExpectUpdate(m Message, wanted ...Match) {
	s.t.Helper()
	s.until("an update with "+describe(wanted), func() bool { return all(m.Now(), wanted) })
}

// ExpectGone waits until a message is deleted.
func (s *Slack) ExpectGone(m Message) {
	s.t.Helper()
	s.until("the deletion of "+m.TS, func() bool { return m.Now().Deleted })
}

// ExpectHome waits until a person's Home tab shows a text.
func (s *Slack) ExpectHome(p Person, part string) localslack.View {
	s.t.Helper()
	var home localslack.View
	s.until("a Home tab with "+part, func() bool {
		var ok bool
		home, ok = s.Server.Workspace().Home(p.ID)
		return ok && strings.Contains(strings.Join(blockkit.Texts(home.Blocks), "\n"), part)
	})
	return home
}

// ExpectAcked waits until every delivery so far has ended, and fails when one
// was not acked in the end.
func (s *Slack) ExpectAcked() {
	s.t.Helper()
	defer s.sayUnacked()
	s.until("all acks", func() bool { return s.Server.Waiting() == 0 })
	if lost := s.Server.Lost(); len(lost) > 0 {
		s.t.Errorf("never acked: %v", lost)
	}
}

// sayUnacked tells what a test waits for in vain.
func (s *Slack) sayUnacked() {
	if s.Server.Waiting() == 0 {
		return
	}
	for _, d := range s.Server.Deliveries() {
		if d.Result != localslack.DeliveryAcked {
			s.t.Logf("%s %s, try %d at %s: %s", d.Inner, d.EventID, d.Attempt, d.Sent.Format(time.TimeOnly), d.Result)
		}
	}
}

// NoStray fails the test if the bot posted anything that no expectation took.
// It does not wait: first expect what must come last.
func (s *Slack) NoStray() {
	s.t.Helper()
	for _, m := range s.untaken() {
		s.t.Errorf("unexpected message %s/%s: %s", m.Channel, m.TS, shown(m))
	}
}

// Unfurl plays the link preview that Slack adds to a message.
func (s *Slack) Unfurl(m Message, title string) {
	s.t.Helper()
	if err := s.Server.Unfurl(context.Background(), m.Channel, m.TS, title); err != nil {
		s.t.Fatal(err)
	}
}

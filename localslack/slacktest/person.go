package slacktest

import (
	"context"

	"countersign/localslack"
)

// Person is somebody at their screen.
type Person struct {
	ID string
	s  *Slack
}

// User finds a person by name or id.
func (s *Slack) User(name string) Person {
	s.t.Helper()
	for _, p := range s.Server.Workspace().People() {
		if p.Name == name || p.ID == name {
			return Person{ID: p.ID, s: s}
		}
	}
	s.t.Fatalf("nobody is called %s", name)
	return Person{}
}

func (p Person) done(what string, err error) {
	p.s.t.Helper()
	if err != nil {
		p.s.t.Fatalf("%s %s: %v", p.ID, what, err)
	}
}

// Says posts in a channel.
func (p Person) Says(channel, text string) Message {
	p.s.t.Helper()
	return p.Posts(localslack.Post{Channel: p.s.Channel(channel), Text: text})
}

// Replies posts in the thread of a message.
func (p Person) Replies(to Message, text string) Message {
	p.s.t.Helper()
	return p.Posts(localslack.Post{Channel: to.Channel, Text: text, ThreadTS: to.Now().Root()})
}

// Posts sends a message with all its details.
func (p Person) Posts(post localslack.Post) Message {
	p.s.t.Helper()
	post.User = p.ID
	m, err := p.s.Server.Say(context.Background(), post)
	p.done("posts", err)
	return p.s.message(m)
}

// Edits changes the text of a message.
func (p Person) Edits(m Message, text string) {
	p.s.t.Helper()
	_, err := p.s.Server.EditMessage(context.Background(), p.ID, m.Channel, m.TS, text)
	p.done("edits", err)
}

// Deletes removes a message of their own.
func (p Person) Deletes(m Message) {
	p.s.t.Helper()
	p.done("deletes", p.s.Server.DeleteMessage(context.Background(), p.ID, m.Channel, m.TS))
}

// Reacts puts an emoji under a message.
func (p Person) Reacts(m Message, name string) {
	p.s.t.Helper()
	p.done("reacts", p.s.Server.React(context.Background(), p.ID, m.Channel, m.TS, name))
}

// OpensHome looks at the app's Home tab.
func (p Person) OpensHome() {
	p.s.t.Helper()
	p.done("opens the Home tab", p.s.Server.OpenHome(context.Background(), p.ID))
}

// Joins enters a channel.
func (p Person) Joins(channel string) {
	p.s.t.Helper()
	p.done("joins", p.s.Server.Join(context.Background(), p.ID, p.s.Channel(channel)))
}

// Leaves leaves a channel.
func (p Person) Leaves(channel string) {
	p.s.t.Helper()
	p.done("leaves", p.s.Server.Leave(context.Background(), p.ID, p.s.Channel(channel)))
}

// Commands types a slash command and returns what the person sees.
func (p Person) Commands(channel, command, text string) localslack.Outcome {
	p.s.t.Helper()
	out, err := p.s.Server.Slash(context.Background(), localslack.SlashCommand{
		User: p.ID, Channel: p.s.Channel(channel), Command: command, Text: text,
	})
	p.done("types "+command, err)
	return out
}

// Clicks presses a button of a message; the app must take it in time.
func (p Person) Clicks(m Message, actionID string) {
	p.s.t.Helper()
	if out := p.TriesToClick(m, actionID); !out.Acked {
		p.s.t.Fatalf("%s clicks %s: the app did not answer in time", p.ID, actionID)
	}
}

// TriesToClick presses a button and returns what the person sees.
func (p Person) TriesToClick(m Message, actionID string) localslack.Outcome {
	p.s.t.Helper()
	out, err := p.Press(localslack.Click{Channel: m.Channel, TS: m.TS, ActionID: actionID})
	p.done("clicks "+actionID, err)
	return out
}

// Press is a click with all its details: another element than a button, a Home
// tab, a forged payload. It may be called from any goroutine.
func (p Person) Press(c localslack.Click) (localslack.Outcome, error) {
	c.User = p.ID
	return p.s.Server.Click(context.Background(), c)
}

package bot

import (
	"context"
	"encoding/json"
	"regexp"
	"sync"
	"time"

	"countersign/bot/socket"
)

// Sightings keeps when Slack last sent something of a kind.
type Sightings interface {
	Sighted(ctx context.Context, installation, kind string, at time.Time) error
}

// Kinds of what Slack sends that are not events: the settings of the app that they need.
const (
	KindInteractivity = "interactivity"
	KindCommands      = "slash_commands"
)

// sightedEvery is how exactly is known when something was last seen.
const sightedEvery = time.Hour

// sighted are the kinds that were noted lately.
type sighted struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// fresh says whether a kind is to be noted again.
func (s *sighted) fresh(kind string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.last[kind]; ok && now.Sub(last) < sightedEvery {
		return false
	}
	if s.last == nil {
		s.last = map[string]time.Time{}
	}
	s.last[kind] = now
	return true
}

// note keeps what kind an envelope was of, beside the work on it: an acknowledgement
// does not wait for that, and is not refused for it.
func (b *Bot) note(e socket.Envelope) {
	kind := kindOf(e)
	if b.Sightings == nil || kind == "" || !b.seen.fresh(kind, b.Now()) {
		return
	}
	b.background("sighting", callTimeout, func(ctx context.Context) error {
		return b.Sightings.Sighted(ctx, b.Self.Team, kind, b.Now())
	})
}

// eventKind is what names of events look like.
var eventKind = regexp.MustCompile(`^[a-z][a-z_]{1,60}$`)

// messageKinds are the subscriptions to messages, by the type of the channel.
var messageKinds = map[string]string{"channel": "message.channels", "group": "message.groups", "im": "message.im", "mpim": "message.mpim"}

// kindOf names what an envelope is of as the app's settings do: "message.im".
func kindOf(e socket.Envelope) string {
	switch e.Type {
	case socket.TypeInteraction:
		return KindInteractivity
	case socket.TypeCommand:
		return KindCommands
	}
	var o struct {
		Event struct {
			Type        string `json:"type"`
			ChannelType string `json:"channel_type"`
		} `json:"event"`
	}
	if json.Unmarshal(e.Payload, &o) != nil || !eventKind.MatchString(o.Event.Type) {
		return ""
	}
	if o.Event.Type == "message" {
		return messageKinds[o.Event.ChannelType]
	}
	return o.Event.Type
}

package localslack

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config says what the server plays. The zero value of every field but the
// tokens has a default.
type Config struct {
	// Dir is where the journal lives; empty: nothing is kept.
	Dir string
	// Now stamps messages and decides how long triggers, tickets and response
	// URLs live; nil: time.Now.
	Now func() time.Time
	// Logger gets one line per unusual thing; nil: nothing is logged. Message
	// texts and tokens are never logged.
	Logger *slog.Logger

	AppToken string // xapp-…
	BotToken string // xoxb-…

	// App holds the facts of the app's manifest.
	App Manifest
	// Team, People, Usergroups and Channels are put in at the first start; a
	// journal that already knows an id keeps its own version.
	Team       Team
	People     []Person
	Usergroups []Usergroup
	Channels   []Channel

	Timing Timing
	Limits Limits
	// UpdateDropsBlocks plays the other reading of chat.update without blocks:
	// they go. The default keeps them, and old buttons with them.
	UpdateDropsBlocks bool
	// UploadElsewhere gives upload addresses under another host name (localhost)
	// than the API's, as Slack does. Some clients send no token there.
	UploadElsewhere bool
	// Seed makes the choice of a connection repeatable; 0 counts as 1.
	Seed uint64

	// Page configures the web page; nil: no page.
	Page *PageConfig
}

// PageConfig is what the web page shows beside the workspace.
type PageConfig struct {
	Banner string  // one line above everything; empty: none
	Scenes []Scene // the "try these" panel
	// Words are translations of these texts and of channels' topics: by language (zh),
	// then by the text. What has none is shown as it is.
	Words map[string]map[string]string
}

// Scene is something to try, offered on the page.
type Scene struct {
	Title     string `json:"title"`
	Text      string `json:"text"`              // goes into the composer
	As        string `json:"as"`                // person id
	Channel   string `json:"channel"`           // channel id
	Available bool   `json:"available"`         // false: Why says what is missing
	Why       string `json:"why,omitempty"`     // only when not available
	Details   string `json:"details,omitempty"` // what to watch for
}

// Manifest holds what Slack knows about the app from its settings.
type Manifest struct {
	App       App
	Scopes    []string // of the bot token; nil: DefaultScopes
	AppScopes []string // of the app-level token; nil: connections:write
	Events    []string // subscribed bot events; nil: DefaultEvents
	Commands  []string // slash commands with their slash
	IsAgent   bool     // declared as an agent: agents.sessions.* works
}

// DefaultScopes are the bot scopes that an app like ours asks for.
func DefaultScopes() []string {
	return []string{
		"app_mentions:read", "chat:write", "channels:history", "groups:history", "im:history", "channels:read",
		"groups:read", "im:write", "users:read", "usergroups:read", "reactions:write", "files:read", "files:write",
		"team:read", "commands",
	}
}

// DefaultEvents are the bot events that an app like ours subscribes to.
func DefaultEvents() []string {
	return []string{
		"app_mention", "message.channels", "message.groups", "message.im", "member_joined_channel",
		"member_left_channel", "channel_id_changed", "channel_shared", "channel_archive", "channel_left", "group_left",
		"app_home_opened", "subteam_members_changed", "user_change", "tokens_revoked", "app_uninstalled",
	}
}

// Timing holds Slack's clocks. Tests shorten them; zero fields take the
// default.
type Timing struct {
	Ack         time.Duration   // how long an envelope waits for its ack; 3 s
	Retries     []time.Duration // waits before the tries of an event; 0, 60 s, 300 s
	Ping        time.Duration   // between the server's pings; 10 s
	Pong        time.Duration   // without any pong for so long the connection is closed; 30 s
	Ticket      time.Duration   // life of a wss ticket; 30 s
	Trigger     time.Duration   // life of a trigger_id; 3 s
	ResponseURL time.Duration   // life of a response_url; 30 min
	Warning     time.Duration   // from "disconnect warning" to the close; 10 s
	Status      time.Duration   // life of an assistant status; 2 min
	Stream      time.Duration   // life of a streamed message; 5 min
}

func (t *Timing) setDefaults() {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Ack, 3 * time.Second},
		{&t.Ping, 10 * time.Second},
		{&t.Pong, 30 * time.Second},
		{&t.Ticket, 30 * time.Second},
		{&t.Trigger, 3 * time.Second},
		{&t.ResponseURL, 30 * time.Minute},
		{&t.Warning, 10 * time.Second},
		{&t.Status, 2 * time.Minute},
		{&t.Stream, 5 * time.Minute},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if t.Retries == nil {
		t.Retries = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
}

// Limits are the Web API's rate limits.
type Limits struct {
	Off bool
	// Factor multiplies what is allowed; 0 counts as 1. Tests that post a lot
	// raise it.
	Factor float64
	// RestrictedHistory plays the rule for apps distributed outside the
	// Marketplace: history and replies once a minute, 15 objects.
	RestrictedHistory bool
}

// errConfig marks a configuration that cannot be played.
var errConfig = errors.New("local Slack configuration")

func (c *Config) setDefaults() error {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Seed == 0 {
		c.Seed = 1
	}
	if c.Limits.Factor == 0 {
		c.Limits.Factor = 1
	}
	if c.Team.ID == "" {
		c.Team = Team{ID: "T00000001", Name: "Local", Domain: "local"}
	}
	c.Timing.setDefaults()
	c.App.setDefaults()
	if c.AppToken == "" || c.BotToken == "" {
		return fmt.Errorf("%w: both tokens are needed", errConfig)
	}
	return nil
}

func (m *Manifest) setDefaults() {
	if m.App.ID == "" {
		m.App = App{ID: "A00000001", BotID: "B00000001", UserID: "U0BOT", Name: "countersign"}
	}
	if m.Scopes == nil {
		m.Scopes = DefaultScopes()
	}
	if m.AppScopes == nil {
		m.AppScopes = []string{"connections:write"}
	}
	if m.Events == nil {
		m.Events = DefaultEvents()
	}
}

package localslack

import (
	"encoding/json"
	"slices"
	"time"
)

// Team is the workspace itself.
type Team struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain string `json:"domain"`

	EnterpriseID string `json:"enterprise_id,omitempty"` // of the organisation that it belongs to
}

// App is the one app that is installed: the bot under test.
type App struct {
	ID     string `json:"id"`      // A…
	BotID  string `json:"bot_id"`  // B…
	UserID string `json:"user_id"` // U…, the bot's own person
	Name   string `json:"name"`    // handle without the at sign
}

// Person is a member of the workspace, a guest, an outsider or a bot.
type Person struct {
	ID                string `json:"id"`
	TeamID            string `json:"team_id"` // empty: the workspace's own
	Name              string `json:"name"`    // handle
	RealName          string `json:"real_name"`
	IsBot             bool   `json:"is_bot,omitempty"`
	BotID             string `json:"bot_id,omitempty"` // bots only
	AppID             string `json:"app_id,omitempty"` // bots only
	Deleted           bool   `json:"deleted,omitempty"`
	IsRestricted      bool   `json:"is_restricted,omitempty"`       // multi-channel guest
	IsUltraRestricted bool   `json:"is_ultra_restricted,omitempty"` // single-channel guest
	IsStranger        bool   `json:"is_stranger,omitempty"`         // outsider who shares no channel
	Hidden            bool   `json:"hidden,omitempty"`              // users.info answers user_not_visible
	Locale            string `json:"locale,omitempty"`              // en-US when empty
	TZ                string `json:"tz,omitempty"`                  // UTC when empty
	EnterpriseID      string `json:"enterprise_id,omitempty"`       // of an organisation, whose people keep their id in all its workspaces
}

// Usergroup is a named set of people that can be mentioned (S…).
type Usergroup struct {
	ID       string   `json:"id"`
	Handle   string   `json:"handle"`
	Name     string   `json:"name"`
	Members  []string `json:"members"`
	Disabled bool     `json:"disabled,omitempty"`
	Updated  int64    `json:"updated,omitempty"` // unix seconds of the last change
}

// ChannelKind tells the four kinds of conversations apart.
type ChannelKind string

// The kinds of conversations.
const (
	Public  ChannelKind = "channel"
	Private ChannelKind = "group"
	Direct  ChannelKind = "im"
	Multi   ChannelKind = "mpim"
)

// Channel is a conversation. Direct messages with the bot are Direct channels
// of two members.
type Channel struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Kind      ChannelKind `json:"kind"`
	Members   []string    `json:"members"`
	Topic     string      `json:"topic,omitempty"`
	Archived  bool        `json:"archived,omitempty"`
	ExtShared bool        `json:"ext_shared,omitempty"` // shared by Slack Connect
	ReadOnly  bool        `json:"read_only,omitempty"`  // the bot may not post: restricted_action
}

// Has reports whether the person is a member.
func (c Channel) Has(user string) bool { return slices.Contains(c.Members, user) }

// Metadata is a message's hidden data for apps.
type Metadata struct {
	EventType    string          `json:"event_type"`
	EventPayload json.RawMessage `json:"event_payload"`
}

// Edited says who changed a message last, and when (a ts).
type Edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// Reaction is one emoji under a message with the people who pressed it.
type Reaction struct {
	Name  string   `json:"name"`
	Users []string `json:"users"`
}

// Message is one message of a channel. TS is unique and increasing within its
// channel and is the message's name.
type Message struct {
	Channel     string          `json:"channel"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts,omitempty"` // root of its thread; empty or equal to TS at the root
	User        string          `json:"user"`
	BotID       string          `json:"bot_id,omitempty"`
	AppID       string          `json:"app_id,omitempty"`
	ClientMsgID string          `json:"client_msg_id,omitempty"` // people's messages only
	Subtype     string          `json:"subtype,omitempty"`
	Text        string          `json:"text"` // escaped, as Slack stores it
	Blocks      json.RawMessage `json:"blocks,omitempty"`
	Attachments json.RawMessage `json:"attachments,omitempty"`
	Metadata    *Metadata       `json:"metadata,omitempty"`
	Files       []string        `json:"files,omitempty"` // file ids
	Edited      *Edited         `json:"edited,omitempty"`
	Deleted     bool            `json:"deleted,omitempty"`
	Reactions   []Reaction      `json:"reactions,omitempty"`
	EphemeralTo string          `json:"ephemeral_to,omitempty"` // only this person sees it
	Broadcast   bool            `json:"broadcast,omitempty"`    // thread reply also shown in the channel
	Parse       string          `json:"parse,omitempty"`
	LinkNames   bool            `json:"link_names,omitempty"`
	NoUnfurl    bool            `json:"no_unfurl,omitempty"` // both unfurl flags were false
	Streaming   string          `json:"streaming,omitempty"` // in_progress, completed, errored; empty: no stream
	Version     int             `json:"version"`             // 1 at first, one more at each change
}

// IsReply reports whether the message is a reply within a thread.
func (m Message) IsReply() bool { return m.ThreadTS != "" && m.ThreadTS != m.TS }

// Root is the ts of the thread that the message belongs to or would open.
func (m Message) Root() string {
	if m.ThreadTS != "" {
		return m.ThreadTS
	}
	return m.TS
}

// VisibleTo reports whether the person may see the message, given that they
// are in the channel.
func (m Message) VisibleTo(user string) bool {
	return !m.Deleted && (m.EphemeralTo == "" || m.EphemeralTo == user)
}

// File is an uploaded file with its bytes.
type File struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Title    string    `json:"title,omitempty"`
	User     string    `json:"user"`
	Mimetype string    `json:"mimetype"`
	Content  []byte    `json:"content"`
	Created  time.Time `json:"created"`
	Channels []string  `json:"channels,omitempty"`
}

// View is a modal in somebody's stack, or somebody's Home tab.
type View struct {
	ID              string          `json:"id"` // V…
	Type            string          `json:"type"`
	User            string          `json:"user"` // whose screen shows it
	CallbackID      string          `json:"callback_id,omitempty"`
	ExternalID      string          `json:"external_id,omitempty"`
	PrivateMetadata string          `json:"private_metadata,omitempty"`
	Title           json.RawMessage `json:"title,omitempty"`
	Submit          json.RawMessage `json:"submit,omitempty"`
	Close           json.RawMessage `json:"close,omitempty"`
	Blocks          json.RawMessage `json:"blocks"`
	ClearOnClose    bool            `json:"clear_on_close,omitempty"`
	NotifyOnClose   bool            `json:"notify_on_close,omitempty"`
	Hash            string          `json:"hash"`
	RootID          string          `json:"root_id"`
	PreviousID      string          `json:"previous_id,omitempty"`
}

// Status is the line "<bot> <text>" that an app shows in a thread.
type Status struct {
	Channel  string    `json:"channel"`
	ThreadTS string    `json:"thread_ts"`
	Text     string    `json:"text"`
	State    string    `json:"state,omitempty"` // agent session: active, processing, suspended, closed
	Until    time.Time `json:"until"`           // gone after this instant
}

// Notice is what Slack itself tells one person, outside any channel: that the
// app did not respond, for example.
type Notice struct {
	User string    `json:"user"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

package localslack

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// pageMessages is how many of a channel's newest messages a browser gets.
	pageMessages = 1000
	// previewRunes is how much of a text file stands under its name.
	previewRunes = 400
)

// pageState is everything that one person's screen shows.
type pageState struct {
	Seq        int64                    `json:"seq"` // the events after it follow on the stream
	Me         string                   `json:"me"`
	Team       Team                     `json:"team"`
	App        App                      `json:"app"`
	Banner     string                   `json:"banner"`
	Words      map[string]string        `json:"words,omitempty"` // of the banner, scenes and topics, in the person's language
	Scenes     []Scene                  `json:"scenes"`
	Commands   []string                 `json:"commands"` // the app's slash commands
	People     []Person                 `json:"people"`
	Usergroups []Usergroup              `json:"usergroups"`
	Channels   []Channel                `json:"channels"`
	Messages   map[string][]pageMessage `json:"messages"` // by channel, oldest first
	Statuses   map[string][]Status      `json:"statuses"` // by channel
	Views      []View                   `json:"views"`    // the top of the stack is last
	Home       *View                    `json:"home"`
	Sockets    int                      `json:"sockets"` // the app's open connections
}

// pageMessage is a message with its files described instead of named.
type pageMessage struct {
	Message
	Files    []pageFile `json:"files,omitempty"`
	Metadata *Metadata  `json:"metadata,omitempty"` // always nil: people do not see it
}

type pageFile struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	Mimetype string `json:"mimetype"`
	Size     int    `json:"size"` // bytes
	Preview  string `json:"preview,omitempty"`
}

// state answers with the whole screen of the person in the query, who may be
// named by id or handle; without one, of the first person there is.
func (p *page) state(w http.ResponseWriter, r *http.Request) {
	me, ok := p.player(r.URL.Query().Get("user"))
	if !ok {
		writeError(w, refuse("user_not_found"))
		return
	}
	writeJSON(w, http.StatusOK, p.screen(me))
}

func (p *page) screen(me Person) pageState {
	ws := p.server.Workspace()
	s := pageState{
		Seq: ws.Seq(), Me: me.ID, Team: ws.Team(), App: ws.App(), Banner: p.config.Banner,
		Words:  p.config.Words[language(me.Locale)],
		Scenes: filled(p.config.Scenes), Commands: filled(p.server.cfg.App.Commands), People: filled(ws.People()), Usergroups: filled(ws.Usergroups()),
		Channels: filled(p.channels(me)), Messages: map[string][]pageMessage{}, Statuses: map[string][]Status{},
		Views: filled(ws.Views(me.ID)), Home: p.home(me),
		Sockets: p.server.Connections(),
	}
	for _, c := range s.Channels {
		s.Messages[c.ID] = p.messages(c.ID, me)
		s.Statuses[c.ID] = filled(ws.Statuses(c.ID))
	}
	return s
}

// language is that of a locale: zh of zh-CN.
func language(locale string) string {
	short, _, _ := strings.Cut(strings.ToLower(locale), "-")
	return short
}

// player finds a person that the page can be: a human who is still here.
func (p *page) player(name string) (Person, bool) {
	for _, who := range p.server.Workspace().People() {
		if !who.IsBot && !who.Deleted && (name == "" || who.ID == name || who.Name == name) {
			return who, true
		}
	}
	return Person{}, false
}

// channels are the channels on the person's screen. Guests and outsiders see
// only those that they were let into.
func (p *page) channels(me Person) []Channel {
	ws := p.server.Workspace()
	all := ws.Channels(me.ID)
	if !me.IsRestricted && !me.IsUltraRestricted && !me.IsStranger && me.TeamID == ws.Team().ID {
		return all
	}
	return slices.DeleteFunc(all, func(c Channel) bool { return !c.Has(me.ID) })
}

func (p *page) sees(me Person, channel string) bool {
	return slices.ContainsFunc(p.channels(me), func(c Channel) bool { return c.ID == channel })
}

func (p *page) messages(channel string, me Person) []pageMessage {
	all := p.server.Workspace().Messages(channel, me.ID)
	if len(all) > pageMessages {
		all = all[len(all)-pageMessages:]
	}
	out := make([]pageMessage, 0, len(all))
	for _, m := range all {
		out = append(out, p.message(m))
	}
	return out
}

func (p *page) message(m Message) pageMessage {
	out := pageMessage{Message: m}
	for _, id := range m.Files {
		if f, ok := p.server.Workspace().File(id); ok {
			out.Files = append(out.Files, describe(f))
		}
	}
	return out
}

func describe(f File) pageFile {
	d := pageFile{ID: f.ID, Name: f.Name, Title: f.Title, Mimetype: f.Mimetype, Size: len(f.Content)}
	if (strings.HasPrefix(f.Mimetype, "text/") || f.Mimetype == "application/json") && utf8.Valid(f.Content) {
		d.Preview = firstRunes(string(f.Content), previewRunes)
	}
	return d
}

// firstRunes cuts text after n runes and marks the cut.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i] + "…"
		}
		n--
	}
	return text
}

func (p *page) home(me Person) *View {
	if v, ok := p.server.Workspace().Home(me.ID); ok {
		return &v
	}
	return nil
}

// filled turns nil into an empty list, so that scripts find a list in any case.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

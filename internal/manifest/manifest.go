// Package manifest makes the Slack app manifest that a configuration needs:
// exactly the scopes and events that the bot uses with it, each with its reason.
package manifest

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"

	"countersign/internal/config"
	"countersign/internal/fault"
)

// DefaultName is what the app is called when nobody says otherwise.
const DefaultName = "countersign"

// maxName is the longest name that Slack takes for an app, in characters; from
// its manifest schema.
const maxName = 35

// Item is one scope or event, and what it is for.
type Item struct {
	Name string
	Why  string
}

// Manifest is what an app has to be allowed and told.
type Manifest struct {
	Name   string
	Scopes []Item // of the bot token
	Events []Item
	Direct bool // people may write to the app itself, without a channel
}

// Command is the slash command; every app of a workspace needs its own.
const Command = "/countersign"

// Command is the manifest's slash command.
func (*Manifest) Command() string { return Command }

// For gives the manifest of a configuration. The name is the app's; empty means
// DefaultName.
func For(c *config.Config, name string) (*Manifest, error) {
	if name == "" {
		name = DefaultName
	}
	if utf8.RuneCountInString(name) > maxName || strings.ContainsAny(name, "\"\\\n\r\t") {
		return nil, fault.New(fault.Invalid, "The app's name has at most %d characters, without quotes, backslashes and line breaks.", maxName)
	}
	m := &Manifest{Name: name, Direct: direct(c)}
	groups := usergroups(c)
	for _, p := range parts {
		if p.needs == forGroups && !groups || p.needs == forDirect && !m.Direct {
			continue
		}
		m.Scopes = append(m.Scopes, p.scopes...)
		m.Events = append(m.Events, p.events...)
	}
	return m, nil
}

// ScopeNames lists the scopes of the bot token.
func (m *Manifest) ScopeNames() []string { return names(m.Scopes) }

// EventNames lists the events.
func (m *Manifest) EventNames() []string { return names(m.Events) }

func names(items []Item) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = item.Name
	}
	return out
}

// direct says whether a direct conversation is among the channels where the bot
// answers: with none named it answers in every one.
func direct(c *config.Config) bool {
	if len(c.Slack.Channels) == 0 {
		return true
	}
	for _, id := range c.Slack.Channels {
		if strings.HasPrefix(string(id), "D") {
			return true
		}
	}
	return false
}

// usergroups says whether somebody holds a role by a user group.
func usergroups(c *config.Config) bool {
	for _, r := range c.Roles {
		if len(r.Usergroups) > 0 {
			return true
		}
	}
	return false
}

//go:embed manifest.yaml.tmpl
var layout string

// YAML prints the manifest as Slack takes it.
func (m *Manifest) YAML() (string, error) {
	t, err := template.New("manifest").Funcs(template.FuncMap{"pad": func(s string) string { return fmt.Sprintf("%-24s", s) }}).Parse(layout)
	if err != nil {
		return "", fmt.Errorf("layout of the manifest: %w", err)
	}
	var out strings.Builder
	if err := t.Execute(&out, m); err != nil {
		return "", fmt.Errorf("print the manifest: %w", err)
	}
	return out.String(), nil
}

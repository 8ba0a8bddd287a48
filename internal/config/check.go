package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// checker collects what is wrong across settings.
type checker struct {
	*Config
	problems Problems
}

// Check holds the settings against each other and against what this version can
// do. Load has done so already; it is for configurations made in code. The error
// is a Problems.
func (c *Config) Check() error {
	k := &checker{Config: c}
	k.tokens()
	k.addresses()
	k.roles()
	k.approvals()
	k.codeKeys()
	k.rules()
	k.tools()
	k.self()
	k.costs()
	k.schedules()
	k.redactions()
	k.available()
	return k.problems.asError()
}

func (k *checker) fail(key, format string, args ...any) {
	k.problems = append(k.problems, k.source.problem(key, format, args...))
}

// Prefixes of Slack's tokens, from its documentation of token types.
const (
	appTokenPrefix = "xapp-"
	botTokenPrefix = "xoxb-"
)

func (k *checker) tokens() {
	app, bot := k.Slack.AppToken.Reveal(), k.Slack.BotToken.Reveal()
	if strings.HasPrefix(app, botTokenPrefix) && strings.HasPrefix(bot, appTokenPrefix) {
		k.fail("slack.app_token", "this is the bot token, and slack.bot_token (SLACK_BOT_TOKEN) is the app-level token: swap the two")
		return
	}
	k.token("slack.app_token", app, appTokenPrefix, "an app-level token (Basic Information, App-Level Tokens, scope connections:write)")
	k.token("slack.bot_token", bot, botTokenPrefix, "a bot token (OAuth & Permissions, Bot User OAuth Token)")
}

func (k *checker) token(key, token, prefix, what string) {
	switch {
	case token == "":
	case token != strings.TrimSpace(token):
		k.fail(key, "there is space around the token")
	case !strings.HasPrefix(token, prefix) || len(token) == len(prefix):
		k.fail(key, "this is not %s; it begins with %s", what, prefix)
	}
}

func (k *checker) addresses() {
	k.web("slack.api_url", k.Slack.APIURL)
	k.web("model.base_url", k.Model.BaseURL)
	if why := databaseProblem(k.Database.URL.Reveal()); why != "" {
		k.fail("database.url", "%s", why)
	}
	if k.HTTP.Addr == "" {
		return // no listener
	}
	if _, port, err := net.SplitHostPort(k.HTTP.Addr); err != nil || port == "" {
		k.fail("http.addr", "%q is no host:port, like 127.0.0.1:8080", k.HTTP.Addr)
	}
}

// web checks an address that may be empty.
func (k *checker) web(key, address string) {
	if address != "" && !isWeb(address) {
		k.fail(key, "must be an address that begins with https:// or http://")
	}
}

func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// databaseProblem says what is wrong with the address of a database, "" when
// nothing is. It never repeats the address, which holds a password.
func databaseProblem(address string) string {
	scheme, rest, found := strings.Cut(address, ":")
	switch {
	case !found || rest == "":
		return "write sqlite:FILE or postgres://USER:PASSWORD@HOST/DATABASE"
	case scheme == "sqlite" && strings.HasPrefix(rest, "//"):
		return "write sqlite:FILE without slashes before the path"
	case scheme == "sqlite" && strings.Contains(rest, ":memory:"):
		return "a database in memory would lose every run at a restart; write sqlite:FILE"
	case scheme == "sqlite":
		return ""
	case scheme == "postgres" || scheme == "postgresql":
		if u, err := url.Parse(address); err != nil || !strings.HasPrefix(rest, "//") || u.Path == "" || u.Path == "/" {
			return "this is no address of Postgres; write postgres://USER:PASSWORD@HOST:PORT/DATABASE (special characters of the password percent-encoded)"
		}
		return ""
	}
	return "the database " + strings.ToLower(scheme) + " is not supported; write sqlite:FILE or postgres://…"
}

// roleName is how roles are called: words that read well in rules and messages.
var roleName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

func (k *checker) roles() {
	for _, name := range sortedKeys(k.Roles) {
		key := "roles." + name
		r := k.Roles[name]
		if !roleName.MatchString(name) {
			k.fail(key, "a role's name is small letters, digits, _ and -, and begins with a letter")
		}
		if len(r.Users)+len(r.Usergroups)+len(r.Channels) == 0 {
			k.fail(key, "holds nobody: give users, usergroups or channels")
		}
	}
}

// known checks that roles exist.
func (k *checker) known(key string, roles []string) {
	for _, name := range roles {
		if _, ok := k.Roles[name]; !ok {
			k.fail(key, "no role is named %q; roles: %s", name, orNone(sortedKeys(k.Roles)))
		}
	}
}

// approverRoles checks that roles exist and hold somebody who may approve.
func (k *checker) approverRoles(key string, roles []string) {
	k.known(key, roles)
	for _, name := range roles {
		if r, ok := k.Roles[name]; ok && len(r.Channels) > 0 && !r.CanApprove() {
			k.fail(key, "the role %q holds channels alone, which let people ask but never approve", name)
		}
	}
}

func (k *checker) schedules() {
	var seen []string
	for i, s := range k.Schedules {
		key := item("schedules", i)
		if slices.Contains(seen, s.Name) {
			k.fail(key+".name", "two schedules are named %q", s.Name)
		}
		seen = append(seen, s.Name)
		k.known(key+".roles", s.Roles)
		if !roleName.MatchString(s.Name) {
			k.fail(key+".name", "a schedule's name is small letters, digits, _ and -, and begins with a letter")
		}
		k.listened(key+".channel", s.Channel)
		if why := cronProblem(s.Cron); why != "" {
			k.fail(key+".cron", "%s", why)
		}
	}
	k.listened("api.channel", k.API.Channel)
	if h := k.Hooks.Alertmanager; h != nil {
		k.known("hooks.alertmanager.roles", h.Roles)
		k.listened("hooks.alertmanager.channel", h.Channel)
		if len(h.Token.Reveal()) < shortestToken {
			k.fail("hooks.alertmanager.token", "is shorter than %d characters, so it can be guessed", shortestToken)
		}
	}
}

// shortestToken is how long a token must be that people make up.
const shortestToken = 20

// listened checks that the bot answers in a channel where runs are to be shown.
func (k *checker) listened(key string, c ChannelID) {
	if c != "" && len(k.Slack.Channels) > 0 && !slices.Contains(k.Slack.Channels, c) {
		k.fail(key, "the bot does not listen in this channel: add it to slack.channels")
	}
}

func (k *checker) redactions() {
	for i, pattern := range k.Redact {
		key := item("redact", i)
		re, err := regexp.Compile(pattern)
		if err != nil {
			k.fail(key, "is no regular expression: %v", err)
		} else if re.MatchString("") {
			k.fail(key, "matches the empty text, and so would mask everything")
		}
	}
}

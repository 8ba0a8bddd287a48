package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"countersign/bot/survey"
)

// maxSlackSkew is how far our clock may be from Slack's. Times on cards and the
// tokens of other services depend on it; nothing of ours does to the second.
const maxSlackSkew = 10 * time.Second

// Ways to mend things, used more than once.
const (
	reinstall = "Add it to the app (OAuth & Permissions; `countersign manifest` lists all) and install the app again."
	newApp    = "Copy the Bot User OAuth Token (xoxb-…) of the installed app into SLACK_BOT_TOKEN again."
	newSocket = "Make an app-level token (Basic Information, App-Level Tokens) with the scope connections:write, and set SLACK_APP_TOKEN to it."
)

func (e *examiner) slack(ctx context.Context) {
	if e.Slack == nil {
		return
	}
	token, err := e.Slack.Token(ctx)
	if err != nil {
		e.noToken(err)
		e.socket(ctx)
		return
	}
	e.token = token
	e.ok("slack", "The bot token works: @%s in %s (%s).", token.Self.Name, token.Team, token.Self.Team)
	e.scopes()
	e.slackClock()
	e.socket(ctx)
	e.channels(ctx)
	e.people(ctx)
}

func (e *examiner) noToken(err error) {
	var r *survey.Refused
	switch {
	case !errors.As(err, &r):
		e.broken("slack", "Check the network and the proxy (HTTPS_PROXY), and SLACK_API_URL if it is set.", "Slack cannot be reached.")
	case r.Code == "not_allowed_token_type":
		e.broken("slack", newApp, "SLACK_BOT_TOKEN is a token of another kind.")
	case r.Code == "account_inactive" || r.Code == "token_revoked" || r.Code == "token_expired":
		e.broken("slack", "Install the app again, and set SLACK_BOT_TOKEN to its new Bot User OAuth Token (xoxb-…).", "Slack no longer takes SLACK_BOT_TOKEN (%s).", r.Code)
	case r.Code == "ratelimited":
		e.warn("slack", "Wait a minute and ask again.", "Slack limits the calls just now.")
	default:
		e.broken("slack", newApp, "Slack refuses SLACK_BOT_TOKEN (%s).", r.Code)
	}
}

// scopes compares what the token may do with what the configuration needs.
func (e *examiner) scopes() {
	have := e.token.Scopes
	if have == nil {
		e.warn("slack", "Compare the app's scopes with those that `countersign manifest` prints.", "Slack does not say which scopes the bot token has.")
		return
	}
	var missing, surplus []string
	for _, s := range e.Scopes {
		if !slices.Contains(have, s) {
			missing = append(missing, s)
		}
	}
	for _, s := range have {
		if !slices.Contains(e.Scopes, s) {
			surplus = append(surplus, s)
		}
	}
	for _, s := range missing {
		e.broken("slack", reinstall, "The bot token lacks the scope %s%s.", s, lacking(s))
	}
	if len(missing) == 0 {
		e.ok("slack", "The bot token has every scope that the configuration needs.")
	}
	if len(surplus) > 0 {
		e.ok("slack", "It also has scopes that are not needed: %s.", strings.Join(surplus, ", "))
	}
}

// lacking says what goes wrong without a scope.
func lacking(scope string) string {
	switch scope {
	case "app_mentions:read":
		return ", so it hears no requests"
	case "chat:write":
		return ", so it can post nothing"
	case "channels:history", "groups:history":
		return ", so answers to its questions and stop do not reach it"
	case "users:read":
		return ", so it cannot tell who asks and who decides, and refuses everybody"
	case "usergroups:read":
		return ", so it cannot tell who holds a role by a user group"
	case "im:write", "im:history":
		return ", so private notes and results may not arrive"
	case "files:write":
		return ", so it cannot attach long answers"
	}
	return ""
}

func (e *examiner) slackClock() {
	t := e.token
	if !t.Dated {
		return
	}
	if t.Skew.Abs() > maxSlackSkew+t.Within {
		e.skewed = true
		e.broken("clock", "Let this machine keep time (NTP: systemd-timesyncd or chrony), then start again.",
			"This machine's clock is %s %s Slack's.", t.Skew.Abs().Round(time.Second), direction(t.Skew))
		return
	}
	e.ok("clock", "This machine's clock agrees with Slack's to within %s.", (t.Skew.Abs() + t.Within).Round(time.Second))
}

func direction(skew time.Duration) string {
	if skew < 0 {
		return "behind"
	}
	return "ahead of"
}

func (e *examiner) socket(ctx context.Context) {
	if e.Config.Slack.AppToken.IsZero() {
		return // said by whoever asks for the settings of serve
	}
	if e.Running != "" || e.Brief {
		e.opened(e.Slack.Open(ctx), 0)
		return
	}
	if err := e.Slack.Open(ctx); err != nil {
		e.opened(err, 0)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	others, err := e.Slack.Greet(ctx)
	e.opened(err, others)
}

// crowded is how many further connections of an app are more than two replicas
// hold; Slack allows ten in all.
const crowded = 4

func (e *examiner) opened(err error, others int) {
	var r *survey.Refused
	switch {
	case err == nil && others > crowded:
		e.warn("slack", "Stop what else uses this app-level token; use an app of its own for each environment.",
			"The socket opens, but %d other connections use the same app, and each gets a part of the clicks.", others)
	case err == nil && others > 0:
		e.ok("slack", "The socket opens; %d more of the same app are open, as of a countersign that runs elsewhere.", others)
	case err == nil:
		e.ok("slack", "The app-level token works: a socket can be opened.")
	case errors.As(err, &r) && r.Code == "ratelimited":
		e.warn("slack", "Wait a minute and ask again.", "Slack limits the calls just now.")
	case errors.As(err, &r) && (r.Code == "missing_scope" || r.Code == "no_permission"):
		e.broken("slack", newSocket, "The app-level token lacks the scope connections:write.")
	case errors.As(err, &r) && r.Code == "link_disabled":
		e.broken("slack", "Switch Socket Mode on in the app's settings.", "Socket Mode is switched off for the app.")
	case errors.As(err, &r):
		e.broken("slack", newSocket, "Slack refuses SLACK_APP_TOKEN (%s).", r.Code)
	case errors.Is(err, survey.ErrNoGreeting):
		e.broken("slack", noGreetingFix(err), "The socket's address is given out, but Slack does not greet on it (%s).", why(err))
	default:
		e.broken("slack", "Check the network and the proxy (HTTPS_PROXY), and SLACK_API_URL if it is set.", "Slack cannot be asked for a socket.")
	}
}

func why(err error) string {
	_, reason, _ := strings.Cut(err.Error(), ": ")
	if reason == "" {
		return "no answer"
	}
	return reason
}

func noGreetingFix(err error) string {
	switch {
	case strings.Contains(err.Error(), "too_many_websockets"):
		return "Stop what else uses this app-level token: Slack allows ten connections of an app at once."
	case strings.Contains(err.Error(), "link_disabled"):
		return "Switch Socket Mode on in the app's settings."
	}
	return "Let WebSockets to wss://*.slack.com through the firewall or the proxy."
}

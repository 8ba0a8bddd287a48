package bot

import (
	"context"
	"errors"
	"net/http"

	"github.com/slack-go/slack"

	"countersign/bot/socket"
	"countersign/internal/fault"
)

// Edge is the Web API client: the one place where the tokens are.
type Edge struct {
	API  *slack.Client
	line *patient
}

// NewEdge makes a client. An empty address means Slack's own.
func NewEdge(botToken, appToken, address string, client *http.Client) *Edge {
	line := newPatient(client.Transport, address)
	own := *client
	own.Transport = line
	options := []slack.Option{slack.OptionAppLevelToken(appToken), slack.OptionHTTPClient(&own)}
	if address != "" {
		options = append(options, slack.OptionAPIURL(address))
	}
	return &Edge{API: slack.New(botToken, options...), line: line}
}

// Self asks who the bot is. The fault says in one sentence what to do.
func (e *Edge) Self(ctx context.Context) (Self, error) {
	r, err := e.API.AuthTestContext(ctx)
	if err != nil {
		return Self{}, authFault(err)
	}
	self := Self{Team: r.TeamID, User: r.UserID, Bot: r.BotID, Name: r.User, Enterprise: r.EnterpriseID}
	// The app's id only sharpens what is refused anyway; without it nothing is lost.
	if b, err := e.API.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: r.BotID}); err == nil {
		self.App = b.AppID
	}
	return self, nil
}

func authFault(err error) error {
	var s slack.SlackErrorResponse
	if !errors.As(err, &s) {
		return fault.Wrap(err, fault.Unavailable, "Slack cannot be reached. Check the network, and SLACK_API_URL if it is set.")
	}
	switch s.Err {
	case "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive":
		return fault.Wrap(err, fault.Invalid, "Slack refuses SLACK_BOT_TOKEN (%s): copy the Bot User OAuth Token (xoxb-…) of the installed app again.", s.Err)
	case "not_allowed_token_type":
		return fault.Wrap(err, fault.Invalid, "SLACK_BOT_TOKEN is not a bot token: it starts with xoxb-; the one that starts with xapp- belongs into SLACK_APP_TOKEN.")
	}
	return fault.Wrap(err, fault.Unavailable, "Slack answers %s to the first call.", s.Err)
}

// Open asks for a socket's address.
func (e *Edge) Open() func(context.Context) (string, error) { return socket.WebAPI(e.API) }

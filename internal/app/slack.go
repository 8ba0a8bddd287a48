package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"countersign/bot"
	"countersign/internal/fault"
)

// slackTimeout bounds one call of the Web API; its client has none of its own.
const slackTimeout = 30 * time.Second

func (a *edition) wireSlack(ctx context.Context) error {
	if a.slack != nil { // that of the edition before
		return nil
	}
	s := a.cfg.Slack
	if s.BotToken.IsZero() || s.AppToken.IsZero() {
		return fault.New(fault.Invalid, "SLACK_BOT_TOKEN (xoxb-…) and SLACK_APP_TOKEN (xapp-…) are needed: `countersign manifest` prints the app to create, `countersign demo` needs neither.")
	}
	return a.askSlack(ctx)
}

// askSlack asks who the bot is, which takes the bot token alone.
func (a *edition) askSlack(ctx context.Context) error {
	s := a.cfg.Slack
	edge := bot.NewEdge(s.BotToken.Reveal(), s.AppToken.Reveal(), apiURL(s.APIURL), &http.Client{Timeout: slackTimeout})
	self, err := edge.Self(ctx)
	if err != nil {
		return err
	}
	a.slack = &line{edge: edge, self: self}
	return nil
}

// apiURL ends the address as the client wants it.
func apiURL(address string) string {
	if address == "" {
		return ""
	}
	return fmt.Sprintf("%s/", strings.TrimRight(address, "/"))
}

package bot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/slack-go/slack"

	"countersign/bot/card"
	"countersign/bot/socket"
)

// typedCommand is a slash command, as far as it is needed.
type typedCommand struct {
	User     string `json:"user_id"`
	Channel  string `json:"channel_id"`
	Text     string `json:"text"`
	Response string `json:"response_url"` // a bearer secret: never stored, never logged
}

// command answers a slash command privately, through the one way that works in
// every channel. It decides nothing, so that a lost one can simply be typed again.
func (b *Bot) command(_ context.Context, e socket.Envelope) socket.Response {
	var c typedCommand
	if json.Unmarshal(e.Payload, &c) != nil || c.User == "" || c.Response == "" {
		return socket.Response{Ack: true}
	}
	b.background("command", callTimeout, func(ctx context.Context) error {
		m, err := b.commandAnswer(ctx, c)
		if err != nil {
			return err
		}
		unfurl := false
		answer := &slack.WebhookMessage{Text: m.Text, ResponseType: slack.ResponseTypeEphemeral, UnfurlLinks: &unfurl, UnfurlMedia: &unfurl}
		if len(m.Blocks) > 0 {
			answer.Blocks = &slack.Blocks{BlockSet: m.Blocks}
		}
		if err := slack.PostWebhookContext(ctx, c.Response, answer); err != nil {
			return errors.New("the answer to a slash command could not be delivered") // the cause holds the secret address
		}
		return nil
	})
	return socket.Response{Ack: true}
}

// commandAnswer is what waits for the person, or the help.
func (b *Bot) commandAnswer(ctx context.Context, c typedCommand) (card.Message, error) {
	lang := b.langOf(ctx, c.User)
	person, err := b.Directory.Person(ctx, b.actor(c.User), false)
	if err != nil {
		return card.Message{Text: b.Card.Refusal("en", "cannot_check", "", nil)}, nil
	}
	if strings.TrimSpace(strings.ToLower(c.Text)) != "pending" {
		return b.helpFor(lang, person, c.Channel), nil
	}
	mine, err := b.waitingFor(ctx, person)
	if err != nil {
		return card.Message{}, err
	}
	if len(mine) == 0 {
		return card.Message{Text: b.Words.In(lang).Say("pending.none")}, nil
	}
	links := make([]string, len(mine))
	for i := range mine {
		links[i] = b.linkTo(ctx, &mine[i].Run)
	}
	return b.Card.Pending(lang, mine, links), nil
}

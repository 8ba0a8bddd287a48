package bot

import (
	"context"
	"encoding/json"

	"countersign/bot/card"
	"countersign/bot/slacktext"
	"countersign/bot/socket"
)

// typedCommand is a slash command, as far as it is needed.
type typedCommand struct {
	User     string `json:"user_id"`
	Channel  string `json:"channel_id"`
	Text     string `json:"text"`
	Trigger  string `json:"trigger_id"`   // the same in every delivery of one command
	Response string `json:"response_url"` // a bearer secret: never stored, never logged
}

// command answers a slash command privately. It decides nothing, so nothing has to be
// stored before the acknowledgement: a lost one can simply be typed again.
func (b *Bot) command(_ context.Context, e socket.Envelope) socket.Response {
	var c typedCommand
	if json.Unmarshal(e.Payload, &c) != nil || c.User == "" || c.Response == "" {
		return socket.Response{Ack: true}
	}
	b.background("command", callTimeout, func(ctx context.Context) error {
		fresh, err := b.Clicks.SeenEvent(ctx, "command/"+c.Trigger, b.Now())
		if err != nil || !fresh && c.Trigger != "" {
			return err
		}
		m, err := b.commandAnswer(ctx, c)
		if err != nil {
			return err
		}
		return b.respond(ctx, c.Response, place{channel: c.Channel, user: c.User}, m)
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
	if slacktext.CommandWord(c.Text) != "pending" {
		return b.helpFor(lang, person, c.Channel), nil
	}
	mine, partial, err := b.waitingFor(ctx, person)
	if err != nil {
		return card.Message{}, err
	}
	if len(mine) == 0 {
		return card.Message{Text: b.Words.In(lang).Say("pending.none")}, nil
	}
	links := make([]string, min(len(mine), mostOnHome))
	for i := range links {
		links[i] = b.linkTo(ctx, &mine[i].Run)
	}
	return b.Card.Pending(lang, card.Home{Waiting: mine, Partial: partial}, links), nil
}

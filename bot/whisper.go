package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/bot/card"
	"countersign/tools"
)

// callTimeout bounds one piece of work that talks to Slack after an acknowledgement.
const callTimeout = 20 * time.Second

// whisper shows one private sentence to one person.
func (b *Bot) whisper(ctx context.Context, channel, user, thread, text string) error {
	options := []slack.MsgOption{
		slack.MsgOptionText(text, false), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
	if thread != "" {
		options = append(options, slack.MsgOptionTS(thread))
	}
	_, err := b.API.PostEphemeralContext(ctx, channel, user, options...)
	if thread != "" && said(err, "cannot_reply_to_message", "thread_not_found") {
		return b.whisper(ctx, channel, user, "", text) // a stored click knows its message, not the thread of that
	}
	if err != nil {
		return fmt.Errorf("whisper in %s: %w", channel, err)
	}
	return nil
}

// whisperBlocks shows a private message with blocks.
func (b *Bot) whisperBlocks(ctx context.Context, channel, user, thread string, m card.Message) error {
	options := []slack.MsgOption{
		slack.MsgOptionText(m.Text, false), slack.MsgOptionBlocks(m.Blocks...), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
	if thread != "" {
		options = append(options, slack.MsgOptionTS(thread))
	}
	if _, err := b.API.PostEphemeralContext(ctx, channel, user, options...); err != nil {
		return fmt.Errorf("whisper in %s: %w", channel, err)
	}
	return nil
}

// langOf is the reader's language, for private notes.
func (b *Bot) langOf(ctx context.Context, user string) string {
	if _, err := b.Directory.Person(ctx, b.actor(user), false); err != nil {
		return "en"
	}
	return b.knownLang(user)
}

// knownLang is the reader's language as far as it is remembered: for answers that
// may not wait for Slack.
func (b *Bot) knownLang(user string) string {
	if strings.HasPrefix(b.Directory.KnownLocale(user), "zh") {
		return "zh"
	}
	return "en"
}

// place is where one person reads something private.
type place struct{ channel, user, thread string }

// respond answers an interaction privately, through its response_url or, when that is
// used up, expired or refused, as a private message in the channel.
func (b *Bot) respond(ctx context.Context, url string, at place, m card.Message) error {
	if url != "" && postTo(ctx, url, m) == nil {
		return nil
	}
	if at.channel == "" {
		return errors.New("there is no way to answer an interaction")
	}
	if len(m.Blocks) == 0 {
		return b.whisper(ctx, at.channel, at.user, at.thread, m.Text)
	}
	return b.whisperBlocks(ctx, at.channel, at.user, at.thread, m)
}

// postTo sends a private message to a response_url. Its error holds the secret address
// and is not to be logged.
func postTo(ctx context.Context, url string, m card.Message) error {
	unfurl := false
	answer := &slack.WebhookMessage{Text: m.Text, ResponseType: slack.ResponseTypeEphemeral, UnfurlLinks: &unfurl, UnfurlMedia: &unfurl}
	if len(m.Blocks) > 0 {
		answer.Blocks = &slack.Blocks{BlockSet: m.Blocks}
	}
	return slack.PostWebhookContext(ctx, url, answer)
}

// offered are the tools that a person may ask for in a channel.
func (b *Bot) offered(who policy.Person, channel string) []tools.Spec {
	return slices.DeleteFunc(b.Tools.Specs(), func(s tools.Spec) bool { return !b.Directory.policy().Offers(s, who, channel) })
}

// helpFor is the help; who may not ask for anything is told so, and sees no tools.
func (b *Bot) helpFor(lang string, person policy.Person, channel string) card.Message {
	if person.Standing != policy.Member {
		return b.Card.Sentence(b.Card.Refusal(lang, "not_member", "", nil))
	}
	return b.Card.Help(lang, b.offered(person, channel))
}

func (b *Bot) help(ctx context.Context, m message) error {
	person, err := b.Directory.Person(ctx, b.actor(m.User), false)
	if err != nil {
		return b.whisper(ctx, m.Channel, m.User, m.ThreadTS, b.Card.Refusal("en", "cannot_check", "", nil))
	}
	msg := b.helpFor(b.langOf(ctx, m.User), person, m.Channel)
	return b.whisperBlocks(ctx, m.Channel, m.User, m.ThreadTS, msg)
}

func (b *Bot) status(ctx context.Context, m message, runs []agent.Run) error {
	lang := b.langOf(ctx, m.User)
	if len(runs) == 0 {
		return b.whisper(ctx, m.Channel, m.User, m.ThreadTS, b.Card.Refusal(lang, "nothing_running", "", nil))
	}
	for i := range runs {
		work, err := b.Views.Load(ctx, runs[i].ID)
		if err != nil {
			return err
		}
		msg := b.Card.Status(work, b.where(lang, runs[i].TS))
		if err := b.whisperBlocks(ctx, m.Channel, m.User, m.root(), msg); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bot) greet(ctx context.Context, channel string) error {
	lang := "en"
	if b.Language == "zh" {
		lang = "zh"
	}
	text := b.Words.In(lang).Say("greeting", "bot", "<@"+b.Self.User+">")
	_, _, err := b.API.PostMessageContext(ctx, channel, slack.MsgOptionText(text, false), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
	if err != nil {
		return fmt.Errorf("greet %s: %w", channel, err)
	}
	return nil
}

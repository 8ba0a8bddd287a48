package bot

import (
	"context"
	"sync/atomic"

	"github.com/slack-go/slack"

	"countersign/bot/card"
)

// closedPlace says that Slack refuses this one channel: it is archived, or we are
// no longer in it.
func closedPlace(err error) bool {
	return said(err, "channel_not_found", "is_archived", "not_in_channel", "restricted_action", "restricted_action_thread_locked",
		"thread_not_found", "cannot_reply_to_message", "is_inactive")
}

// elsewhere delivers what a channel does not take any more: cards, questions and
// answers go to the asker directly, with a word on why. A card that the approvals
// channel has too is only told of. Progress is not worth a message.
func (b *Bot) elsewhere(ctx context.Context, d Delivery, msg *card.Message, hash string, cause error) Receipt {
	work, err := b.Views.Load(ctx, msg.Meta.Run)
	if err != nil || isProgress(d.Subject) || work.Run.Channel != d.Channel || isDirect(d.Channel) {
		return b.failed(d, "", cause)
	}
	run := &work.Run
	if d.PostedTS != "" && !hasButtons(msg) {
		return Receipt{Version: d.Version, Gone: true} // it waits for nobody
	}
	b.Logger.WarnContext(ctx, "a channel takes no messages any more; the asker gets them", "subject", d.Subject, "channel", d.Channel, "error", cause)
	lang := b.langOf(ctx, run.Requester().User)
	note := b.Words.In(lang).Say("elsewhere", "channel", "<#"+d.Channel+">")
	if msg.Meta.Approval != "" && b.Cards != "" && b.Cards != d.Channel {
		note = b.Words.In(lang).Say("elsewhere.card", "channel", "<#"+d.Channel+">", "cards", "<#"+b.Cards+">")
		moved := card.Message{Text: note, Blocks: []slack.Block{mrkdwn(note)}, Meta: msg.Meta}
		if _, _, err := b.API.PostMessageContext(ctx, run.Requester().User, b.options(d, &moved, false)...); err != nil {
			return b.failed(d, methodPost, err)
		}
		return Receipt{Version: d.Version, Gone: true}
	}
	moved := *msg
	moved.Blocks = append([]slack.Block{mrkdwn(note)}, msg.Blocks[:min(len(msg.Blocks), 49)]...)
	channel, ts, err := b.API.PostMessageContext(ctx, run.Requester().User, b.options(d, &moved, false)...)
	if err != nil {
		return b.failed(d, methodPost, err)
	}
	return Receipt{Version: d.Version, PostedTS: ts, Hash: hash, Channel: channel}
}

func mrkdwn(text string) slack.Block {
	return slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, text, false, false), nil, nil)
}

// uninstalled remembers that the workspace took our rights away: nothing is sent
// any more, and the process is not ready.
type uninstalled struct{ flag atomic.Bool }

func (u *uninstalled) dead() bool { return u.flag.Load() }

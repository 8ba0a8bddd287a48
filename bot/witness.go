package bot

import (
	"context"

	"github.com/slack-go/slack"

	"countersign/approvals/decisions"
	"countersign/bot/card"
)

// witnessed records what a card said when it was put where somebody can decide on it.
// A card that could not be recorded is not delivered: it is drawn and recorded again.
func (b *Bot) witnessed(ctx context.Context, d Delivery, msg *card.Message, r Receipt) Receipt {
	if r.Version == 0 || r.Gone || msg.Meta.Digest == "" || !hasButtons(msg) {
		return r
	}
	channel := d.Channel
	if r.Channel != "" {
		channel = r.Channel
	}
	m := msg.Meta
	err := b.Door.Shown(ctx, decisions.Showing{
		Run: m.Run, Step: m.Step, Approval: m.Approval, Revision: m.Revision, Digest: m.Digest,
		Channel: channel, TS: r.PostedTS, Hash: r.Hash, Text: card.Shown(msg.Blocks),
	})
	if err != nil {
		d.PostedTS = r.PostedTS
		return b.failed(d, "", err)
	}
	return r
}

// saw records that a person was shown everything of a call, and what that was: its
// words with secrets masked, and the hash of the form.
// Without the row their approval of a card that hides something does not count.
func (b *Bot) saw(ctx context.Context, c *decisions.Case, user, lang string, v slack.ModalViewRequest) error {
	a, who := &c.Approval, b.actor(user)
	err := b.Door.Shown(ctx, decisions.Showing{
		Run: a.Run, Step: a.Step, Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest,
		Who: who, Text: b.Card.Opened(c, lang), Hash: card.Hash(card.Message{Blocks: v.Blocks.BlockSet}),
	})
	if err != nil {
		return err
	}
	return b.Clicks.SaveOpening(ctx, a.ID, a.Revision, who, b.Now())
}

package bot

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot/card"
	"countersign/bot/socket"
)

// isReview says that a button or form is about what one person approved alone.
func isReview(action string) bool {
	return action == actReviewed || action == actConcern || action == callReviewed || action == callConcern
}

// renderReview draws the card on which others look at it.
func (b *Bot) renderReview(ctx context.Context, d Delivery, approval string) (*card.Message, time.Time, error) {
	c, err := b.Views.Case(ctx, approval)
	if err != nil || c.Approval.Review == nil {
		return nil, time.Time{}, err
	}
	at := b.where(b.lang(&c.Run), c.Run.TS)
	if reader := d.Subject[strings.LastIndex(d.Subject, "/")+1:]; isPerson(reader) {
		at.Lang = b.langOf(ctx, reader)
	}
	at.Link = b.linkTo(ctx, &c.Run)
	m := b.Card.Review(c, at)
	m.Meta.Subject = d.Subject
	return &m, time.Time{}, nil
}

// reviewForm draws the form for the words of a review, or says that it is over.
func (b *Bot) reviewForm(c *decisions.Case, action, lang string, meta card.ModalMeta) slack.ModalViewRequest {
	if r := c.Approval.Review; r == nil || r.State != approvals.ReviewOpen {
		return b.Card.Note(lang, "review_over", "", c)
	}
	v := b.Card.ReviewModal(c, action == actConcern, lang)
	return carrying(v, meta)
}

func (b *Bot) submittedReview(ctx context.Context, p *pressed, meta card.ModalMeta) socket.Response {
	if p.View.Callback == callConcern && strings.TrimSpace(reasonOf(p.View)) == "" {
		return formErrors(map[string]string{"reason": b.Words.In(b.knownLang(p.User.ID)).Say("empty")})
	}
	return b.keepForm(ctx, p, meta, Click{
		Approval: meta.Approval, Revision: meta.Revision, Digest: meta.Digest,
		Input: formInput(p.View, "", false),
	})
}

func (b *Bot) review(ctx context.Context, c Click, said approvals.ReviewState) (decisions.Outcome, error) {
	var in form
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return decisions.Outcome{Refused: "bad_button"}, nil
	}
	t := attempt(c, "review")
	t.Text = in.Text
	return b.Door.Review(ctx, t, said)
}

// glassWishes tells everybody who could have decided, but for the one who did alone.
func (b *Bot) glassWishes(ctx context.Context, c *decisions.Case) []agent.Wish {
	if c.Approval.Review == nil {
		return nil
	}
	var out []agent.Wish
	for _, user := range b.deciders(ctx, c) {
		if !c.Approval.ActedAlone(b.actor(user)) {
			out = append(out, agent.Wish{Subject: "approval/" + c.Approval.ID + "/review/" + user, Channel: user, Priority: agent.PriorityCard, ReadyAt: b.Now()})
		}
	}
	return out
}

package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/card"
)

// Marks reads what stands beside an approval.
type Marks interface {
	// RejectedLike gives the id of the latest approval of exactly the same call that
	// was rejected since an instant and before this one was opened; "" for none.
	RejectedLike(ctx context.Context, a *approvals.Approval, since time.Time) (string, error)
	// AuditMark gives the number and hash of the latest audit entry about an approval.
	AuditMark(ctx context.Context, run, approval string) (int64, string, error)
	// Bundle gives the approvals that one press may decide together, by its first step,
	// in the order of their steps.
	Bundle(ctx context.Context, run string, first int) ([]decisions.Case, error)
	// IsLocked says whether a person's decisions do not count.
	IsLocked(ctx context.Context, who policy.Actor) (bool, error)
}

// Private notes: who is told of a decision in their name, who is asked, who is reminded.
const (
	noteTold   = "told"
	noteAsked  = "asked"
	noteRemind = "remind"

	mostAsked     = 50             // people who are told privately of one card
	rejectedSince = 24 * time.Hour // how long a rejected call is remembered on later cards
)

// deliverPeople asks for the private notes about an approval: to everybody who
// decided on it, and to those who may. Each is a delivery of its own, so that one
// person who cannot be reached keeps nobody else waiting.
func (b *Bot) deliverPeople(ctx context.Context, d Delivery, approval string) Receipt {
	c, err := b.Views.Case(ctx, approval)
	if isGone(err) {
		return Receipt{Version: d.Version, Gone: true}
	}
	if err != nil {
		return b.failed(d, "", err)
	}
	now := b.Now()
	var wishes []agent.Wish
	wish := func(user string, kind ...string) {
		wishes = append(wishes, agent.Wish{
			Subject: "approval/" + approval + "/" + strings.Join(append(kind, user), "/"), Channel: user, Priority: agent.PriorityProgress, ReadyAt: now,
		})
	}
	for _, decision := range c.Approval.Decisions {
		if !decision.By.Zero() && c.Approval.Risk == "high" {
			wish(decision.By.User, noteTold)
		}
	}
	if b.Notify || c.Approval.Reminded > 0 {
		for _, user := range b.deciders(ctx, c) {
			if b.Notify {
				wish(user, noteAsked)
			}
			for k := range c.Approval.Reminded {
				wish(user, noteRemind, fmt.Sprint(k+1))
			}
		}
	}
	for _, g := range c.Approval.Grants {
		wish(g.Giver.User, noteTold)
	}
	wishes = append(wishes, b.glassWishes(ctx, c)...)
	if err := b.Outbox.Wish(ctx, wishes, now); err != nil {
		return b.failed(d, "", err)
	}
	return Receipt{Version: d.Version}
}

// deciders are the people who may decide now: not the asker, nobody who left.
func (b *Bot) deciders(ctx context.Context, c *decisions.Case) []string {
	needs, requesters := c.Approval.Needs(), c.Approval.Requesters()
	holders, err := b.Directory.Holders(ctx, needs.Approvers)
	if err != nil {
		b.Logger.WarnContext(ctx, "who may decide cannot be looked up, so nobody is told privately", "approval", c.Approval.ID, "error", err)
		return nil
	}
	var out []string
	for _, user := range holders {
		person, err := b.Directory.Person(ctx, b.actor(user), false)
		if err == nil && len(out) < mostAsked && needs.MayDecide(person, requesters) == nil {
			out = append(out, user)
		}
	}
	return out
}

// renderNote draws a private note as it is now. One that was never posted and is no
// longer of use is not drawn at all.
func (b *Bot) renderNote(ctx context.Context, d Delivery, approval string, rest []string) (*card.Message, time.Time, error) {
	c, err := b.Views.Case(ctx, approval)
	if err != nil || len(rest) < 2 {
		return nil, time.Time{}, err
	}
	user := rest[len(rest)-1]
	at := b.where(b.langOf(ctx, user), "")
	at.Link = b.linkTo(ctx, &c.Run)
	if rest[0] == noteTold {
		if at.Locked, err = b.Marks.IsLocked(ctx, b.actor(user)); err != nil {
			return nil, time.Time{}, err
		}
		m, ok := b.Card.Told(c, b.actor(user), at)
		if !ok {
			return nil, time.Time{}, nil
		}
		return &m, time.Time{}, nil
	}
	if d.PostedTS == "" && c.Approval.State != approvals.Pending {
		return nil, time.Time{}, nil
	}
	m := b.Card.Asked(c, rest[0] == noteRemind, at)
	return &m, b.claimEnds(c), nil
}

// claimEnds is when a card looks different because somebody's claim is over.
func (b *Bot) claimEnds(c *decisions.Case) time.Time {
	if c.Approval.Claimed(b.Now()) {
		return c.Approval.ClaimUntil
	}
	return time.Time{}
}

// linkTo is the address of a run's request; "" when Slack gives none.
func (b *Bot) linkTo(ctx context.Context, run *agent.Run) string {
	link, err := b.API.GetPermalinkContext(ctx, &slack.PermalinkParameters{Channel: run.Channel, Ts: run.MessageTS})
	if err != nil {
		return ""
	}
	return link
}

// beside fills in what stands beside an approval on its card.
func (b *Bot) beside(ctx context.Context, c *decisions.Case, at *card.Where) error {
	a := &c.Approval
	if a.State != approvals.Pending {
		seq, hash, err := b.Marks.AuditMark(ctx, a.Run, a.ID)
		if err == nil && seq > 0 {
			at.Head = fmt.Sprintf("%d:%.16s", seq, hash)
		}
		return err
	}
	like, err := b.Marks.RejectedLike(ctx, a, a.OpenedAt.Add(-rejectedSince))
	if err != nil || like == "" {
		return err
	}
	at.Rejected, err = b.Views.Case(ctx, like)
	return err
}

// direct gives the conversation with a person for a first post.
func (b *Bot) direct(ctx context.Context, user string) (string, error) {
	ch, _, _, err := b.API.OpenConversationContext(ctx, &slack.OpenConversationParameters{Users: []string{user}, ReturnIM: true})
	if err != nil {
		return "", fmt.Errorf("open a conversation: %w", err)
	}
	return ch.ID, nil
}

// isPerson tells a person's id from a channel's.
func isPerson(id string) bool { return strings.HasPrefix(id, "U") || strings.HasPrefix(id, "W") }

// sendDirect is send for a private note.
func (b *Bot) sendDirect(ctx context.Context, d Delivery, msg *card.Message, hash string) Receipt {
	id, err := b.direct(ctx, d.Channel)
	if said(err, "missing_scope") {
		return b.post(ctx, d, msg, hash) // Slack takes a person for a first post too
	}
	if isPrivate(d.Subject) && said(err, "user_disabled", "user_not_found", "user_not_visible", "cannot_dm_bot", "messages_tab_disabled", "channel_not_found") {
		return b.whisperAnswer(ctx, d, msg, hash, err.Error())
	}
	if said(err, "user_disabled", "user_not_found", "user_not_visible", "cannot_dm_bot", "missing_scope") {
		return Receipt{Version: d.Version, Gone: true, Error: err.Error()}
	}
	if err != nil {
		return b.failed(d, "", err)
	}
	d.Channel = id
	r := b.send(ctx, d, msg, hash)
	if r.PostedTS != "" && r.Channel == "" {
		r.Channel = id
	}
	return r
}

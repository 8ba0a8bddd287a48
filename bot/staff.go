package bot

import (
	"context"
	"slices"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/card"
)

// mostStaff bounds how many people are looked at for one card.
const mostStaff = 30

// staffed fills in who of the people with a role that may approve cannot, so that a
// card says at once that it waits for nobody instead of waiting for them.
func (b *Bot) staffed(ctx context.Context, c *decisions.Case, at *card.Where) {
	needs := c.Approval.Needs()
	if c.Approval.State != approvals.Pending {
		return
	}
	holders, err := b.Directory.Holders(ctx, needs.Approvers)
	if err != nil {
		return // not known: the doctor and the refusals say so
	}
	at.Gone = b.left(ctx, holders)
	if needs.SelfApproval {
		return
	}
	at.OnlyAsker = !slices.ContainsFunc(holders, func(user string) bool {
		is := func(who policy.Actor) bool { return who.User == user }
		return !slices.ContainsFunc(c.Approval.Requesters(), is) && !slices.ContainsFunc(at.Gone, is)
	})
}

// left are those of them who were deactivated. Whoever cannot be looked up now is not
// said to be gone.
func (b *Bot) left(ctx context.Context, users []string) []policy.Actor {
	var gone []policy.Actor
	for _, user := range users[:min(len(users), mostStaff)] {
		person, err := b.Directory.Person(ctx, b.actor(user), false)
		if err == nil && person.Standing == policy.Deactivated || said(err, "user_not_found") {
			gone = append(gone, b.actor(user))
		}
	}
	return gone
}

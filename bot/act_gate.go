package bot

import (
	"context"
	"errors"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
)

// attempt is a click as the door takes it.
func attempt(c Click, v approvals.Verdict) decisions.Attempt {
	return decisions.Attempt{ID: c.ID, Approval: c.Approval, Revision: c.Revision, Digest: c.Digest, Verdict: v, Who: c.Actor, Via: "slack"}
}

// disown locks the person whose decision was not theirs, and draws their notes anew.
func (b *Bot) disown(ctx context.Context, c Click) (decisions.Outcome, error) {
	out, err := b.Door.Disown(ctx, attempt(c, ""))
	if err != nil || out.Refused != "" {
		return out, err
	}
	now := b.Now()
	return out, b.Outbox.Wish(ctx, []agent.Wish{agent.PeopleWish(&out.Case.Approval, now)}, now)
}

// again asks for an expired call once more, for its asker. A step has one result
// and the model was told this one's: so the request itself is made again, as a new
// run in the same thread or as the next words to the run that goes on. The model
// proposes the call from what is true now, and every gate stands in its way anew. Its
// message is that of the request: whoever edits or deletes that means this run, too.
func (b *Bot) again(ctx context.Context, c Click) (decisions.Outcome, error) {
	old, err := b.Views.Case(ctx, c.Approval)
	if isGone(err) {
		return decisions.Outcome{Refused: "unknown"}, nil
	}
	if err != nil {
		return decisions.Outcome{}, err
	}
	switch {
	case old.Run.Asker != c.Actor:
		return decisions.Outcome{Refused: "not_asker", Case: old}, nil
	case old.Approval.State != approvals.Expired:
		return decisions.Outcome{Refused: "not_expired", Case: old}, nil
	}
	person, err := b.Directory.Person(ctx, c.Actor, true)
	if err != nil {
		return decisions.Outcome{Refused: "cannot_check", Case: old}, nil
	}
	if person.Standing != "member" {
		return decisions.Outcome{Refused: "not_member", Case: old}, nil
	}
	_, err = b.Agent.Start(ctx, agent.Mention{
		Thread: old.Run.Thread, MessageTS: old.Run.MessageTS, Key: agent.MessageKey(old.Run.Thread, "again/"+old.Approval.ID),
		Asker: c.Actor, Name: person.Name, Text: old.Run.Request, Language: old.Run.Language,
	})
	if errors.Is(err, agent.ErrSettled) {
		err = nil
	}
	return decisions.Outcome{Case: old}, err
}

package agent

import (
	"time"

	"countersign/approvals"
	"countersign/approvals/policy"
)

// CardWishes asks for an approval's card wherever it is shown: in its thread,
// and in the channel that gets every card.
func CardWishes(a *approvals.Approval, everywhere string, now time.Time) []Wish {
	wishes := []Wish{{Subject: approvals.CardSubject(a.ID, a.Channel), Channel: a.Channel, ThreadTS: a.ThreadTS, Priority: PriorityCard, ReadyAt: now}}
	if everywhere != "" && everywhere != a.Channel {
		wishes = append(wishes, Wish{Subject: approvals.CardSubject(a.ID, everywhere), Channel: everywhere, Priority: PriorityCard, ReadyAt: now})
	}
	return append(wishes, bundleWishes(a, everywhere, now)...)
}

// bundleWishes asks for the message about the calls that one press may decide
// together. It comes after their cards.
func bundleWishes(a *approvals.Approval, everywhere string, now time.Time) []Wish {
	if a.Bundle == 0 {
		return nil
	}
	wishes := []Wish{{Subject: approvals.BundleSubject(a.Run, a.Bundle, a.Channel), Channel: a.Channel, ThreadTS: a.ThreadTS, Priority: PriorityAnswer, ReadyAt: now}}
	if everywhere != "" && everywhere != a.Channel {
		wishes = append(wishes, Wish{Subject: approvals.BundleSubject(a.Run, a.Bundle, everywhere), Channel: everywhere, Priority: PriorityAnswer, ReadyAt: now})
	}
	return wishes
}

// bundle finds the cards of one turn that the same people may decide with one press,
// because the rule of each allows it.
func bundle(c *Change, everywhere string, now time.Time) {
	for i := range c.Open {
		first := &c.Open[i]
		like := alike(c.Open[i:])
		if first.Bundle != 0 || len(like) < 2 {
			continue
		}
		for _, a := range like {
			a.Bundle = first.Step
		}
		c.Wishes = append(c.Wishes, bundleWishes(first, everywhere, now)...)
	}
}

// alike gives those that the same people may decide together with the first.
func alike(open []approvals.Approval) []*approvals.Approval {
	var out []*approvals.Approval
	needs := open[0].Current().Requirement
	for i := range open {
		a := &open[i]
		if r := a.Current().Requirement; a.Bundle == 0 && r.Batch && needs.Batch && policy.SamePeople(needs, r) {
			out = append(out, a)
		}
	}
	return out
}

// ReviewWishes asks for the card on which others look at what one person did alone,
// wherever the approval's own card is shown.
func ReviewWishes(a *approvals.Approval, everywhere string, now time.Time) []Wish {
	wishes := []Wish{{Subject: approvals.ReviewSubject(a.ID, a.Channel), Channel: a.Channel, ThreadTS: a.ThreadTS, Priority: PriorityCard, ReadyAt: now}}
	if everywhere != "" && everywhere != a.Channel {
		wishes = append(wishes, Wish{Subject: approvals.ReviewSubject(a.ID, everywhere), Channel: everywhere, Priority: PriorityCard, ReadyAt: now})
	}
	return wishes
}

// PeopleWish asks for the private notes about an approval.
func PeopleWish(a *approvals.Approval, now time.Time) Wish {
	return Wish{Subject: approvals.PeopleSubject(a.ID), Priority: PriorityProgress, ReadyAt: now}
}

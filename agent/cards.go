package agent

import (
	"time"

	"countersign/approvals"
)

// CardWishes asks for an approval's card wherever it is shown: in its thread,
// and in the channel that gets every card.
func CardWishes(a *approvals.Approval, everywhere string, now time.Time) []Wish {
	wishes := []Wish{{Subject: approvals.CardSubject(a.ID, a.Channel), Channel: a.Channel, ThreadTS: a.ThreadTS, Priority: PriorityCard, ReadyAt: now}}
	if everywhere != "" && everywhere != a.Channel {
		wishes = append(wishes, Wish{Subject: approvals.CardSubject(a.ID, everywhere), Channel: everywhere, Priority: PriorityCard, ReadyAt: now})
	}
	return wishes
}

// PeopleWish asks for the private notes about an approval.
func PeopleWish(a *approvals.Approval, now time.Time) Wish {
	return Wish{Subject: approvals.PeopleSubject(a.ID), Priority: PriorityProgress, ReadyAt: now}
}

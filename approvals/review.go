package approvals

import (
	"time"

	"countersign/approvals/policy"
)

// Review is the look that somebody else takes, afterwards, at an approval that one
// person gave alone in an emergency. It stays open until somebody answers.
type Review struct {
	Approval string
	Actor    policy.Actor // who acted alone
	OpenedAt time.Time
	State    ReviewState
	By       policy.Actor // who answered
	Text     string
	At       time.Time
}

// ReviewState is what others said of it.
type ReviewState string

// The states of a review.
const (
	ReviewOpen    ReviewState = "open"
	ReviewDone    ReviewState = "reviewed"
	ReviewConcern ReviewState = "concern"
)

// ReviewSubject names the delivery of the card on which others say what they think of it.
func ReviewSubject(approval, channel string) string {
	return "approval/" + approval + "/review/" + channel
}

// Enough says that the people whose approval of the current revision stands let the
// call run: as many as it takes, or one who may act alone in an emergency.
func (a *Approval) Enough() bool {
	for _, d := range a.Decisions {
		if d.Glass && !d.Void && d.Revision == a.Revision {
			return true
		}
	}
	return a.Approvals() >= a.Current().Requirement.Quorum
}

// ActedAlone says whether a person approved it alone in an emergency.
func (a *Approval) ActedAlone(who policy.Actor) bool {
	for _, d := range a.Decisions {
		if d.Glass && d.By.Same(who) {
			return true
		}
	}
	return false
}

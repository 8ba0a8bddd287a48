package store_test

import (
	"errors"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/store/storetest"
)

// grantOn is a standing grant on an approval's card.
func grantOn(a *approvals.Approval, id string, now time.Time) approvals.Grant {
	return approvals.Grant{
		ID: id, Installation: storetest.Team, Approval: a.ID, Channel: a.Channel, ThreadTS: a.ThreadTS, Tool: a.Tool, Contract: "c", Policy: "p",
		Requirement: policy.Requirement{Approvers: []string{"manager"}, Quorum: 1}, Asker: storetest.Asker(), Args: a.Current().Args,
		Giver: policy.Actor{Team: storetest.Team, User: "U9"}, Via: "slack", Most: 2, OpenedAt: now, EndsAt: now.Add(time.Hour), State: approvals.GrantOpen,
	}
}

// A grant is stored with its card as it was read: what was decided meanwhile stops it.
func TestGrantStandsOnTheCardThatWasRead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		_, a := db.Awaiting(t, "1")
		g := grantOn(&a, "g1", db.Clock.Now())
		if err := db.StartGrant(t.Context(), g, a.Version+1, nil, nil); !errors.Is(err, agent.ErrMoved) {
			t.Fatalf("on a card that changed: %v", err)
		}
		if err := db.StartGrant(t.Context(), g, a.Version, nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := db.StartGrant(t.Context(), g, a.Version, nil, nil); !errors.Is(err, agent.ErrSettled) {
			t.Fatalf("the same press once more: %v", err)
		}
		if got, err := db.Grant(t.Context(), "g1"); err != nil || got.Giver != g.Giver || got.Requirement.Quorum != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := db.Grant(t.Context(), "g2"); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("an unknown one: %v", err)
		}
	})
}

// A channel that gets another id keeps its grants, its review cards and the messages
// about several calls.
func TestMovedChannelKeepsItsGrants(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run, a := db.Awaiting(t, "1")
		now := db.Clock.Now()
		if err := db.StartGrant(t.Context(), grantOn(&a, "g1", now), a.Version, nil, nil); err != nil {
			t.Fatal(err)
		}
		wishes := agent.ReviewWishes(&a, "", now)
		wishes = append(wishes, agent.Wish{Subject: approvals.BundleSubject(run, 1, a.Channel), Channel: a.Channel, ReadyAt: now})
		if err := db.Wish(t.Context(), wishes, now); err != nil {
			t.Fatal(err)
		}
		if err := db.MoveChannel(t.Context(), a.Channel, "C2"); err != nil {
			t.Fatal(err)
		}
		live, err := db.LiveGrants(t.Context(), a.Tool)
		if err != nil || len(live) != 1 || live[0].Channel != "C2" {
			t.Errorf("%+v, %v", live, err)
		}
		var n int
		err = db.Writer().QueryRowContext(t.Context(), "SELECT count(*) FROM deliveries WHERE channel = 'C2' AND subject IN ('"+
			approvals.ReviewSubject(a.ID, "C2")+"', '"+approvals.BundleSubject(run, 1, "C2")+"')").Scan(&n)
		if err != nil || n != 2 {
			t.Errorf("%d deliveries moved, %v", n, err)
		}
	})
}

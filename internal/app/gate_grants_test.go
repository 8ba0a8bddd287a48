package app_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

var (
	thing = regexp.MustCompile(`wipe (thing-[a-z]+)(?: times (\d+))?`)
	then  = regexp.MustCompile(`then (thing-[a-z]+)`)
)

// wiper is a model that wipes what it was asked to wipe, and then another thing.
func wiper() *apptest.Script {
	return apptest.Play(apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		found := thing.FindStringSubmatch(r.Raw)
		if found == nil {
			return apptest.Says("Nothing to wipe.")
		}
		n := "1"
		if found[2] != "" {
			n = found[2]
		}
		return apptest.Calls("wipe", fmt.Sprintf(`{"thought":"asked for","what":%q,"n":%s}`, found[1], n))
	}}, apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		if next := then.FindStringSubmatch(r.Raw); next != nil {
			return apptest.Calls("wipe", fmt.Sprintf(`{"thought":"asked for","what":%q,"n":1}`, next[1]))
		}
		return apptest.Says("Done.")
	}}, apptest.Says("Done."))
}

// granting is a world in which standing grants are allowed.
func granting(t *testing.T, o apptest.Options) (*stage, *apptest.Counter) {
	t.Helper()
	count := &apptest.Counter{Name: "wipe", Risk: tools.High, Schema: `{"type":"object","properties":{"what":{"type":"string"},"n":{"type":"integer"}},"required":["what","n"]}`}
	o.Extra, o.Model = []tools.Tool{count}, wiper()
	if o.Approvals == "" {
		o.Approvals = "approvals: {approvers: [manager, finance], grants: {count: 3, within: 1h}, sweep: 200ms}"
	}
	o.YAML += "limits: {open_approvals: {per_run: 5, per_asker: 50}}\n"
	return start(t, o), count
}

// approved is a card of thing-a that the manager approved.
func (s *stage) approvedCard() slacktest.Message {
	s.t.Helper()
	ask := s.asks("wipe thing-a")
	card := s.card(ask)
	s.mgr.Clicks(card, "approval_approve")
	s.answered(ask, "Done.")
	s.Slack.ExpectUpdate(card, slacktest.Button("grant_open"))
	return card
}

// gives opens the form of a standing grant and submits it.
func (s *stage) gives(who slacktest.Person, card slacktest.Message, count string, fields ...string) map[string]string {
	s.t.Helper()
	s.pressesWhenThere(who, card, "grant_open")
	form := s.Slack.ExpectModal(who, "without a card")
	form.Fill("count", count)
	if len(fields) > 0 {
		form.Fill("fields", fields[0])
	}
	errs := form.Submit().Errors
	if len(errs) > 0 {
		form.Close()
	}
	s.Slack.ExpectNoModal(who)
	return errs
}

// waiting are the cards that wait.
func (s *stage) waiting() int { return len(s.Slack.All(slacktest.Button("approval_reject"))) }

// Slack row 53: a standing grant is for the same call of the same person in the same
// channel; anything else is a new card. It is counted, and the thread says whose it was.
func TestStandingGrant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s, count := granting(t, o)
		card := s.approvedCard()
		s.gives(s.ana, card, "2")
		s.told(s.ana, "Only people with the role")
		if errs := s.gives(s.mgr, card, "4"); errs["count"] == "" {
			t.Fatal("more than the configuration allows was taken")
		}
		if errs := s.gives(s.mgr, card, "2"); len(errs) > 0 {
			t.Fatal(errs)
		}
		s.Slack.ExpectUpdate(card, slacktest.Text("0 of 2 used"), slacktest.Button("grant_revoke"))
		s.direct(s.mgr, slacktest.Text("without a card"))
		s.answered(s.asks("wipe thing-a"), "Done.", "standing grant of", "U0MGR")
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2 used"))
		if count.Count() != 2 || s.waiting() != 0 {
			t.Fatalf("%d calls, %d cards", count.Count(), s.waiting())
		}
		s.card(s.asks("wipe thing-b"))
		s.card(s.mgr.Says("#ops", "@countersign wipe thing-a"))
		s.card(s.ana.Says("#vault", "@countersign wipe thing-a"))
		s.answered(s.asks("wipe thing-a"), "Done.", "standing grant of")
		s.Slack.ExpectUpdate(card, slacktest.Text("2 of 2 used"), slacktest.Text("It has ended"), slacktest.NoButton("grant_revoke"))
		s.card(s.asks("wipe thing-a"))
		if count.Count() != 3 {
			t.Errorf("%d calls", count.Count())
		}
		s.mustHaveRecorded(map[string]int{"grant.opened": 1, "grant.used": 2, "grant.ended": 1})
	})
}

// mustHaveRecorded counts entries of the record by kind.
func (s *stage) mustHaveRecorded(want map[string]int) {
	s.t.Helper()
	got := map[string]int{}
	entries, err := s.Newest().Store().AuditEntries(s.t.Context(), 0, 10_000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		got[e.Kind]++
	}
	for kind, n := range want {
		if got[kind] != n {
			s.t.Errorf("%d entries of %s, want %d", got[kind], kind, n)
		}
	}
	if err := s.Newest().Store().VerifyAudit(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}

// Which arguments must be equal is the giver's choice; the others are free.
func TestStandingGrantOfSomeFields(t *testing.T) {
	t.Parallel()
	s, count := granting(t, apptest.Options{})
	card := s.approvedCard()
	if errs := s.gives(s.mgr, card, "3", "what"); len(errs) > 0 {
		t.Fatal(errs)
	}
	s.Slack.ExpectUpdate(card, slacktest.Text("must be equal: `what`"))
	s.answered(s.asks("wipe thing-a times 7"), "Done.", "standing grant of")
	s.card(s.asks("wipe thing-b times 7"))
	if count.Count() != 2 {
		t.Errorf("%d calls", count.Count())
	}
}

// A grant ends by a press, with its giver's account, with the policy, and it is never
// given where a call needs two people or a second thought.
func TestStandingGrantEnds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s, count := granting(t, o)
		card := s.approvedCard()
		s.gives(s.mgr, card, "3")
		s.Slack.ExpectUpdate(card, slacktest.Button("grant_revoke"))
		s.pressesWhenThere(s.gus, card, "grant_revoke")
		s.told(s.gus, "Guests")
		s.pressesWhenThere(s.fin, card, "grant_revoke")
		s.Slack.ExpectUpdate(card, slacktest.Text("<@U0FIN> revoked it"), slacktest.NoButton("grant_revoke"))
		s.card(s.asks("wipe thing-a"))
		s.gives(s.fin, card, "3")
		note := s.direct(s.fin, slacktest.Button("decision_disown"))
		s.fin.Clicks(note, "decision_disown")
		s.Slack.ExpectUpdate(card, slacktest.Text("It is void"))
		s.card(s.asks("wipe thing-a"))
		s.gives(s.mgr, card, "3")
		s.Slack.ExpectUpdate(card, slacktest.Button("grant_revoke"))
		cfg := s.Config()
		cfg.Approvals.TTL = 2 * time.Hour
		if _, err := s.Newest().Reload(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		s.Slack.ExpectUpdate(card, slacktest.NoButton("grant_revoke"))
		s.card(s.asks("wipe thing-a"))
		if count.Count() != 1 {
			t.Errorf("%d calls", count.Count())
		}
		s.mustHaveRecorded(map[string]int{"grant.opened": 3, "grant.used": 0, "grant.revoked": 1, "grant.void": 2})
	})
}

// Off by default, and never where two people are needed.
func TestNoStandingGrant(t *testing.T) {
	t.Parallel()
	off, _ := granting(t, apptest.Options{Approvals: "approvals: {approvers: [manager], sweep: 200ms}"})
	ask := off.asks("wipe thing-a")
	card := off.card(ask)
	off.mgr.Clicks(card, "approval_approve")
	off.answered(ask, "Done.")
	off.Slack.ExpectUpdate(card, slacktest.NoButton(""))
	for _, needs := range []approvals.Approval{
		{State: approvals.Pending, Revision: 1, Revisions: make([]approvals.Revision, 1)},
		{State: approvals.Rejected, Revision: 1, Revisions: make([]approvals.Revision, 1)},
	} {
		if needs.Grantable() {
			t.Errorf("a grant on a card that is %s", needs.State)
		}
	}
	two := approvals.Approval{State: approvals.Redeemed, Revision: 1, Revisions: make([]approvals.Revision, 1)}
	if !two.Grantable() {
		t.Error("no grant on an approved card")
	}
	two.Revisions[0].Requirement.Quorum = 2
	if two.Grantable() {
		t.Error("one person's grant for what takes two")
	}
}

// Many runs at once never use a grant more often than it is for.
func TestStandingGrantIsNotOverrun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s, count := granting(t, o)
		if o.Database == "postgres" {
			s.Run()
		}
		card := s.approvedCard()
		s.gives(s.mgr, card, "3")
		s.Slack.ExpectUpdate(card, slacktest.Button("grant_revoke"))
		const asked = 8
		for range asked {
			s.asks("wipe thing-a")
		}
		s.Until("a card for each that the grant is not for", func() bool { return s.waiting() == asked-3 })
		s.Until("three calls", func() bool { return count.Count() == 4 })
		s.mustHaveRecorded(map[string]int{"grant.used": 3, "grant.ended": 1})
	})
}

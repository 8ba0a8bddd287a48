package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/bot"
	"countersign/internal/api"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// Slack row 14: the same person gets the same answer wherever they try: the card's
// buttons, its forms, Home, the slash command, words in the thread and the HTTP interface.
func TestOneAnswerOnEverySurface(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, long(1200)) // so that the card has a form that shows all of it
		o.Approvals, o.Roles = "approvals: {approvers: [manager, asker], ttl: 1h, sweep: 200ms}", "  asker: {users: [U0ANA]}\n"
		s := start(t, listening(t, o))
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		a := s.waits(agent.WaitingApproval).Approvals[0]
		for _, c := range []struct {
			who  slacktest.Person
			code string
		}{{s.ana, "requester"}, {s.fin, "not_approver"}, {s.gus, "guest"}, {s.oli, "outsider"}} {
			s.triesEverywhere(c.who, card, a)
			if got, want := s.refusedAs(c.who), slices.Repeat([]string{c.code}, 4); !slices.Equal(got, want) {
				t.Errorf("%s was told %q, not always %s", c.who.ID, got, c.code)
			}
		}
		if w := s.whole(); len(w.Approvals[0].Decisions) != 0 || counter.Count() != 0 {
			t.Fatalf("somebody decided: %+v", w.Approvals[0].Decisions)
		}
		s.mgr.Commands("#ops", "/countersign", "pending")
		s.told(s.mgr, "waits for your decision")
		s.pressesHome(s.mgr, "approval_show", "wipe")
		s.Slack.ExpectModal(s.mgr, "Everything").MustSubmit()
		s.answered(ask, "That is all.")
	})
}

// triesEverywhere lets somebody who may not decide try it in every way that there is.
func (s *stage) triesEverywhere(who slacktest.Person, card slacktest.Message, a approvals.Approval) {
	s.t.Helper()
	s.pressesInstead(who, card, "approval_show", "approval_approve")
	who.Clicks(card, "approval_reject")
	s.Slack.ExpectModal(who, "Why not?").MustSubmit()
	who.Clicks(card, "approval_show")
	s.Slack.ExpectModal(who, "Everything").MustSubmit()
	who.OpensHome()
	s.Slack.ExpectHome(who, "Nothing waits for you")
	who.Commands("#ops", "/countersign", "pending")
	s.told(who, "Nothing waits for you")
	who.Replies(card, "approve")
	p := s.program("of-"+strings.ToLower(who.ID), api.Decide, who)
	p.wants(403, "POST", "/v1/approvals/"+a.ID+"/decisions", map[string]any{"verdict": "approve", "revision": 1, "digest": a.Current().Digest})
	s.Until("four refusals of "+who.ID, func() bool { return len(s.refusedAs(who)) == 4 })
}

// refusedAs are the reasons why somebody's tries did not count, from the record.
func (s *stage) refusedAs(who slacktest.Person) []string {
	s.t.Helper()
	var out []string
	for _, e := range s.whole().Audit {
		if _, why, ok := strings.Cut(e.Data, `"why":"`); ok && e.Kind == "click.refused" && e.User == who.ID {
			why, _, _ = strings.Cut(why, `"`)
			out = append(out, why)
		}
	}
	return out
}

// clicked counts the presses that a process took.
type clicked struct {
	app.Ports
	n atomic.Int64
}

func (c *clicked) SaveClick(ctx context.Context, click bot.Click) (bool, error) {
	c.n.Add(1)
	return c.Ports.SaveClick(ctx, click)
}

// Slack row 7: two people press at once, and the presses reach two processes on one
// database: one verdict and one call, one final card, and one private word to the other.
func TestTwoReplicasOneVerdict(t *testing.T) {
	t.Parallel()
	counter, _, o := wiping(apptest.Options{Database: "postgres", Approvals: "approvals: {approvers: [manager, finance], ttl: 1h, sweep: 200ms}"}, "doc_42")
	s := stageOf(t, apptest.New(t, o))
	takes := [2]*clicked{{}, {}}
	for _, c := range takes {
		s.RunBetween(func(p app.Ports) app.Ports { c.Ports = p; return c })
	}
	const rounds = 14 // each is split between the two with a chance of a half
	notes, split := 0, 0
	for round := 1; round <= rounds && split < 2; round++ {
		before := [2]int64{takes[0].n.Load(), takes[1].n.Load()}
		card, both := s.pressedByTwo(fmt.Sprintf("round %d", round))
		if both && takes[0].n.Load() > before[0] && takes[1].n.Load() > before[1] {
			split++
		}
		if counter.Count() != round {
			t.Fatalf("%d calls in %d rounds", counter.Count(), round)
		}
		winner := s.winnerOf(card)
		s.Slack.ExpectUpdate(card, slacktest.Text("Done."), slacktest.Text("<@"+winner+">"))
		if both {
			notes++
			loser := map[string]slacktest.Person{"U0MGR": s.fin, "U0FIN": s.mgr}[winner]
			s.told(loser, "<@"+winner+"> approved this already")
		}
	}
	if split == 0 {
		t.Errorf("in %d rounds both presses always reached the same process", rounds)
	}
	if all := len(s.Slack.All(slacktest.OnlyFor(s.mgr))) + len(s.Slack.All(slacktest.OnlyFor(s.fin))); all != notes {
		t.Errorf("%d private words for %d presses that came second\n%s", all, notes, s.Slack.Transcript())
	}
}

// pressedByTwo asks, lets two people approve at once, and says whether both presses went out.
func (s *stage) pressedByTwo(words string) (card slacktest.Message, both bool) {
	s.t.Helper()
	ask := s.asks("wipe doc_42, " + words)
	card = s.card(ask)
	var all sync.WaitGroup
	var sent atomic.Int64
	for _, who := range []slacktest.Person{s.mgr, s.fin} {
		all.Go(func() {
			out, err := who.Press(localslack.Click{Channel: card.Channel, TS: card.TS, ActionID: "approval_approve"})
			if err == nil && out.Acked {
				sent.Add(1)
			}
		})
	}
	all.Wait()
	s.answered(ask, "That is all.")
	return card, sent.Load() == 2
}

// winnerOf is whose verdict on a card counted: the only one.
func (s *stage) winnerOf(card slacktest.Message) string {
	s.t.Helper()
	cases, err := s.Newest().Store().Cases(s.t.Context(), true, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range cases {
		a := &cases[i].Approval
		if m, ok := s.Slack.Find(slacktest.Meta("approval", a.ID)); ok && m.TS == card.TS {
			if len(a.Decisions) != 1 {
				s.t.Fatalf("decisions %+v", a.Decisions)
			}
			return a.Decisions[0].By.User
		}
	}
	s.t.Fatal("no approval of the card")
	return ""
}

package app_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/internal/audit"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// unvoiding dies right before a locked person's decisions are made void.
type unvoiding struct{ *apptest.Mortal }

func (v unvoiding) Record(ctx context.Context, c decisions.Change) error {
	if !c.VoidOf.Zero() {
		v.At = v.Commits() + 1
	}
	return v.Mortal.Record(ctx, c)
}

// A process that dies after it locked a person and before it voided what they approved
// leaves nothing that counts: the next one makes it up.
func TestDeathBetweenLockAndVoid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra = []tools.Tool{count}
		o.Approvals = "approvals: {approvers: [manager, finance], step_up: totp, totp_key: \"${CODES_KEY}\", quorum: 2, sweep: 200ms}"
		o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("It is gone."))
		w := apptest.New(t, o)
		m := &apptest.Mortal{}
		p := w.RunBetween(func(ports app.Ports) app.Ports { m.Between(ports); return unvoiding{m} })
		s := stageOf(t, w)
		s.enrolls(s.mgr)
		s.enrolls(s.fin)
		card := s.card(s.asks("wipe x"), slacktest.Button("approval_show"))
		if errs := s.proves(s.mgr, card, code(t, 0)); len(errs) > 0 {
			t.Fatal(errs)
		}
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		for range 4 {
			s.proves(s.mgr, card, code(t, -100))
		}
		s.pressesWhenThere(s.mgr, card, "approval_show")
		form := s.Slack.ExpectModal(s.mgr, "authenticator")
		form.Fill("code", code(t, -100))
		form.Submit()
		s.Until("a death", m.Dead)
		s.Kill(p)
		s.Run()
		s.Until("a void approval", func() bool { return s.number("SELECT count(*) FROM decisions WHERE void") == 1 })
		if errs := s.proves(s.fin, card, code(t, 0)); len(errs) > 0 {
			t.Fatal(errs)
		}
		s.Until("the other's approval", func() bool { return s.number("SELECT count(*) FROM decisions WHERE NOT void") == 1 })
		if count.Count() != 0 {
			t.Errorf("%d calls", count.Count())
		}
	})
}

// What a disowned edit shaped is refused as a whole, also on the card that took the place
// of the one on which it was made. That card names who edited.
func TestDisownedEditAfterALapse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		var world atomic.Value
		world.Store("one row")
		c := &apptest.Counter{Name: "wipe", Risk: tools.High, Show: material(&world)}
		s, ask := forgotten(t, o, c, ", edit_approves: false", "doc_42")
		fresh := s.lapsesEdited(ask, &world, slacktest.Text("<@U0FIN> changed"))
		s.pressesWhenThere(s.fin, s.direct(s.fin, slacktest.Button("decision_disown")), "decision_disown")
		s.Slack.ExpectUpdate(fresh, slacktest.NoButton("approval_approve"))
		s.answered(ask, "That is all.")
		if c.Count() != 0 {
			t.Errorf("%d calls", c.Count())
		}
	})
}

// Who edited a call before somebody else did stands for nothing of it any more: when they
// are locked, the card of what the other made of it goes on.
func TestDisowningByAnEarlierEditor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		c := &apptest.Counter{Name: "wipe", Risk: tools.High}
		s, ask := forgotten(t, o, c, ", edit_approves: false", "doc_42")
		card := s.card(ask, slacktest.Text("doc_42"))
		s.edits(s.fin, card, "arg:what", "doc_66")
		s.edits(s.mgr, card, "arg:what", "doc_77")
		s.pressesWhenThere(s.fin, s.direct(s.fin, slacktest.Button("decision_disown")), "decision_disown")
		s.Until("a lock", func() bool { return s.number("SELECT count(*) FROM locks") == 1 })
		s.Until("nothing of theirs that is left to be made void", func() bool {
			standing, err := s.Newest().Store().StandingLocked(t.Context())
			return err == nil && len(standing) == 0
		})
		s.Slack.ExpectUpdate(card, slacktest.Text("doc_77"), slacktest.Button("approval_reject"))
	})
}

// A disowned edit leaves the first call's outcome as unknown as it was: the question is
// asked again.
func TestQuestionStandsAfterADisownedEdit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		var world atomic.Value
		world.Store("one row")
		c := forgetful(&world)
		s, ask := forgotten(t, o, c, ", edit_approves: false", "doc_42")
		card := s.card(ask, slacktest.Text("doc_42"))
		s.edits(s.fin, card, "arg:what", "doc_66")
		s.pressesWhenThere(s.mgr, card, "approval_approve")
		question := s.question(ask)
		world.Store("many rows")
		s.wantsAgain(s.mgr, question)
		fresh := s.another(ask, c, slacktest.Text("many rows"))
		s.Slack.ExpectUpdate(question, slacktest.NoButton("uncertain_happened"))
		s.pressesWhenThere(s.fin, s.direct(s.fin, slacktest.Button("decision_disown")), "decision_disown")
		s.Slack.ExpectUpdate(fresh, slacktest.NoButton("approval_approve"))
		s.Slack.ExpectUpdate(question, slacktest.Button("uncertain_happened"))
	})
}

// unlocks lets a person decide again, as an operator does.
func (s *stage) unlocks(who slacktest.Person) (err error) {
	s.t.Helper()
	s.operates(s.Config(), func(o *app.Operator) error {
		_, err = o.Store.Unlock(s.t.Context(), policy.Actor{Team: "T0LOCAL", User: who.ID}, audit.Entry{At: time.Now(), Kind: "person.unlocked", Via: "cli", Data: "{}"})
		return nil
	})
	return err
}

// Nobody is unlocked before what was decided in their name is void, and it is void once
// a process has had the time, also when the one that locked them died.
func TestUnlockedAfterTheVoidAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra = []tools.Tool{count}
		o.Approvals = "approvals: {approvers: [manager, finance], quorum: 2, sweep: 200ms}"
		o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("It is gone."))
		w := apptest.New(t, o)
		m := &apptest.Mortal{}
		p := w.RunBetween(func(ports app.Ports) app.Ports { m.Between(ports); return unvoiding{m} })
		s := stageOf(t, w)
		card := s.card(s.asks("wipe x"))
		s.mgr.Clicks(card, "approval_approve")
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		s.pressesWhenThere(s.mgr, s.direct(s.mgr, slacktest.Button("decision_disown")), "decision_disown")
		s.Until("a death", m.Dead)
		s.Kill(p)
		if err := s.unlocks(s.mgr); !errors.Is(err, decisions.ErrStands) {
			t.Fatalf("unlocked with an approval that stands: %v", err)
		}
		s.Run()
		s.Until("a void approval", func() bool { return s.number("SELECT count(*) FROM decisions WHERE void") == 1 })
		if err := s.unlocks(s.mgr); err != nil {
			t.Fatal(err)
		}
		s.pressesWhenThere(s.fin, card, "approval_approve")
		s.Until("a second approval", func() bool { return s.number("SELECT count(*) FROM decisions WHERE NOT void") == 1 })
		if count.Count() != 0 {
			t.Errorf("%d calls", count.Count())
		}
	})
}

// ungranting dies right before a locked person's standing grants are ended.
type ungranting struct{ *apptest.Mortal }

func (v ungranting) EndGrant(ctx context.Context, g approvals.Grant, wishes []agent.Wish, e []audit.Entry) error {
	v.At = v.Commits() + 1
	return v.Mortal.EndGrant(ctx, g, wishes, e)
}

// A standing grant ends with the lock of its giver, for good: after a death in between,
// and when the command line locked them.
func TestGrantsOfTheLockedEnd(t *testing.T) {
	t.Parallel()
	const dying = "a death"
	for name, lock := range map[string]func(s *stage, die func()){
		dying: func(s *stage, die func()) {
			s.pressesWhenThere(s.mgr, s.direct(s.mgr, slacktest.Button("decision_disown")), "decision_disown")
			die()
		},
		"wrong codes at the command line": func(s *stage, _ func()) {
			s.enrolls(s.mgr)
			s.operates(s.Config(), func(o *app.Operator) error {
				door, _, err := o.Door(s.t.Context())
				for range 5 {
					if err == nil {
						_, err = door.Prove(s.t.Context(), policy.Actor{Team: "T0LOCAL", User: s.mgr.ID}, code(s.t, -100))
					}
				}
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o apptest.Options) {
				count := &apptest.Counter{Name: "wipe", Risk: tools.High, Schema: `{"type":"object","properties":{"what":{"type":"string"},"n":{"type":"integer"}},"required":["what","n"]}`}
				o.Extra, o.Model = []tools.Tool{count}, wiper()
				o.Approvals = "approvals: {approvers: [manager, finance], totp_key: \"${CODES_KEY}\", break_glass: [manager], grants: {count: 3, within: 1h}, sweep: 200ms}"
				w := apptest.New(t, o)
				m := &apptest.Mortal{}
				p := w.RunBetween(func(ports app.Ports) app.Ports {
					m.Between(ports)
					if name == dying { // elsewhere its sweep may be what ends the grant, and lives
						return ungranting{m}
					}
					return m
				})
				s := stageOf(t, w)
				s.grants("wipe thing-a")
				lock(s, func() { s.Until("a death", m.Dead); s.Kill(p); s.Run() })
				s.Until("a lock", func() bool { return s.number("SELECT count(*) FROM locks") == 1 })
				s.Until("the end of the grant", func() bool { return s.number("SELECT count(*) FROM grants WHERE state = 'void'") == 1 })
				if err := s.unlocks(s.mgr); err != nil {
					t.Fatal(err)
				}
				s.card(s.asks("wipe thing-a"))
				if count.Count() != 1 {
					t.Errorf("%d calls", count.Count())
				}
			})
		})
	}
}

// What a locked person's edit made is not run either before it is refused as a whole.
func TestLockedEditorsCallDoesNotRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		var world atomic.Value
		world.Store("one row")
		c := &apptest.Counter{Name: "wipe", Risk: tools.High, Show: material(&world)}
		o.Extra = []tools.Tool{c}
		o.Approvals = "approvals: {approvers: [manager, finance], ttl: 2h, sweep: 1h, edit_approves: false}" // nothing is swept while this lasts
		o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked for","what":"doc_42"}`), apptest.Says("That is all."))
		s := stageOf(t, apptest.New(t, o))
		p := s.Run()
		ask := s.asks("wipe it")
		fresh := s.lapsesEdited(ask, &world, slacktest.Text("<@U0FIN> changed"))
		if _, err := s.Newest().Store().Lock(t.Context(), policy.Actor{Team: "T0LOCAL", User: s.fin.ID}, "disowned", nil, nil); err != nil { // as a process that died then
			t.Fatal(err)
		}
		s.pressesWhenThere(s.mgr, fresh, "approval_approve")
		s.Slack.ExpectUpdate(fresh, slacktest.NoButton("approval_approve"))
		s.Stop(p)
		s.Run() // and sweeps once
		s.Slack.ExpectUpdate(fresh, slacktest.Text("Cancelled"))
		s.answered(ask, "That is all.")
		if c.Count() != 0 {
			t.Errorf("%d calls of what a locked person's edit made", c.Count())
		}
	})
}

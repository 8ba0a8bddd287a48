package app_test

import (
	"context"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// wiping is a run of one HIGH call of a tool that counts, then an answer.
func wiping(o apptest.Options, what ...string) (*apptest.Counter, *apptest.Script, apptest.Options) {
	c := &apptest.Counter{Name: "wipe", Risk: tools.High}
	var calls []apptest.Call
	for _, w := range what {
		calls = append(calls, apptest.Call{Name: "wipe", Args: `{"thought":"asked for","what":"` + w + `"}`})
	}
	script := apptest.Play(apptest.Turn{Calls: calls}, apptest.Says("That is all."))
	o.Extra, o.Model = []tools.Tool{c}, script
	return c, script, o
}

// held is a LOW tool that waits inside until it is let go.
func held() (c *apptest.Counter, inside, letGo chan struct{}) {
	inside, letGo = make(chan struct{}, 8), make(chan struct{})
	c = &apptest.Counter{Name: "look", Risk: tools.Low, Do: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
		inside <- struct{}{}
		select {
		case <-letGo:
		case <-ctx.Done():
		}
		return tools.Result{Text: "seen"}, nil
	}}
	return c, inside, letGo
}

// What the asker says meanwhile steers the run; what others say is quoted; after
// the end a mention starts a new run that knows what the thread showed.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		look, inside, letGo := held()
		script := apptest.Play(apptest.Calls("look", `{"thought":"look","what":"it"}`), apptest.Says("First answer."))
		o.Extra, o.Model = []tools.Tool{look}, script
		s := start(t, o)
		ask := s.asks("look at it")
		<-inside
		s.ana.Replies(ask, "@countersign and mind the blue one")
		s.fin.Replies(ask, "@countersign I want something else")
		s.Until("both messages", func() bool {
			runs, err := s.Newest().Store().Runs(t.Context(), false, 10)
			if err != nil || len(runs) != 2 {
				return false
			}
			mine, err := s.Newest().Store().Whole(t.Context(), runs[1].ID)
			return err == nil && len(mine.Inbox) == 1
		})
		close(letGo)
		s.answered(ask, "First answer.")
		s.answered(ask, "First answer.") // Fin's own run
		if !strings.Contains(raw(script), "A further message of the person who asked") || !strings.Contains(raw(script), "mind the blue one") {
			t.Error("the follow-up never reached the model")
		}
		s.ana.Replies(ask, "@countersign once more")
		s.answered(ask, "First answer.")
		if last := script.Last().Raw; !strings.Contains(last, "Earlier messages of this thread") || !strings.Contains(last, "mind the blue one") {
			t.Errorf("the new run does not know the thread: %s", last)
		}
	})
}

func raw(s *apptest.Script) string {
	var b strings.Builder
	for _, r := range s.Requests() {
		b.WriteString(r.Raw)
	}
	return b.String()
}

// The asker and whoever may countersign may stop; nobody else.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"ana", "mgr"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o apptest.Options) {
				counter, _, o := wiping(o, "doc_42")
				s := start(t, o)
				ask := s.asks("wipe doc_42")
				card := s.card(ask)
				s.fin.Replies(ask, "@countersign stop")
				s.told(s.fin, "can stop this")
				s.Slack.User(who).Replies(ask, "stop")
				w := s.waits(agent.Cancelled)
				s.Slack.ExpectUpdate(card, slacktest.NoButton(""), slacktest.Text("was stopped"))
				if w.Approvals[0].State != approvals.Cancelled || w.Steps[0].State != agent.StepCancelled || counter.Count() != 0 {
					t.Errorf("approval %s, step %s, %d calls", w.Approvals[0].State, w.Steps[0].State, counter.Count())
				}
			})
		})
	}
}

// A stop does not interrupt a tool that runs: its outcome is recorded first.
func TestStopWhileExecuting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		look, inside, letGo := held()
		look.Effects = true
		o.Extra, o.Model = []tools.Tool{look}, apptest.Play(apptest.Calls("look", `{"thought":"look","what":"it"}`))
		s := start(t, o)
		ask := s.asks("look at it")
		<-inside
		s.ana.Replies(ask, "stop")
		s.Slack.ExpectAcked()
		close(letGo)
		if w := s.waits(agent.Cancelled); w.Steps[0].State != agent.StepSucceeded {
			t.Errorf("the step is %s", w.Steps[0].State)
		}
	})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		_, _, o = wiping(o, "doc_42")
		s := start(t, o)
		s.ana.Says("#ops", "@countersign status")
		s.told(s.ana, "Nothing is running here")
		ask := s.asks("wipe doc_42")
		s.card(ask)
		s.ana.Replies(ask, "status")
		s.told(s.ana, "Waiting for approval")
	})
}

// A question is answered in the thread, without a mention, by the asker alone.
func TestQuestion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s := start(t, o)
		ask := s.asks("refund an order for me, 15 EUR")
		question := s.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/question/"), slacktest.Text("Which order is it?"))
		s.waits(agent.WaitingInput)
		s.fin.Replies(ask, "order 8")
		s.Slack.ExpectAcked()
		if w := s.whole(); w.Run.State != agent.WaitingInput || len(w.Inbox) != 0 {
			t.Fatalf("somebody else's words reached the run: %+v", w.Inbox)
		}
		s.ana.Replies(ask, "order 7")
		card := s.card(ask, slacktest.Text("refund"), slacktest.Text("15"))
		s.Slack.ExpectUpdate(question, slacktest.Text("has answered"))
		s.mgr.Clicks(card, "approval_approve")
		s.answered(ask, "15 of order 7 are refunded")
	})
}

// Everybody who may not decide gets one private sentence, and nothing happens.
// Row B50. Slack rows 14, d.
func TestWhoMayDecide(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "doc_42")
		o.Approvals = "approvals: {approvers: [manager, asker], ttl: 1h, sweep: 200ms}\n"
		o.Roles = "  asker: {users: [U0ANA]}\n"
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		for _, c := range []struct {
			who  slacktest.Person
			part string
		}{
			{s.ana, "You asked for this or changed it"},
			{s.oli, "Only members of this workspace"},
			{s.gus, "Guests can't do that here"},
			{s.fin, "Only people with the role"},
		} {
			c.who.Clicks(card, "approval_approve")
			s.told(c.who, c.part)
			c.who.Clicks(card, "approval_reject")
			s.Slack.ExpectModal(c.who, "Why not?").Fill("reason", "no").MustSubmit()
			s.told(c.who, c.part)
		}
		s.forged(s.mgr, card, s.eve)
		s.forged(s.mgr, card, slacktest.Person{ID: "U0NOBODY"})
		s.Until("two more refusals", func() bool { return refusals(s) == 10 })
		w := s.whole()
		if w.Approvals[0].State != approvals.Pending || len(w.Approvals[0].Decisions) != 0 || counter.Count() != 0 {
			t.Errorf("approval: %+v, %d calls", w.Approvals[0], counter.Count())
		}
		s.mgr.Clicks(card, "approval_approve")
		s.answered(ask, "That is all.")
	})
}

func refusals(s *stage) int {
	s.t.Helper()
	entries, err := s.Newest().Store().AuditEntries(s.t.Context(), 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.Kind == "click.refused" {
			n++
		}
	}
	return n
}

// forged presses as somebody who cannot.
func (s *stage) forged(presser slacktest.Person, m slacktest.Message, who slacktest.Person) {
	s.t.Helper()
	_, err := presser.Press(localslack.Click{Channel: m.Channel, TS: m.TS, ActionID: "approval_approve", Forge: func(p map[string]any) {
		p["user"] = map[string]any{"id": who.ID, "team_id": "T0LOCAL"}
	}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Guests, outsiders and other bots start nothing.
func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "doc_42")
		s := start(t, o)
		for _, who := range []slacktest.Person{s.gus, s.oli} {
			ask := who.Says("#ops", "@countersign wipe doc_42")
			s.answered(ask, "I can only work for full members")
		}
		runs, err := s.Newest().Store().Runs(t.Context(), false, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if r.State != agent.Cancelled || r.Spent.Calls != 0 {
				t.Errorf("a run of %s: %s, %d calls of the model", r.Asker.User, r.State, r.Spent.Calls)
			}
		}
		if counter.Count() != 0 {
			t.Error("the tool ran")
		}
	})
}

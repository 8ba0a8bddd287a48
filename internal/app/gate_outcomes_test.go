package app_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// What sends data out runs by its own risk, until the run has read a private source:
// from then on it asks.
func TestEgressAfterAPrivateReadAsks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		crm := &apptest.Counter{Name: "crm", Risk: tools.Low, Private: true}
		post := &apptest.Counter{Name: "post", Risk: tools.Medium, Egress: true}
		say := func(tool, what string) apptest.Turn {
			return apptest.Calls(tool, `{"thought":"asked","what":"`+what+`"}`)
		}
		o.Extra, o.Model = []tools.Tool{crm, post}, apptest.Play(say("post", "before"), say("crm", "ana"), say("post", "after"), apptest.Says("That is all."))
		s := start(t, o)
		ask := s.asks("post, look, post")
		card := s.card(ask, slacktest.Text("post"), slacktest.Text("after"))
		if post.Count() != 1 || crm.Count() != 1 {
			t.Fatalf("%d posts and %d looks before anybody was asked", post.Count(), crm.Count())
		}
		s.mgr.Clicks(card, "approval_approve")
		s.Slack.Expect(slacktest.MetaHas("subject", "/private"), slacktest.Text("That is all.")) // to the asker alone
		if w := s.waits(agent.Success); post.Count() != 2 || w.Steps[0].Approval != "" || w.Steps[2].Approval == "" {
			t.Errorf("%d posts, steps %+v", post.Count(), w.Steps)
		}
	})
}

// Who may not even ask for a tool gets no card, whoever could approve it.
func TestNotAllowedToAsk(t *testing.T) {
	t.Parallel()
	counter, script, o := wiping(apptest.Options{}, "doc_42")
	o.YAML = "rules: [{tool: wipe, when: \"!('finance' in roles)\", deny: only finance may ask for this}]\n"
	s := start(t, o)
	s.answered(s.asks("wipe doc_42"), "That is all.")
	if w := s.waits(agent.Success); counter.Count() != 0 || len(w.Approvals) != 0 || w.Steps[0].State != agent.StepRefused {
		t.Errorf("%d calls, %d cards, step %s", counter.Count(), len(w.Approvals), w.Steps[0].State)
	}
	if results := toolResults(script.Last()); len(results) != 1 || !strings.Contains(results[0], "only finance") {
		t.Errorf("the model read %q", results)
	}
	s.card(s.fin.Says("#ops", "@countersign wipe doc_42"))
}

// Somebody who may decide answers in the call's place: it does not run, the model reads
// whose words these are, and the card and the record say so.
func TestAnswerInsteadOfRunning(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, script, o := wiping(o, "doc_42")
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		s.fin.Clicks(card, "approval_respond")
		s.Slack.ExpectModal(s.fin, "Answer").Fill("reason", "mine").MustSubmit()
		s.told(s.fin, "Only people with the role")
		s.mgr.Clicks(card, "approval_respond")
		form := s.Slack.ExpectModal(s.mgr, "Answer")
		if out := form.Fill("reason", " ").Submit(); out.Errors["reason"] == "" {
			t.Errorf("nothing was taken for an answer: %+v", out)
		}
		form.Fill("reason", "it is archived already <!channel>").MustSubmit()
		s.answered(ask, "That is all.")
		s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.Text("<@U0MGR>"), slacktest.Text("it is archived already"))
		w := s.waits(agent.Success)
		if counter.Count() != 0 || w.Approvals[0].State != approvals.Answered || w.Steps[0].State != agent.StepAnswered {
			t.Errorf("%d calls, the approval is %s, the step %s", counter.Count(), w.Approvals[0].State, w.Steps[0].State)
		}
		if results := toolResults(script.Last()); len(results) != 1 || !containsAll(results[0], []string{"U0MGR", "it is archived already"}) {
			t.Errorf("the model read %q", results)
		}
		s.mustAudit(w, "approval.respond", s.mgr.ID, "it is archived already")
	})
}

// Reminders are put on the card that is there, and privately: the channel gets no further message.
func TestRemindersAddNothingToTheChannel(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{Approvals: "approvals: {approvers: [manager], ttl: 1h, remind: [59m58s, 59m57s], sweep: 200ms}"})
	ask := s.asks("删除文档 doc_42")
	card := s.card(ask)
	s.direct(s.mgr, slacktest.MetaHas("subject", "/remind/1/"))
	s.direct(s.mgr, slacktest.MetaHas("subject", "/remind/2/"))
	s.Slack.ExpectUpdate(card, slacktest.Text("⏰"))
	if all := s.Slack.All(slacktest.InThread(ask)); len(all) != 2 { // the progress and the card
		t.Errorf("%d messages in the thread\n%s", len(all), s.Slack.Transcript())
	}
}

// A read that somebody had to countersign fails as any read does: nothing can have happened,
// so nobody is asked what did.
func TestACountersignedReadThatFails(t *testing.T) {
	t.Parallel()
	look := &apptest.Counter{Name: "look", Risk: tools.Low, Do: func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{}, errors.New("the connection was reset")
	}}
	script := apptest.Play(apptest.Calls("look", `{"thought":"a","what":"x"}`), apptest.Says("It could not be read."))
	s := start(t, apptest.Options{Extra: []tools.Tool{look}, YAML: "rules: [{tool: look, risk: high}]\n", Model: script})
	ask := s.asks("look at x")
	s.mgr.Clicks(s.card(ask), "approval_approve")
	s.Until("an outcome", func() bool { return s.number("SELECT count(*) FROM steps WHERE state IN ('failed', 'uncertain')") == 1 })
	if n := s.number("SELECT count(*) FROM steps WHERE state = 'uncertain'"); n != 0 {
		t.Fatal("people are asked what became of a read")
	}
	s.answered(ask, "It could not be read.")
	if results := toolResults(script.Last()); len(results) != 1 || !strings.Contains(results[0], "the connection was reset") {
		t.Errorf("the model read %q", results)
	}
}

// The same where a process died over it: only the result is lost.
func TestACountersignedReadThatIsLost(t *testing.T) {
	t.Parallel()
	look := &apptest.Counter{Name: "look", Risk: tools.Low}
	script := apptest.Play(apptest.Calls("look", `{"thought":"a","what":"x"}`), apptest.Says("It could not be read."))
	w := apptest.New(t, apptest.Options{Lease: steadyLease, Sweep: 200 * time.Millisecond, Extra: []tools.Tool{look}, YAML: "rules: [{tool: look, risk: high}]\n", Model: script})
	p, m := runToStart(w, 1, true)
	s := stageOf(t, w)
	ask := s.asks("look at x")
	s.mgr.Clicks(s.card(ask), "approval_approve")
	s.Until("a death", m.Dead)
	s.Kill(p)
	s.Run()
	s.answered(ask, "It could not be read.")
	if results := toolResults(script.Last()); len(results) != 1 || !strings.Contains(results[0], "died before the result was stored") || look.Count() != 0 {
		t.Errorf("the model read %q after %d calls", results, look.Count())
	}
}

// An edit is judged by what the run has read, as the call was: what a rule denies then
// stands in no card that people approve.
func TestEditAfterAPrivateRead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		crm, post := &apptest.Counter{Name: "crm", Risk: tools.Low, Private: true}, &apptest.Counter{Name: "post", Risk: tools.High}
		o.Extra, o.YAML = []tools.Tool{crm, post}, "rules: [{tool: post, when: \"size(run.read) > 0 && args.what != 'inside'\", deny: what was read stays inside}]\n"
		o.Model = apptest.Play(apptest.Calls("crm", `{"thought":"a","what":"ana"}`), apptest.Calls("post", `{"thought":"a","what":"inside"}`), apptest.Says("That is all."))
		s := start(t, o)
		card := s.card(s.asks("look, then post"), slacktest.Text("inside"))
		s.pressesWhenThere(s.mgr, card, "approval_edit")
		form := s.Slack.ExpectModal(s.mgr, "Why the change?")
		form.Fill("arg:what", "outside")
		form.MustSubmit()
		s.Until("an edit that was judged", func() bool {
			return s.number("SELECT count(*) FROM audit_entries WHERE kind IN ('click.refused', 'approval.edit')") > 0
		})
		if n := s.number("SELECT count(*) FROM approvals WHERE state = 'pending' AND revision = 1"); n != 1 || post.Count() != 0 {
			t.Fatalf("%d cards wait as they were, %d posts", n, post.Count())
		}
		s.told(s.mgr, "what was read stays inside")
	})
}

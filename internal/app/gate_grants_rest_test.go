package app_test

import (
	"context"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/internal/config"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// granted is a world with a standing grant of somebody on call for three calls like
// the one that they approved; a rule, not the default, says that they decide.
func granted(t *testing.T, o apptest.Options, count *apptest.Counter) (s *stage, card slacktest.Message, p *apptest.Process) {
	t.Helper()
	o.Extra, o.Model, o.Lease = []tools.Tool{count}, wiper(), steadyLease
	if o.Roles == "" {
		o.Roles = "  oncall: {users: [U0FIN]}\n"
	}
	o.Approvals = "approvals: {approvers: [manager], grants: {count: 3, within: 1h}, sweep: 200ms}"
	o.YAML += "limits: {tool_timeout: 500ms, open_approvals: {per_run: 5, per_asker: 50}}\nrules: [{tool: wipe, approvers: [oncall]}]\n"
	s = stageOf(t, apptest.New(t, o))
	p = s.Run()
	ask := s.asks("wipe thing-a")
	card = s.card(ask)
	s.fin.Clicks(card, "approval_approve")
	s.answered(ask, "Done.")
	s.Slack.ExpectUpdate(card, slacktest.Button("grant_open"))
	if errs := s.gives(s.fin, card, "3"); len(errs) > 0 {
		t.Fatal(errs)
	}
	s.Slack.ExpectUpdate(card, slacktest.Button("grant_revoke"))
	return s, card, p
}

// unwiper is a tool whose n-th call never answers.
func unwiper(n int) *apptest.Counter {
	c := &apptest.Counter{Name: "wipe", Risk: tools.High, Schema: `{"type":"object","properties":{"what":{"type":"string"},"n":{"type":"integer"}},"required":["what","n"]}`}
	c.Do = func(ctx context.Context, call tools.Call) (tools.Result, error) {
		if c.Count() != n {
			return tools.Result{Text: "wiped", Effect: "wiped " + string(call.Args)}, nil
		}
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}
	return c
}

// While nobody knows what became of a call under a grant, equal calls wait for people,
// and it is settled by those whom the grant's rule names: not by the asker, not by the
// people of the default.
func TestStandingGrantRestsWhileACallIsUnknown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := unwiper(2)
		s, card, _ := granted(t, o, count)
		ask := s.asks("wipe thing-a")
		question := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("uncertain_happened"))
		held := s.card(s.asks("wipe thing-a"))
		for _, who := range []slacktest.Person{s.ana, s.mgr} {
			s.pressesWhenThere(who, question, "uncertain_happened")
			s.told(who, "Only people with the role")
		}
		if count.Count() != 2 {
			t.Fatalf("%d calls", count.Count())
		}
		s.pressesWhenThere(s.fin, question, "uncertain_happened")
		s.answered(ask, "Done.")
		s.answered(s.asks("wipe thing-a"), "Done.", "standing grant of")
		s.Slack.ExpectUpdate(card, slacktest.Text("2 of 3 used"))
		s.Slack.ExpectUpdate(held, slacktest.Button("approval_approve"))
		if count.Count() != 3 {
			t.Errorf("%d calls", count.Count())
		}
	})
}

// Running an unknown call once more is a decision of the same people, on a card.
func TestUnknownCallOfAGrantIsRunAgainByItsPeople(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := unwiper(2)
		s, _, _ := granted(t, o, count)
		ask := s.asks("wipe thing-a")
		question := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("uncertain_happened"))
		s.Slack.ExpectUpdate(question, slacktest.Button("uncertain_run"))
		s.pressesWhenThere(s.mgr, question, "uncertain_run")
		s.told(s.mgr, "Only people with the role")
		s.pressesWhenThere(s.fin, question, "uncertain_run") // nobody was shown this call yet
		s.pressesWhenThere(s.fin, s.card(ask), "approval_approve")
		s.answered(ask, "Done.")
		if count.Count() != 3 {
			t.Errorf("%d calls", count.Count())
		}
		s.mustHaveRecorded(map[string]int{"grant.used": 1, "approval.redeemed": 2})
	})
}

// Who changes what a tool is, or where it goes, ends the grants: by a reload of the
// tools' configuration, and by another contract after a restart.
func TestStandingGrantIsVoidWithAnotherTool(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := unwiper(0)
		s, card, _ := granted(t, o, count)
		cfg := s.Config()
		cfg.Tools.HTTP = append(cfg.Tools.HTTP, config.HTTPTool{Name: "other", Description: "Another.", Method: "GET", URL: "https://other.example/x"})
		if _, err := s.Newest().Reload(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		s.Slack.ExpectUpdate(card, slacktest.NoButton("grant_revoke"), slacktest.Text("It is void"))
		s.card(s.asks("wipe thing-a"))
		s.mustHaveRecorded(map[string]int{"grant.void": 1, "grant.used": 0})
	})
}

func TestStandingGrantIsVoidWithAnotherContract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := unwiper(0)
		s, card, p := granted(t, o, count)
		s.Kill(p)
		count.Schema = strings.TrimSuffix(count.Schema, "}") + `,"additionalProperties":false}`
		s.Run()
		s.Slack.ExpectUpdate(card, slacktest.NoButton("grant_revoke"), slacktest.Text("It is void"))
		s.card(s.asks("wipe thing-a"))
		if count.Count() != 1 {
			t.Errorf("%d calls", count.Count())
		}
		s.mustHaveRecorded(map[string]int{"grant.void": 1, "grant.used": 0})
	})
}

// Who was called to a card late could not decide the next one, and gives no grant on it.
func TestCalledLateGivesNoStandingGrant(t *testing.T) {
	t.Parallel()
	s, _ := granting(t, apptest.Options{Approvals: "approvals: {approvers: [manager], escalate: {after: 1s, to: [finance]}, notify: dm, grants: {count: 3, within: 1h}, sweep: 200ms}"})
	ask := s.asks("wipe thing-a")
	card := s.card(ask)
	s.direct(s.fin, slacktest.MetaHas("subject", "/asked/"))
	s.pressesWhenThere(s.fin, card, "approval_approve")
	s.answered(ask, "Done.")
	s.Slack.ExpectUpdate(card, slacktest.Button("grant_open"))
	s.gives(s.fin, card, "2")
	s.told(s.fin, "Only people with the role")
	s.mustHaveRecorded(map[string]int{"grant.opened": 0})
}

// What a person made of another call counts as the call that ran: while nobody knows for
// sure what became of that, a standing grant does not repeat it, also where a second
// attempt failed and only somebody's word says that the first did nothing.
func TestStandingGrantRestsAfterAFailedSecondAttempt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := unwiper(2)
		o.Roles = "  oncall: {users: [U0FIN, U0MGR]}\n"
		s, _, _ := granted(t, o, count)
		before := count.Do
		count.Do = func(ctx context.Context, call tools.Call) (tools.Result, error) {
			if count.Count() == 3 {
				return tools.Result{}, &tools.Failure{Code: "refused", Message: "the service refused it"}
			}
			return before(ctx, call)
		}
		ask := s.asks("wipe thing-b, then thing-a")
		s.edits(s.fin, s.card(ask, slacktest.Text("thing-b")), "arg:what", "thing-a")
		question := s.question(ask)
		s.wantsAgain(s.mgr, question) // counts as the approval
		s.card(ask, slacktest.Text("thing-a"))
		if count.Count() != 3 {
			t.Errorf("%d calls", count.Count())
		}
	})
}

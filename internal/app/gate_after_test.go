package app_test

import (
	"context"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/internal/config"
	"countersign/localslack"
	"countersign/localslack/blockkit"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// pressesHome presses a button of somebody's Home.
func (s *stage) pressesHome(who slacktest.Person, action, part string) {
	s.t.Helper()
	who.OpensHome()
	home := s.Slack.ExpectHome(who, part)
	s.Until("the button "+action+" on Home", func() bool {
		out, err := who.Press(localslack.Click{ViewID: home.ID, ActionID: action})
		return err == nil && out.Acked
	})
}

// Home lists what others approved alone, for whoever may look at it, and the standing
// grants that one gave; both are dealt with there.
func TestHomeListsReviewsAndGrants(t *testing.T) {
	t.Parallel()
	s, _ := granting(t, apptest.Options{
		Roles: "  oncall: {users: [U0FIN]}\n", Approvals: "approvals: {approvers: [manager], totp_key: '${CODES_KEY}', break_glass: [oncall], grants: {count: 3, within: 1h}, sweep: 200ms}",
	})
	s.enrolls(s.fin)
	card := s.approvedCard()
	s.gives(s.mgr, card, "2")
	s.Slack.ExpectUpdate(card, slacktest.Button("grant_revoke"))
	s.pressesHome(s.mgr, "grant_revoke", "0 of 2 used")
	s.Slack.ExpectUpdate(card, slacktest.Text("<@U0MGR> revoked it"))
	ask := s.asks("wipe thing-b")
	other := s.card(ask)
	if errs := s.breaks(s.fin, other, "nobody is awake", code(t, 0)); len(errs) > 0 {
		t.Fatal(errs)
	}
	look := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("review_ok"))
	s.pressesHome(s.mgr, "review_ok", "Approved alone: please look")
	s.Slack.ExpectModal(s.mgr, "alone").MustSubmit()
	s.Slack.ExpectUpdate(look, slacktest.NoButton("review_ok"))
	s.Until("an empty Home", func() bool {
		home, ok := s.Slack.Server.Workspace().Home(s.mgr.ID)
		shown := strings.Join(blockkit.Texts(home.Blocks), "\n")
		return ok && strings.Contains(shown, "Your requests") && !strings.Contains(shown, "please look") && !strings.Contains(shown, "run without a card")
	})
}

// The other buttons of Home: what waits is rejected there, and about what somebody else
// approved alone a concern is raised. With these, Show, Revoke and the look of the other
// tests every button that stands on a Home is pressed.
func TestHomeRejectsAndRaisesConcerns(t *testing.T) {
	t.Parallel()
	count := &apptest.Counter{Name: "wipe", Risk: tools.High}
	s := start(t, apptest.Options{
		Extra: []tools.Tool{count}, Roles: "  oncall: {users: [U0FIN]}\n", Model: apptest.Play(wipes("one"), apptest.Says("All said.")),
		Approvals: "approvals: {approvers: [manager], totp_key: '${CODES_KEY}', break_glass: [oncall], sweep: 200ms}",
	})
	s.enrolls(s.fin)
	ask := s.asks("wipe one")
	if errs := s.breaks(s.fin, s.card(ask), "nobody is awake", code(t, 0)); len(errs) > 0 {
		t.Fatal(errs)
	}
	look := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("review_concern"))
	s.answered(ask, "All said.")
	other := s.asks("wipe two")
	card := s.card(other)
	s.pressesHome(s.mgr, "approval_reject", "wipe")
	s.Slack.ExpectModal(s.mgr, "Why not?").MustSubmit()
	s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.Text("<@U0MGR> rejected"))
	s.answered(other, "All said.")
	s.pressesHome(s.mgr, "review_concern", "please look")
	form := s.Slack.ExpectModal(s.mgr, "Raise a concern")
	form.Fill("reason", "somebody was awake")
	form.MustSubmit()
	s.Slack.ExpectUpdate(look, slacktest.NoButton("review_concern"), slacktest.Text("<@U0MGR> raised a concern"), slacktest.Text("somebody was awake"))
	if count.Count() != 1 {
		t.Errorf("%d calls", count.Count())
	}
}

// What is denied after somebody approved it alone does not run: the worker was busy with
// another call when the rule came.
func TestDeniedAfterBreakGlass(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count, release := &apptest.Counter{Name: "wipe", Risk: tools.High}, make(chan struct{})
		slow := &apptest.Counter{Name: "slow", Risk: tools.Medium, Do: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return tools.Result{Text: "done"}, nil
		}}
		turn := wipes("prod")
		turn.Calls = append(turn.Calls, apptest.Call{Name: "slow", Args: `{"thought":"too","what":"x"}`})
		o.Extra, o.Roles, o.Model = []tools.Tool{count, slow}, "  oncall: {users: [U0FIN]}\n", apptest.Play(turn, apptest.Says("I may not."))
		o.Approvals, o.YAML = "approvals: {approvers: [manager], totp_key: '${CODES_KEY}', break_glass: [oncall], sweep: 200ms}", "limits: {tool_timeout: 40s}"
		s := start(t, o)
		s.enrolls(s.fin)
		ask := s.asks("wipe prod")
		card := s.card(ask)
		s.Until("the slow call", func() bool { return slow.Count() == 1 })
		if errs := s.breaks(s.fin, card, "nobody is awake", code(t, 0)); len(errs) > 0 {
			t.Fatal(errs)
		}
		s.Slack.ExpectUpdate(card, slacktest.Text("broke the glass"))
		cfg := s.Config()
		cfg.Rules = append(cfg.Rules, config.Rule{Tool: "wipe", Deny: "production is never wiped"})
		if _, err := s.Newest().Reload(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		close(release)
		s.answered(ask, "I may not.")
		w := s.waits(agent.Success)
		if a := w.Approvals[0]; count.Count() != 0 || a.State != approvals.Lapsed || w.Steps[0].State != agent.StepRefused {
			t.Errorf("%d calls, the approval is %s, the step %s", count.Count(), a.State, w.Steps[0].State)
		}
	})
}

// Whoever edited a call shaped it, and is as little alone in approving it as its asker.
func TestEditorBreaksNoGlass(t *testing.T) {
	t.Parallel()
	count := &apptest.Counter{Name: "wipe", Risk: tools.High}
	s := start(t, apptest.Options{
		Extra: []tools.Tool{count}, Roles: "  oncall: {users: [U0MGR]}\n", Model: apptest.Play(wipes("all"), apptest.Says("It is gone.")),
		Approvals: "approvals: {approvers: [manager, finance], quorum: 2, totp_key: '${CODES_KEY}', break_glass: [oncall], sweep: 200ms}",
	})
	s.enrolls(s.mgr)
	card := s.card(s.asks("wipe it"))
	s.pressesWhenThere(s.mgr, card, "approval_edit")
	form := s.Slack.ExpectModal(s.mgr, "what")
	form.Fill("arg:what", "half")
	form.MustSubmit()
	s.Slack.ExpectUpdate(card, slacktest.Text("half"), slacktest.Button("glass_break"))
	s.breaks(s.mgr, card, "I am in a hurry", code(t, 0))
	s.told(s.mgr, "somebody else has to approve it")
	if count.Count() != 0 {
		t.Error("it ran")
	}
}

package app_test

import (
	"net/http"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// A form that is saved after the tool behind it changed (a reload, another process) edits
// nothing: its author saw neither the new place nor the new arguments. A new card has the
// call as it was and the tool as it is; where the call does not fit that tool, the model
// is told.
func TestEditAfterTheToolChanged(t *testing.T) {
	t.Parallel()
	a, atA := counting(t, created)
	b, atB := counting(t, created)
	for name, change := range map[string]func(text string, env map[string]string) string{
		"place": func(text string, env map[string]string) string { env["WIPE_URL"] = b; return text },
		"words": func(text string, _ map[string]string) string {
			return strings.Replace(text, "description: Wipe.", "description: Wipes everything.", 1)
		},
		"arguments": func(text string, _ map[string]string) string {
			return strings.Replace(text, "required: [what]", "required: [what, why]", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, apptest.Options{YAML: placed(false), Model: wipesHost(), Env: map[string]string{"WIPE_URL": a, "COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}})
			ask := s.asks("wipe doc_42")
			card := s.card(ask, slacktest.Text(a))
			s.mgr.Clicks(card, "approval_edit")
			form := s.Slack.ExpectModal(s.mgr, "Why the change?")
			s.reload(s.changed(change))
			form.Fill("arg:what", "doc_43")
			form.Submit()
			s.told(s.mgr, "has changed since the card was made")
			if name == "arguments" {
				s.Slack.ExpectUpdate(card, slacktest.Text("Not possible any more"), slacktest.NoButton("approval_approve"))
				s.answered(ask, "That is all.")
				if step := s.whole().Steps[0]; step.Code != "invalid_arguments" || !strings.Contains(step.Observation, "why") {
					t.Errorf("the model was told %s: %s", step.Code, step.Observation)
				}
			} else {
				s.renewed(ask, card, slacktest.Text("doc_42"), slacktest.NoText("doc_43"))
			}
			if atA.Load()+atB.Load() != 0 {
				t.Errorf("%d and %d calls", atA.Load(), atB.Load())
			}
		})
	}
}

// pays is a world with a tool of which a rule looks at the amount.
func pays(t *testing.T, rule string) (*stage, *apptest.Counter) {
	t.Helper()
	count := &apptest.Counter{Name: "pay", Risk: tools.High, Schema: `{"type":"object","properties":{"amount":{"type":"integer"}},"required":["amount"]}`}
	return start(t, apptest.Options{
		Extra: []tools.Tool{count}, Approvals: "approvals: {approvers: [manager, finance], sweep: 200ms}", YAML: "rules: [" + rule + "]\n", Roles: "  board: {users: [U0FIN]}\n",
		Model: apptest.Play(apptest.Calls("pay", `{"thought":"asked","amount":20}`), apptest.Says("That is all.")),
	}), count
}

// saves changes the amount in the form of an edit.
func (s *stage) saves(who slacktest.Person, card slacktest.Message, amount string) {
	s.t.Helper()
	s.pressesWhenThere(who, card, "approval_edit")
	form := s.Slack.ExpectModal(who, "Why the change?")
	form.Fill("arg:amount", amount)
	form.MustSubmit()
	s.Slack.ExpectUpdate(card, slacktest.Text(amount))
}

// Saving is an approval only by somebody who may approve what they made of the call.
func TestEditBeyondOwnRights(t *testing.T) {
	t.Parallel()
	s, count := pays(t, "{tool: pay, when: args.amount > 100, approvers: [board]}")
	ask := s.asks("pay 20")
	card := s.card(ask)
	s.saves(s.mgr, card, "5000")
	if count.Count() != 0 {
		t.Fatalf("%d calls, which the board has to approve", count.Count())
	}
	s.pressesWhenThere(s.fin, card, "approval_approve")
	s.answered(ask, "That is all.")
}

// Whoever may approve their own small request does not make a large one of it.
func TestEditOfOneselfsRequest(t *testing.T) {
	t.Parallel()
	s, count := pays(t, "{tool: pay, when: args.amount <= 100, self_approval: true}")
	ask := s.mgr.Says("#ops", "@countersign pay 20")
	card := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_reject"))
	s.saves(s.mgr, card, "5000")
	s.pressesWhenThere(s.mgr, card, "approval_approve")
	s.told(s.mgr, "somebody else has to approve")
	if count.Count() != 0 {
		t.Errorf("%d calls", count.Count())
	}
}

// After a second card was rejected, wanting the call to run again opens a third one: the
// rejected card is not what people agreed to.
func TestRunAgainAfterARejection(t *testing.T) {
	t.Parallel()
	a, _ := counting(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	b, atB := counting(t, created)
	s := startLossy(t, a)
	ask := s.asks("wipe doc_42")
	s.mgr.Clicks(s.card(ask, slacktest.Text("doc_42")), "approval_approve")
	question := s.question(ask)
	s.reload(s.changed(func(text string, env map[string]string) string { env["WIPE_URL"] = b; return text }))
	s.wantsAgain(s.mgr, question)
	second := s.card(ask, slacktest.Text(b))
	s.pressesWhenThere(s.fin, second, "approval_reject")
	s.Slack.ExpectModal(s.fin, "Why not?").Fill("reason", "never there").MustSubmit()
	s.Slack.ExpectUpdate(second, slacktest.NoButton("approval_approve"))
	s.wantsAgain(s.mgr, question)
	s.card(ask, slacktest.Text(b))
	if atB.Load() != 0 {
		t.Errorf("%d calls", atB.Load())
	}
}

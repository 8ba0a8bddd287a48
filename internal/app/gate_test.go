package app_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// refundRules are the rules of the demo, and one that lets small refunds pass.
const refundRules = `
rules:
  - {tool: refund, when: "args.amount <= 20.0", risk: medium, at_most: {count: 2, sum: args.amount, limit: 30, within: 24h}}
  - {tool: refund, when: "args.amount > 1000.0", approvers: [finance], quorum: 2, ttl: 15m}
`

// everybodyFinance lets the asker hold the role too: the rule, not the role, refuses.
func everybodyFinance(c *localslack.Config) {
	for i := range c.Usergroups {
		if c.Usergroups[i].ID == "S0FIN" {
			c.Usergroups[i].Members = append(c.Usergroups[i].Members, "U0ANA")
		}
	}
}

// Slack rows 23, c.
func TestScene9RefundForTwo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.YAML, o.Slack = refundRules, []func(*localslack.Config){everybodyFinance}
		s := start(t, o)
		ask := s.asks("refund 1500 of order 9")
		card := s.card(ask, slacktest.Button("approval_approve"), slacktest.Text("1500"), slacktest.Text("0 of 2"))
		s.ana.Clicks(card, "approval_approve")
		s.told(s.ana, "somebody else has to approve it")
		s.gus.Clicks(card, "approval_approve")
		s.told(s.gus, "Guests")
		s.oli.Clicks(card, "approval_approve")
		s.told(s.oli, "Only members")
		s.mgr.Clicks(card, "approval_approve")
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		s.pressesWhenThere(s.mgr, card, "approval_approve")
		s.told(s.mgr, "counted already")
		if refunded(s) != 0 {
			t.Fatal("it was refunded before the second person approved")
		}
		s.pressesWhenThere(s.fin, card, "approval_approve")
		s.answered(ask, "1500")
		w := s.waits(agent.Success)
		if refunded(s) != 1500 || w.Approvals[0].State != approvals.Redeemed || w.Approvals[0].Current().Requirement.Rule != "rules[1]" {
			t.Errorf("refunded %v, approval %+v", refunded(s), w.Approvals[0])
		}
		s.mustAudit(w, "click.refused", "U0ANA", "requester")
		s.mustAudit(w, "approval.count", "U0MGR")
		s.mustAudit(w, "approval.approve", "U0FIN")
	})
}

// refunded is what the shop paid back for order 9.
func refunded(s *stage) float64 {
	return s.amount("SELECT coalesce(sum(amount), 0) FROM refunds WHERE order_id = 9")
}

// amount asks the shop's database for one number.
func (s *stage) amount(query string) float64 {
	s.t.Helper()
	return s.amountIn(filepath.Join(s.Dir, "shop.db"), query)
}

// amountIn asks any database file for one number.
func (s *stage) amountIn(file, query string) float64 {
	s.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+file)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	var n float64
	if err := db.QueryRowContext(s.t.Context(), query).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// A lowered risk runs without anybody until its budget is used up; then people are asked.
func TestLoweredRiskIsCounted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "pay", Risk: tools.High, Schema: `{"type":"object","properties":{"amount":{"type":"number"}},"required":["amount"]}`}
		o.Extra = []tools.Tool{count}
		o.YAML = `rules: [{tool: pay, when: "args.amount <= 20.0", risk: medium, at_most: {count: 2, sum: args.amount, limit: 30, within: 24h}}]`
		pay := func(amount float64) apptest.Call {
			return apptest.Call{Name: "pay", Args: fmt.Sprintf(`{"thought":"owed","amount":%v}`, amount)}
		}
		// 15 runs, 16 would be 31 in sum, 15 is 30, and a fourth is one call too many.
		o.Model = apptest.Play(apptest.Turn{Calls: []apptest.Call{pay(15), pay(16), pay(15), pay(0.5)}}, apptest.Says("Paid."))
		s := start(t, o)
		ask := s.asks("pay what is owed")
		first := s.card(ask)
		second := s.card(ask)
		s.Until("the two calls within the budget", func() bool { return count.Count() == 2 })
		for _, card := range []slacktest.Message{first, second} {
			s.pressesWhenThere(s.mgr, card, "approval_approve")
		}
		s.answered(ask, "Paid.")
		w := s.waits(agent.Success)
		for i, want := range []tools.Risk{tools.Medium, tools.High, tools.Medium, tools.High} {
			if step := w.Steps[i]; step.Risk != want || step.State != agent.StepSucceeded || (want == tools.High) != (step.Approval != "") {
				t.Errorf("step %d: %s %s approval %q, want risk %s", i+1, step.Risk, step.State, step.Approval, want)
			}
		}
		if count.Count() != 4 || w.Run.Spent.Steps != 4 {
			t.Errorf("%d calls, %d steps", count.Count(), w.Run.Spent.Steps)
		}
	})
}

// A rule whose budget is used up lets nothing pass: what stands below it holds then, not
// less than that.
func TestBelowAUsedUpRule(t *testing.T) {
	t.Parallel()
	const free = `rules:
  - {tool: pay, when: "args.amount <= 20.0", risk: medium, at_most: {count: 1, within: 24h}}
`
	pays := func(below string) (*apptest.Counter, apptest.Options) {
		c := &apptest.Counter{Name: "pay", Risk: tools.High, Schema: `{"type":"object","properties":{"amount":{"type":"number"}},"required":["amount"]}`}
		return c, apptest.Options{
			Extra: []tools.Tool{c}, YAML: free + below,
			Model: apptest.Play(apptest.Calls("pay", `{"thought":"owed","amount":5}`), apptest.Calls("pay", `{"thought":"owed","amount":6}`), apptest.Says("That is all.")),
		}
	}
	t.Run("asks for others", func(t *testing.T) {
		t.Parallel()
		c, o := pays("  - {tool: pay, approvers: [oncall]}\n")
		o.Roles = "  oncall: {users: [U0FIN]}\n"
		s := start(t, o)
		ask := s.asks("pay what is owed")
		card := s.card(ask, slacktest.Text("amount"))
		s.mgr.Clicks(card, "approval_approve")
		s.told(s.mgr, "oncall")
		s.pressesWhenThere(s.fin, card, "approval_approve")
		s.answered(ask, "That is all.")
		if w := s.waits(agent.Success); c.Count() != 2 || w.Steps[1].Risk != tools.High {
			t.Errorf("%d calls, %+v", c.Count(), w.Steps[1])
		}
	})
	t.Run("denies", func(t *testing.T) {
		t.Parallel()
		c, o := pays("  - {tool: pay, deny: one small payment a day}\n")
		s := start(t, o)
		s.answered(s.asks("pay what is owed"), "That is all.")
		if w := s.waits(agent.Success); c.Count() != 1 || w.Steps[1].Code != "denied" {
			t.Errorf("%d calls, %+v", c.Count(), w.Steps[1])
		}
	})
}

func TestDenyingRule(t *testing.T) {
	t.Parallel()
	count := &apptest.Counter{Name: "wipe", Risk: tools.High}
	s := start(t, apptest.Options{
		Extra: []tools.Tool{count}, YAML: `rules: [{tool: wipe, when: "args.what.startsWith('prod')", deny: "production is never wiped"}]`,
		Model: apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"prod-1"}`), apptest.Says("I may not.")),
	})
	s.answered(s.asks("wipe prod-1"), "I may not.")
	if w := s.waits(agent.Success); count.Count() != 0 || w.Steps[0].State != agent.StepRefused || w.Steps[0].Code != "denied" {
		t.Errorf("%+v", w.Steps[0])
	}
}

// An asker's cards are counted over all runs, in the database.
func TestOpenApprovalsPerAsker(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra, o.YAML = []tools.Tool{count}, "limits: {open_approvals: {per_run: 3, per_asker: 2}}\n"
		call := func(what string) apptest.Call {
			return apptest.Call{Name: "wipe", Args: `{"thought":"asked","what":"` + what + `"}`}
		}
		o.Model = apptest.Play(apptest.Turn{Calls: []apptest.Call{call("a"), call("b"), call("c")}}, apptest.Says("Done."))
		s := start(t, o)
		ask := s.asks("wipe a, b and c")
		s.card(ask, slacktest.Text("a"))
		s.card(ask, slacktest.Text("b"))
		w := s.waits(agent.WaitingApproval)
		if w.Steps[2].State != agent.StepRefused || w.Steps[2].Code != "too_many_open" || len(w.Approvals) != 2 {
			t.Errorf("the third: %s %s", w.Steps[2].State, w.Steps[2].Code)
		}
	})
}

// With edit_approves: false the editor's own approval is still needed from somebody else.
func TestEditThatDoesNotApprove(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{Approvals: "approvals: {approvers: [manager, finance], edit_approves: false, sweep: 200ms}"})
	ask := s.asks("删除文档 doc_42")
	card := s.card(ask, slacktest.Button("approval_approve"))
	s.mgr.Clicks(card, "approval_edit")
	form := s.Slack.ExpectModal(s.mgr, "doc_42")
	form.Fill("arg:id", "doc_43")
	form.MustSubmit()
	s.Slack.ExpectUpdate(card, slacktest.Text("doc_43"), slacktest.Button("approval_approve"))
	s.pressesWhenThere(s.mgr, card, "approval_approve")
	s.told(s.mgr, "somebody else has to approve it")
	s.pressesWhenThere(s.fin, card, "approval_approve")
	s.answered(ask, "doc_43")
	if s.File("docs/doc_42.md") == "" || s.File("docs/doc_43.md") != "" {
		t.Error("another document was deleted than the edited one")
	}
}

func TestSelfApproval(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{Slack: []func(*localslack.Config){everybodyFinance}, Approvals: "approvals: {approvers: [finance], self_approval: true, sweep: 200ms}"})
	ask := s.asks("删除文档 doc_42")
	s.ana.Clicks(s.card(ask, slacktest.Button("approval_approve")), "approval_approve")
	s.answered(ask, "doc_42")
}

// An effect with bytes that are no text, as an old table may have them, is shown, approved
// and had: what was sealed is what is read again.
func TestAnEffectOfBrokenTextCanBeApproved(t *testing.T) {
	t.Parallel()
	broken := "caf\xe9\xff \u2028<"
	onBoth(t, func(t *testing.T, o apptest.Options) {
		c := &apptest.Counter{Name: "wipe", Risk: tools.High, Show: func(context.Context, tools.Call) (tools.Preview, error) {
			return tools.Preview{Summary: broken, Detail: broken, Untried: broken, Material: map[string]string{broken: broken}}, nil
		}}
		o.Extra, o.Model = []tools.Tool{c}, apptest.Play(apptest.Calls("wipe", `{"thought":"a","what":"doc_42"}`), apptest.Says("That is all."))
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		s.pressesWhenThere(s.mgr, s.card(ask, slacktest.Text("caf\uFFFD")), "approval_approve")
		s.answered(ask, "That is all.")
		if w := s.whole(); c.Count() != 1 {
			t.Errorf("%d calls: %s %s %q", c.Count(), w.Steps[0].State, w.Steps[0].Code, w.Steps[0].Observation)
		}
	})
}

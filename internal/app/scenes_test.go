package app_test

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

func TestScene1Balance(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s := start(t, o)
		ask := s.asks("查张三的余额，不到 100 就发充值提醒")
		a := s.answered(ask, "张三的余额是", "充值提醒已经发出")
		s.Slack.ExpectUpdate(a, slacktest.Text("已变更："), slacktest.Text("send_topup_reminder"))
		w := s.waits(agent.Success)
		if got := effects(w); len(got) != 1 || len(w.Steps) != 2 || w.Steps[0].Tool != "query_sql" || w.Steps[1].Tool != "send_topup_reminder" {
			t.Errorf("steps: %v, effects: %q", w.Steps, got)
		}
		s.mustAudit(w, "step.executing", "", "send_topup_reminder")
	})
}

func TestScene2Statistics(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s := start(t, o)
		ask := s.asks("统计 transactions.log 的成交总额和均值")
		a := s.answered(ask, "600", "200")
		s.Slack.ExpectUpdate(a, slacktest.Text("未做任何变更"))
		w := s.waits(agent.Success)
		if len(w.Steps) != 3 || w.Steps[0].State != agent.StepFailed || w.Steps[1].State != agent.StepSucceeded || w.Run.Counters.Heals != 0 {
			t.Errorf("steps: %v, heals %d", w.Steps, w.Run.Counters.Heals)
		}
		if notes := w.Turns[1].Notes; len(notes) != 1 || notes[0].Kind != agent.NoteReflect {
			t.Errorf("the second request carries %v, not a reflection", notes)
		}
	})
}

// The process is restarted while a person is waited for.
func TestScene3Delete(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s := stageOf(t, apptest.New(t, o))
		first := s.Run()
		ask := s.asks("删除文档 doc_42")
		card := s.card(ask, slacktest.Button("approval_approve"), slacktest.Text("doc_42"))
		if w := s.waits(agent.WaitingApproval); w.Run.Lease.Owner != "" || w.Run.Halt != agent.HaltApproval {
			t.Errorf("a run that waits is held by %q, halt %q", w.Run.Lease.Owner, w.Run.Halt)
		}
		s.Stop(first)
		if s.File("docs/doc_42.md") == "" {
			t.Fatal("the document was deleted before anybody approved it")
		}
		s.World.Run()
		s.mgr.Clicks(card, "approval_approve")
		a := s.answered(ask, "doc_42")
		s.Slack.ExpectUpdate(a, slacktest.Text("<@U0MGR>"), slacktest.NoText("未做任何变更"))
		s.Slack.ExpectUpdate(card, slacktest.NoButton(""), slacktest.Text("<@U0MGR>"))
		if s.File("docs/doc_42.md") != "" {
			t.Fatal("the document was not deleted")
		}
		w := s.waits(agent.Success)
		if len(w.Steps) != 1 || w.Steps[0].Attempts != 1 || w.Approvals[0].State != approvals.Redeemed {
			t.Errorf("steps %v, approvals %v", w.Steps, w.Approvals)
		}
		s.mustAudit(w, "approval.approve", "U0MGR")
	})
}

// The record, the model and the card all say what ran, what was proposed, and who changed it.
// Rows B38, B40: the record, the model and the card hold both, with who changed it.
func TestScene4Edited(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s := start(t, o)
		ask := s.asks("delete document doc_42")
		card := s.card(ask)
		s.mgr.Clicks(card, "approval_edit")
		form := s.Slack.ExpectModal(s.mgr, "Edit before it runs")
		if got := form.Initial("arg:id"); got != "doc_42" {
			t.Errorf("the form shows %q", got)
		}
		form.Fill("arg:id", "doc_43").Fill("reason", "wrong number").MustSubmit()
		s.answered(ask, "@mgr changed the document from doc_42 to doc_43", "wrong number")
		s.Slack.ExpectUpdate(card, slacktest.NoButton(""), slacktest.Text("doc_43"), slacktest.Text("doc_42"), slacktest.Text("<@U0MGR>"))
		if s.File("docs/doc_42.md") == "" || s.File("docs/doc_43.md") != "" {
			t.Error("doc_43 should be deleted, doc_42 kept")
		}
		w := s.waits(agent.Success)
		step := w.Steps[0]
		if string(step.Proposed) != `{"id":"doc_42"}` || string(step.Executed) != `{"id":"doc_43"}` {
			t.Errorf("proposed %s, executed %s", step.Proposed, step.Executed)
		}
		if !strings.HasPrefix(step.Observation, "CHANGED: a person (<@U0MGR>) edited the arguments") {
			t.Errorf("the model reads %q", step.Observation)
		}
		s.mustAudit(w, "step.proposed", "", "doc_42")
		s.mustAudit(w, "approval.edit", "U0MGR", "doc_42", "doc_43", "wrong number")
	})
}

// Row B43: the gate is outside of the tool.
func TestScene5Rejected(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s := start(t, o)
		ask := s.asks("delete document doc_42")
		card := s.card(ask)
		s.mgr.Clicks(card, "approval_reject")
		s.Slack.ExpectModal(s.mgr, "Why not?").Fill("reason", "still needed").MustSubmit()
		a := s.answered(ask, "doc_42 was not deleted", "still needed")
		s.Slack.ExpectUpdate(a, slacktest.Text("Nothing was changed"))
		s.Slack.ExpectUpdate(card, slacktest.NoButton(""), slacktest.Text("rejected"), slacktest.Text("still needed"))
		w := s.waits(agent.Success)
		if w.Steps[0].State != agent.StepRefused || w.Steps[0].Attempts != 0 || s.File("docs/doc_42.md") == "" {
			t.Errorf("step: %+v", w.Steps[0])
		}
		s.mustAudit(w, "approval.reject", "U0MGR", "still needed")
	})
}

// Row B49. Slack rows 26, 32.
func TestScene5Expired(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Approvals = "approvals: {approvers: [manager], ttl: 1s, sweep: 200ms}"
		s := start(t, o)
		ask := s.asks("delete document doc_42")
		card := s.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/card/"))
		a := s.answered(ask, "doc_42 was not deleted", "so it expired")
		s.Slack.ExpectUpdate(a, slacktest.Text("Nothing was changed"))
		s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.Button("approval_again"), slacktest.Text("Nobody answered in time"))
		w := s.waits(agent.Success)
		if w.Approvals[0].State != approvals.Expired || !strings.HasPrefix(w.Steps[0].Observation, "EXPIRED") {
			t.Errorf("approval %s, observation %q", w.Approvals[0].State, w.Steps[0].Observation)
		}
		s.mustAudit(w, "approval.expire", "")
	})
}

func TestScene6WrongColumn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s := start(t, o)
		ask := s.asks("按周统计订单数和金额")
		s.answered(ask, "2026-")
		w := s.waits(agent.Success)
		tools := make([]string, 0, len(w.Steps))
		for _, step := range w.Steps {
			tools = append(tools, step.Tool+" "+string(step.State))
		}
		if got := strings.Join(tools, ", "); got != "query_sql failed, get_schema succeeded, query_sql succeeded" {
			t.Errorf("steps: %s", got)
		}
	})
}

// What the card shows is what happens: the row before and after.
func TestScene7Update(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s := start(t, o)
		ask := s.asks("set order 7 to shipped")
		card := s.card(ask, slacktest.Text("UPDATE orders"), slacktest.Text("shipped"), slacktest.Text("1 row"))
		before := s.order(7)
		s.mgr.Clicks(card, "approval_approve")
		a := s.answered(ask, "Order 7 is set to shipped")
		s.Slack.ExpectUpdate(a, slacktest.Text("Changed:"))
		if after := s.order(7); before == "shipped" || after != "shipped" {
			t.Errorf("order 7 went from %s to %s", before, after)
		}
	})
}

func TestScene8Loop(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s := start(t, o)
		ask := s.asks("keep looking at order 7 until it is delivered")
		a := s.answered(ask)
		s.Slack.ExpectUpdate(a, slacktest.Button("run_continue"), slacktest.Button("run_stop"))
		w := s.waits(agent.WaitingInput)
		if w.Run.Halt != agent.HaltLoop || len(w.Steps) != 4 || w.Steps[1].State != agent.StepSucceeded {
			t.Errorf("halt %s, %d steps", w.Run.Halt, len(w.Steps))
		}
		if warned := w.Steps[2]; warned.Code != "loop" || !strings.Contains(warned.Observation, "WARNING, highest priority") {
			t.Errorf("the third call: %+v", warned)
		}
		s.mgr.Clicks(a, "run_continue")
		s.told(s.mgr, "Only the person who asked")
		s.ana.Clicks(a, "run_continue")
		s.Until("a further round", func() bool { return len(s.whole().Steps) > 4 })
		s.waits(agent.WaitingInput)
		s.pressesWhenThere(s.ana, a, "run_stop")
		s.waits(agent.Cancelled)
		s.Slack.ExpectUpdate(a, slacktest.NoButton(""))
	})
}

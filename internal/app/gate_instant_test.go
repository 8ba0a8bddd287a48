package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/api"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// A program and a person decide at the same moment: one verdict counts, whoever gave it,
// and the other one is told so.
func TestProgramAndPersonAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "a", "b", "c", "d", "e")
		o.Approvals = "approvals: {approvers: [manager, finance], ttl: 1h, sweep: 200ms}"
		s := start(t, listening(t, o))
		judge := s.program("judge", api.Decide, s.fin)
		ask := s.asks("wipe all of it")
		for _, what := range []string{"a", "b", "c", "d", "e"} {
			s.card(ask, slacktest.Text(`"`+what+`"`))
		}
		for _, a := range s.waits(agent.WaitingApproval).Approvals {
			s.decideAtOnce(judge, a, map[bool]string{true: "reject", false: "approve"}[a.Step == 2]) // a second rejection would stop the run
		}
		s.answered(ask, "That is all.")
		w := s.waits(agent.Success)
		redeemed := 0
		for _, a := range w.Approvals {
			if a.State == approvals.Redeemed {
				redeemed++
			}
			if len(a.Decisions) != 1 {
				t.Errorf("approval %s is %s after %+v", a.ID, a.State, a.Decisions)
			}
		}
		if counter.Count() != redeemed {
			t.Errorf("%d calls, %d approvals", counter.Count(), redeemed)
		}
	})
}

// decideAtOnce lets a program give a verdict while a person presses Approve.
func (s *stage) decideAtOnce(p *program, a approvals.Approval, verdict string) {
	s.t.Helper()
	card, found := s.Slack.Find(slacktest.Meta("approval", a.ID))
	if !found {
		s.t.Fatalf("no card of %s", a.ID)
	}
	var both sync.WaitGroup
	both.Go(func() { s.Press(s.mgr, card, "approval_approve") })
	status, out := p.does("POST", "/v1/approvals/"+a.ID+"/decisions", map[string]any{"verdict": verdict, "reason": "no", "revision": 1, "digest": a.Current().Digest})
	both.Wait()
	switch status {
	case http.StatusOK:
		s.told(s.mgr, "already")
	case http.StatusConflict:
		if out["code"] != "settled" {
			s.t.Errorf("the program was told %v", out)
		}
	default:
		s.t.Errorf("%d %v", status, out)
	}
}

// The last instant of an approval and the first one after it: whoever decides by a clock
// that is a moment behind and whoever ends it meet, and each approval has one outcome.
// At the instant itself it is over.
func TestExpiryAndApprovalInTheSameInstant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "a", "b", "c", "d", "e")
		s := start(t, o)
		ask := s.asks("wipe all of it")
		s.card(ask)
		waiting := s.waits(agent.WaitingApproval).Approvals
		over := time.Now().Truncate(time.Microsecond)
		if _, err := s.Newest().Store().Writer().ExecContext(t.Context(), fmt.Sprintf("UPDATE approvals SET expires_at = %d", over.UnixMicro())); err != nil {
			t.Fatal(err)
		}
		early, late := s.doorAt(over.Add(-time.Microsecond)), s.doorAt(over)
		var all sync.WaitGroup
		all.Go(func() {
			if err := late.ExpireDue(t.Context()); err != nil {
				t.Error(err)
			}
		})
		counted := make([]string, len(waiting))
		for i, a := range waiting {
			all.Go(func() { counted[i] = s.approvesAt(early, a) })
		}
		all.Wait()
		if err := late.ExpireDue(t.Context()); err != nil { // what it left to whoever was deciding
			t.Fatal(err)
		}
		s.answered(ask, "That is all.")
		t.Logf("told: %q", counted)
		ran := 0
		for i, a := range s.waits(agent.Success).Approvals {
			want := map[bool]approvals.State{true: approvals.Redeemed, false: approvals.Expired}[counted[i] == ""]
			if a.State != want {
				t.Errorf("approval %d is %s, and its approver was told %q", i+1, a.State, counted[i])
			}
			ran += len(a.Decisions)
		}
		if counter.Count() != ran {
			t.Errorf("%d calls, %d decisions", counter.Count(), ran)
		}
		again := s.asks("wipe all of it")
		s.card(again)
		runs, err := s.Newest().Store().Cases(t.Context(), false, 10)
		if err != nil || len(runs) != 5 {
			t.Fatalf("%d wait, %v", len(runs), err)
		}
		a := runs[0].Approval
		if why := s.approvesAt(s.doorAt(a.ExpiresAt), a); why != "settled expired" {
			t.Errorf("at the instant of its end: %q", why)
		}
	})
}

// doorAt is the door of a process whose clock stands.
func (s *stage) doorAt(at time.Time) *decisions.Door {
	c := s.Newest().Door().Config
	c.Now = func() time.Time { return at }
	return decisions.New(c)
}

// approvesAt approves in the manager's name, and gives why it did not count.
func (s *stage) approvesAt(door *decisions.Door, a approvals.Approval) string {
	s.t.Helper()
	out, err := door.Decide(s.t.Context(), decisions.Attempt{
		ID: "instant/" + a.ID, Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Verdict: approvals.Approve,
		Who: policy.Actor{Team: "T0LOCAL", User: "U0MGR"}, Via: "test",
	})
	if err != nil {
		s.t.Error(err)
	}
	return strings.TrimSpace(out.Refused + " " + out.Detail)
}

// An edit that is refused, at its field or at the gate, leaves everything as it was: the
// revision that people saw can be approved, also by whoever tried.
func TestRefusedEditChangesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "doc_42")
		counter.Schema = `{"type":"object","properties":{"what":{"type":"string","maxLength":10}},"required":["what"]}`
		o.YAML = "rules: [{tool: wipe, when: \"args.what.startsWith('prod')\", deny: production is never wiped}]\n"
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		s.mgr.Clicks(card, "approval_edit")
		form := s.Slack.ExpectModal(s.mgr, "Edit before it runs")
		if out := form.Fill("arg:what", strings.Repeat("x", 11)).Submit(); out.Errors["arg:what"] == "" {
			t.Fatalf("what the schema forbids was taken: %+v", out)
		}
		form.Fill("arg:what", "prod-1").MustSubmit()
		s.told(s.mgr, "production is never wiped")
		s.mgr.Clicks(card, "approval_edit")
		s.Slack.ExpectModal(s.mgr, "Edit before it runs").MustSubmit() // nothing changed
		s.told(s.mgr, "")
		before := s.whole().Approvals[0]
		if before.Revision != 1 || len(before.Decisions) != 0 || before.State != approvals.Pending {
			t.Fatalf("a refused edit left %+v", before)
		}
		s.mgr.Clicks(card, "approval_approve")
		s.answered(ask, "That is all.")
		if all := counter.All(); len(all) != 1 || string(all[0].Args) != `{"what":"doc_42"}` {
			t.Errorf("ran %v", all)
		}
		s.mustAudit(s.waits(agent.Success), "click.refused", s.mgr.ID, "bad_edit")
	})
}

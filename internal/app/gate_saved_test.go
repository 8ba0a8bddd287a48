package app_test

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/tools"
)

// Who is told that their form was not saved, and says something else then, said only
// that: what was typed first is not stored behind their back.
func TestNotSavedIsNotSaved(t *testing.T) {
	t.Parallel()
	count := &apptest.Counter{Name: "wipe", Risk: tools.High}
	s := start(t, apptest.Options{
		Extra: []tools.Tool{count}, Model: apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("That is all.")),
	})
	ask := s.asks("wipe x")
	card := s.card(ask)
	s.pressesWhenThere(s.mgr, card, "approval_reject")
	form := s.Slack.ExpectModal(s.mgr, "Why not?")
	s.waits(agent.WaitingApproval)
	free := s.occupies()
	form.Fill("reason", "the first thought")
	errs := form.Submit().Errors
	free()
	if len(errs) != 1 || !strings.Contains(errs["reason"], "not saved") {
		t.Fatalf("errors: %v", errs)
	}
	form.Fill("reason", "the second thought")
	form.MustSubmit()
	s.answered(ask, "That is all.")
	s.mustAudit(s.waits(agent.Success), "approval.reject", "U0MGR", "the second thought")
	if n := s.number("SELECT count(*) FROM clicks WHERE input LIKE '%first thought%'"); n != 0 {
		t.Error("what was not saved was saved")
	}
}

// occupies keeps SQLite's writer busy, as another program may, until free is called.
func (s *stage) occupies() (free func()) {
	s.t.Helper()
	conn, err := s.Newest().Store().Writer().Conn(s.t.Context())
	if err == nil {
		_, err = conn.ExecContext(s.t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		_, err := conn.ExecContext(s.t.Context(), "ROLLBACK")
		if closed := conn.Close(); err != nil || closed != nil {
			s.t.Error(err, closed)
		}
	}
}

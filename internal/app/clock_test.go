package app_test

import (
	"fmt"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// Row B41: a statement does one thing while its card waits and another after that. The
// card says what it would do and that the clock decides; what is approved is not done
// once it became something else, and people see the other thing before they decide again.
func TestStatementThatWaitsForTheClock(t *testing.T) {
	t.Parallel()
	var at time.Time
	script := apptest.Play(apptest.Turn{From: func(apptest.Request) apptest.Turn {
		at = time.Now().Add(8 * time.Second) // the card is there by then
		return apptest.Calls("execute_sql", fmt.Sprintf(`{"thought":"asked","database":"shop",
			"sql":"UPDATE orders SET status = CASE WHEN julianday('now') < %.9f THEN 'kept' ELSE 'lost' END WHERE id = 7"}`, float64(at.UnixMilli())/86400e3+2440587.5))
	}}, apptest.Says("Done."))
	s := start(t, apptest.Options{Model: script})
	ask := s.asks("keep order 7")
	card := s.card(ask, slacktest.Text("status=kept"), slacktest.Text("depends on the clock"), slacktest.Button("approval_approve"))
	before := s.order(7)
	s.Until("the other effect", func() bool { return time.Now().After(at) })
	s.mgr.Clicks(card, "approval_approve")
	again := s.card(ask, slacktest.Text("status=lost"))
	if now := s.order(7); now != before {
		t.Fatalf("order 7 went from %s to %s", before, now)
	}
	s.rejects(again, "not that")
	s.answered(ask, "Done.")
	if w := s.waits(agent.Success); s.order(7) != before || w.Approvals[0].State != approvals.Lapsed {
		t.Errorf("order 7 went from %s to %s, the approval is %s", before, s.order(7), w.Approvals[0].State)
	}
}

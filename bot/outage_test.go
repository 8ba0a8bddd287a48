package bot_test

import (
	"net/http"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/internal/store/storetest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// Slack row 40: Postgres goes away under a card. A click is not taken and the person
// is told so, a mention comes again, the process says that it is not ready; when the
// server is back, the next click counts, once, and the mention becomes one run.
// Slack row P11.
func TestPostgresIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	w, wipe, card := waiting(t, apptest.Options{Database: server.Address, Slack: []func(*localslack.Config){func(c *localslack.Config) {
		c.Timing.Retries = []time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second}
	}}})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	server.Stop()
	if out := mgr.TriesToClick(card, "approval_approve"); out.Acked {
		t.Error("a click was taken without a database")
	}
	w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("saved")) // that it was not, or, where the connection broke in the middle, that this is not known
	if status, why := w.Ready(); status != http.StatusServiceUnavailable {
		t.Errorf("%d: %s", status, why)
	}
	ask := ana.Says("#ops", "@countersign wipe y")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(answer, slacktest.Text("ok"))
	w.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
	w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
	w.Slack.ExpectAcked()
	if wipe.Count() != 1 || runs(t, w) != 2 {
		t.Errorf("it ran %d times, %d runs", wipe.Count(), runs(t, w))
	}
	w.Until("readiness", func() bool { status, _ := w.Ready(); return status == http.StatusOK })
}

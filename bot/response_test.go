package bot_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// Slack row 2: a slash command that Slack delivers several times is answered once; typed
// again, it is answered again. Slack row 68: what a phone makes of its word does not matter.
func TestDuplicatedCommandIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := apptest.New(t, apptest.Options{Model: apptest.Play(apptest.Says("ok"))})
	p, ana := w.Run(), w.Slack.User("ana")
	nothing := []slacktest.Match{slacktest.OnlyFor(ana), slacktest.Text("Nothing waits for you")}
	for i, typed := range []string{"pending", " “Pending” ", "—pending"} {
		w.Slack.Server.BreakDelivery(localslack.DeliveryFault{Type: "slash_commands", Times: 1, Copies: []localslack.Copy{{}, {After: 50 * time.Millisecond}}})
		ana.Commands("#ops", "/countersign", typed)
		w.Slack.Expect(nothing...)
		w.Until("three acknowledgements", func() bool { return acked(w, "slash_commands") == 3*(i+1) })
	}
	w.Stop(p) // it answers what it acknowledged before it ends
	if n := len(w.Slack.All(nothing...)); n != 3 {
		t.Errorf("%d answers to three commands", n)
	}
}

// acked counts acknowledged deliveries of a kind.
func acked(w *apptest.World, kind string) int {
	n := 0
	for _, d := range w.Slack.Server.Deliveries() {
		if d.Kind == kind && d.Result == localslack.DeliveryAcked {
			n++
		}
	}
	return n
}

// An answer whose response_url is refused still reaches its reader, as a private message.
// The address is a secret and never logged. Slack row P14.
func TestRefusedResponseURL(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	w := apptest.Start(t, apptest.Options{Model: apptest.Play(apptest.Says("ok")), Log: &log})
	ana := w.Slack.User("ana")
	w.Slack.Server.BreakAPI(localslack.APIFault{Method: "response_url", Times: 1, Status: http.StatusNotFound})
	ana.Commands("#ops", "/countersign", "help")
	w.Slack.Expect(slacktest.OnlyFor(ana), slacktest.Text("Mention me"))
	w.Slack.Server.BreakAPI(localslack.APIFault{Method: "response_url", Times: 1, Cut: true})
	w.Slack.Server.BreakAPI(localslack.APIFault{Method: "chat.postEphemeral", Times: 1, Error: "not_in_channel"})
	ana.Commands("#ops", "/countersign", "pending")
	w.Until("the failure in the log", func() bool { return strings.Contains(log.String(), "not_in_channel") })
	if strings.Contains(log.String(), "/response") {
		t.Errorf("the log holds a response_url:\n%s", log.String())
	}
}

// A response_url can be used five times, and for half an hour. One click that comes again
// and again while the database is away is answered as often, and a late one too.
// Slack row P14.
func TestUsedUpAndExpiredResponseURL(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		copies []localslack.Copy
		takes  time.Duration // until the click turns out not to be stored
	}{
		"used up": {copies: make([]localslack.Copy, 6)},
		"expired": {takes: 31 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &apptest.Shifted{} // Slack's
			wipe, s := &apptest.Counter{Name: "wipe", Risk: tools.High}, &stumbling{fails: func() { clock.Shift(c.takes) }}
			w := apptest.New(t, apptest.Options{
				Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok")),
				Slack: []func(*localslack.Config){func(c *localslack.Config) { c.Now = clock.Now; c.Timing.Ack = 3 * time.Second }},
			})
			w.Slack.Allow(localslack.ViolationResponse) // that is what is tried
			w.RunBetween(func(p app.Ports) app.Ports { s.Ports = p; return s })
			w.Slack.User("ana").Says("#ops", "@countersign wipe x")
			card, mgr := w.Slack.Expect(slacktest.Button("approval_approve")), w.Slack.User("mgr")
			s.saves.Store(int32(1 + len(c.copies)))
			w.Slack.Server.BreakDelivery(localslack.DeliveryFault{Type: "block_actions", Times: 1, Copies: c.copies})
			if out := mgr.TriesToClick(card, "approval_approve"); out.Acked {
				t.Error("a click that was not stored was acknowledged")
			}
			for range 1 + len(c.copies) {
				w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("not saved"))
			}
			if refused(w) == 0 {
				t.Error("the response_url was never refused")
			}
			mgr.Clicks(card, "approval_approve")
			w.Slack.Expect(answer, slacktest.Text("ok"))
			if wipe.Count() != 1 {
				t.Errorf("it ran %d times", wipe.Count())
			}
		})
	}
}

// refused counts answers of Slack that a response_url cannot be used any more.
func refused(w *apptest.World) int {
	n := 0
	for _, call := range w.Slack.Server.Calls("response_url") {
		if call.Status == http.StatusNotFound {
			n++
		}
	}
	return n
}

package bot_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/bot"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// A request is edited while its card waits: the card says so, and the model is told
// when it is asked next.
func TestEditedRequestIsToldToCardAndModel(t *testing.T) {
	t.Parallel()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	model := apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok"))
	w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: model})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	ask := ana.Says("#ops", "@countersign wipe x")
	card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"), slacktest.NoText("edited or taken back"))
	ana.Edits(ask, "@countersign wipe x but keep y")
	w.Slack.ExpectUpdate(card, slacktest.Text("edited or taken back after this card was made"))
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("ok"))
	if last := model.Last(); !strings.Contains(last.Raw, "wipe x but keep y") || !strings.Contains(last.Raw, "edited the request") {
		t.Error("the model was not told of the edit")
	}
	if n := len(w.Slack.All(answer)); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// A preview is an edit of Slack's own: it means nothing.
// Slack row 92.
func TestPreviewIsNoEdit(t *testing.T) {
	t.Parallel()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	model := apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok"))
	w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: model})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	ask := ana.Says("#ops", "@countersign wipe http://example.com/x")
	card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
	w.Slack.Unfurl(ask, "A page")
	w.Slack.ExpectAcked()
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("ok"))
	if last := model.Last(); strings.Contains(last.Raw, "edited the request") {
		t.Error("a preview was told as an edit")
	}
}

// A request that is deleted while its asker is looked up never reaches the model,
// not even when Slack tells of the deletion first.
// Slack row 94.
func TestDeletionDuringSetUp(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]localslack.DeliveryFault{"in order": {}, "deletion first": {Type: "app_mention", Delay: 2 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := apptest.Play(apptest.Says("ok"))
			w := apptest.Start(t, apptest.Options{Model: model})
			ana := w.Slack.User("ana")
			w.Slack.Server.BreakAPI(localslack.APIFault{Method: "users.info", Delay: 3 * time.Second})
			if first.Delay > 0 {
				w.Slack.Server.BreakDelivery(first)
				w.Slack.Server.BreakDelivery(localslack.DeliveryFault{Type: "message.channels", Times: 1, Delay: 2 * time.Second})
			}
			ask := ana.Says("#ops", "@countersign look")
			ana.Deletes(ask)
			w.Slack.ExpectAcked()
			runs := func() bool {
				all, err := w.Newest().Store().Runs(t.Context(), true, 10)
				return err == nil && len(all) == 0
			}
			w.Until("the end of all runs", runs)
			if n := len(model.Requests()); n != 0 {
				t.Errorf("the model was asked %d times\n%s", n, w.Slack.Transcript())
			}
		})
	}
}

// A channel gets another id when sharing it begins: what waits there goes on under it.
func TestChannelChangesItsID(t *testing.T) {
	t.Parallel()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok"))})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	ana.Says("#ops", "@countersign wipe x")
	card := w.Slack.Expect(slacktest.Button("approval_approve"))
	if err := w.Slack.Server.RenameChannelID("C0OPS", "C0NEW"); err != nil {
		t.Fatal(err)
	}
	w.Slack.ExpectAcked()
	card.Channel = "C0NEW"
	mgr.Clicks(card, "approval_approve")
	w.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.Text("Done"))
	w.Slack.Expect(slacktest.MetaHas("subject", "/answer"), slacktest.Text("ok"))
	if wipe.Count() != 1 {
		t.Errorf("it ran %d times", wipe.Count())
	}
}

// The workspace removes the app, in whichever order it says so: nothing is sent any
// more, and the process is not ready.
func TestRemovedApp(t *testing.T) {
	t.Parallel()
	for _, events := range [][]string{{"tokens_revoked", "app_uninstalled"}, {"app_uninstalled", "tokens_revoked"}} {
		t.Run(events[0], func(t *testing.T) {
			t.Parallel()
			w := apptest.Start(t, apptest.Options{Model: apptest.Play(apptest.Says("ok"))})
			if status, why := w.Ready(); status != http.StatusOK {
				t.Fatalf("not ready: %s", why)
			}
			for _, kind := range events {
				if err := w.Slack.Server.EmitEvent(localslack.Event{"type": kind, "tokens": map[string]any{"bot": []string{"U0BOT"}, "oauth": []string{}}}); err != nil {
					t.Fatal(err)
				}
			}
			w.Slack.ExpectAcked()
			if status, why := w.Ready(); status != http.StatusServiceUnavailable || !strings.Contains(why, "removed the app") {
				t.Errorf("%d: %s", status, why)
			}
			w.Slack.User("ana").Says("#ops", "@countersign look")
			w.Slack.ExpectAcked()
			if n := len(calls(w, "chat.postMessage")); n != 0 {
				t.Errorf("%d posts", n)
			}
		})
	}
}

// A person's token was revoked: we have none of theirs.
func TestRevokedTokenOfAPerson(t *testing.T) {
	t.Parallel()
	w := apptest.Start(t, apptest.Options{Model: apptest.Play(apptest.Says("ok"))})
	if err := w.Slack.Server.EmitEvent(localslack.Event{"type": "tokens_revoked", "tokens": map[string]any{"oauth": []string{"U0ANA"}, "bot": []string{}}}); err != nil {
		t.Fatal(err)
	}
	ask := w.Slack.User("ana").Says("#ops", "@countersign look")
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("ok"))
}

// When Slack dropped events, the threads that wait are read again.
func TestDroppedEventsAreLookedUp(t *testing.T) {
	t.Parallel()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok"))})
	ana := w.Slack.User("ana")
	ask := ana.Says("#ops", "@countersign wipe x")
	card := w.Slack.Expect(slacktest.Button("approval_approve"))
	w.Slack.Server.BreakDelivery(localslack.DeliveryFault{Type: "message", Drop: true})
	ana.Replies(ask, "stop")
	w.Slack.Server.EmitOuter(map[string]any{"type": "app_rate_limited", "team_id": "T0LOCAL", "minute_rate_limited": 1518467820, "api_app_id": "A0LOCAL"})
	w.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
}

// Posts that fail for minutes make the process not ready; one that works mends it.
// Slack row 41.
func TestFailingPostsMakeNotReady(t *testing.T) {
	t.Parallel()
	clock := &apptest.Shifted{}
	w := apptest.Start(t, apptest.Options{Model: apptest.Play(apptest.Says("ok")), Now: clock.Now})
	w.Slack.Server.BreakAPI(localslack.APIFault{Method: "chat.postMessage", Error: "internal_error"})
	ask := w.Slack.User("ana").Says("#ops", "@countersign look")
	w.Until("a failed post", func() bool { return len(calls(w, "chat.postMessage")) > 0 && w.Newest().Failing() })
	if status, why := w.Ready(); status != http.StatusOK {
		t.Errorf("not ready after one failure: %s", why)
	}
	clock.Shift(5 * time.Minute)
	w.Until("not ready", func() bool {
		status, why := w.Ready()
		return status == http.StatusServiceUnavailable && strings.Contains(why, "post")
	})
	w.Slack.Server.Mend()
	w.Slack.Expect(slacktest.InThread(ask), answer)
	w.Until("ready again", func() bool { status, _ := w.Ready(); return status == http.StatusOK })
}

// Our clock is compared with the Date of Slack's answers.
// Slack row 104.
func TestSkewIsMeasured(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	env := ws.Env()
	edge := bot.NewEdge(env["SLACK_BOT_TOKEN"], env["SLACK_APP_TOKEN"], env["SLACK_API_URL"], &http.Client{})
	if _, ok := edge.Skew(); ok {
		t.Error("a skew before the first answer")
	}
	for _, by := range []time.Duration{0, time.Hour, -time.Hour} {
		ws.Server.SkewDate(by)
		if _, err := edge.Self(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, ok := edge.Skew()
		if off := got + by; !ok || off.Abs() > 2*time.Second {
			t.Errorf("Slack's clock moved by %v: skew %v, %v", by, got, ok)
		}
	}
}

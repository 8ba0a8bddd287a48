package bot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/bot"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

var progress = slacktest.MetaHas("subject", "/progress")

// calls are the answered calls of a method.
func calls(w *apptest.World, method string) []localslack.Call { return w.Slack.Server.Calls(method) }

// Whatever method is limited, nothing of it is called before the Retry-After is over;
// the world ends a test in which one was. Where that answer was lost, the next one is heard.
func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	for _, f := range []localslack.APIFault{
		{Method: "chat.postMessage"}, {Method: "chat.postMessage", Cut: true}, {Method: "chat.update"}, {Method: "chat.update", Cut: true},
		{Method: "users.info"}, {Method: "views.open"}, {Method: "chat.postEphemeral"},
	} {
		t.Run(fmt.Sprintf("%s lost %v", f.Method, f.Cut), func(t *testing.T) {
			t.Parallel()
			wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
			w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok"))})
			ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
			f.Times, f.RetryAfter = 1, 2*time.Second
			w.Slack.Server.BreakAPI(f)
			ask := ana.Says("#ops", "@countersign wipe x")
			ana.Says("#ops", "@countersign help")
			card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
			mgr.Clicks(card, "approval_reject")
			w.Slack.Until("a decided call", func(*localslack.Server) bool {
				_, open := w.Slack.Find(slacktest.Button("approval_approve"))
				if open {
					w.Press(mgr, card, "approval_approve")
				}
				return !open
			})
			w.Slack.Expect(slacktest.InThread(ask), answer)
		})
	}
}

// Slack keeps the message and its answer is lost: there is never a second one.
// Slack row P8.
// Row B58.
func TestLostAnswerPostsOnce(t *testing.T) {
	t.Parallel()
	for _, f := range []localslack.APIFault{{Cut: true}, {Status: 500}} {
		for skip := range 3 {
			t.Run(fmt.Sprintf("%d/%d", f.Status, skip), func(t *testing.T) {
				t.Parallel()
				wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
				w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok"))})
				ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
				f.Method, f.Times, f.Skip, f.AfterStore = "chat.postMessage", 1, skip, true
				w.Slack.Server.BreakAPI(f)
				ask := ana.Says("#ops", "@countersign wipe x")
				card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
				mgr.Clicks(card, "approval_approve")
				w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("ok"))
				w.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.Text("Done"))
				for _, part := range []string{"/progress", "/card/", "/answer"} {
					if all := w.Slack.All(slacktest.InThread(ask), slacktest.MetaHas("subject", part)); len(all) != 1 {
						t.Errorf("%d messages for %s\n%s", len(all), part, w.Slack.Transcript())
					}
				}
			})
		}
	}
}

// A hundred changes of state become a few edits, and the last one is right.
// Slack row 82.
func TestProgressIsShownNowAndThen(t *testing.T) {
	t.Parallel()
	look := &apptest.Counter{Name: "look", Risk: tools.Low}
	var turns []apptest.Turn
	for i := range 40 {
		turns = append(turns, apptest.Calls("look", fmt.Sprintf(`{"what":"%d"}`, i)))
	}
	w := apptest.Start(t, apptest.Options{
		Extra: []tools.Tool{look}, Model: apptest.Play(append(turns, apptest.Says("all seen"))...),
		YAML: "\nlimits: {max_steps: 100, max_tokens: 1000000}\n", Gaps: bot.Gaps{Post: 50 * time.Millisecond, Update: 50 * time.Millisecond, Progress: time.Second},
	})
	began := time.Now()
	ask := w.Slack.User("ana").Says("#ops", "@countersign look around")
	line := w.Slack.Expect(slacktest.InThread(ask), progress)
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("all seen"))
	w.Slack.ExpectUpdate(line, slacktest.Text("Done in"), slacktest.Text("40 steps"))
	if n, most := len(calls(w, "chat.update")), int(time.Since(began)/time.Second)+2; n > most {
		t.Errorf("%d edits, at most %d wanted", n, most)
	}
}

// When edits were held back, a decided card is shown before anybody's progress.
func TestCardsGoBeforeProgress(t *testing.T) {
	t.Parallel()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	var w *apptest.World
	slow := apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		if strings.Contains(r.Raw, "wipe x") {
			return apptest.Calls("wipe", `{"what":"x"}`)
		}
		w.Until("everybody's progress", func() bool { return len(w.Slack.All(progress)) >= 5 }) // it is edited afterwards
		return apptest.Says("ok")
	}}
	w = apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(slow, apptest.Says("ok"))})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	ask := ana.Says("#ops", "@countersign wipe x")
	card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
	line := w.Slack.Expect(slacktest.InThread(ask), progress)
	w.Slack.ExpectUpdate(line, slacktest.Text("Waiting for approval"))
	w.Slack.Server.BreakAPI(localslack.APIFault{Method: "chat.update", Times: 1, RetryAfter: 10 * time.Second})
	for range 4 {
		mgr.Says("#ops", "@countersign something else")
	}
	w.Slack.Until("a held edit", func(s *localslack.Server) bool {
		return slices.ContainsFunc(s.Calls("chat.update"), func(c localslack.Call) bool { return c.Status == 429 })
	})
	mgr.Clicks(card, "approval_approve")
	w.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
	w.Until("edits after the hold", func() bool { return len(after429(w)) >= 3 })
	if first := after429(w)[:2]; !slices.Contains(first, card.TS) {
		t.Errorf("the first edits after the hold were %v, the card is %s", first, card.TS)
	}
}

// after429 are the messages that were edited after the last 429.
func after429(w *apptest.World) []string {
	var out []string
	for _, c := range calls(w, "chat.update") {
		if c.Status == 429 {
			out = nil
			continue
		}
		out = append(out, c.Args["ts"])
	}
	return out
}

// A channel is archived while a run works: its card goes to the asker, who is told why.
func TestArchivedChannelSendsTheCardToTheAsker(t *testing.T) {
	t.Parallel()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	var w *apptest.World
	archive := apptest.Turn{From: func(apptest.Request) apptest.Turn {
		_ = w.Slack.Server.Archive("C0OPS", "U0FIN")
		return apptest.Calls("wipe", `{"what":"x"}`)
	}}
	w = apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(archive, apptest.Says("ok"))})
	ana := w.Slack.User("ana")
	ana.Says("#ops", "@countersign wipe x")
	dm, err := w.Slack.Server.OpenDirect(t.Context(), ana.ID)
	if err != nil {
		t.Fatal(err)
	}
	card := w.Slack.Expect(w.Slack.In(dm.ID), slacktest.Button("approval_approve"), slacktest.Text("can't post in"))
	ana.Clicks(card, "approval_respond")
	form := w.Slack.ExpectModal(ana, "Answer instead")
	form.Close()
}

// With a channel for approvals the card stands there, the asker is told so, and the
// answer comes to them in the end.
func TestArchivedChannelWithAnApprovalsChannel(t *testing.T) {
	t.Parallel()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	w := apptest.Start(t, apptest.Options{
		Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("it is gone")), YAML: "\nslack: {approvals_channel: C0VAULT}\n",
	})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	ana.Says("#ops", "@countersign wipe x")
	w.Slack.Expect(w.Slack.In("#ops"), slacktest.Button("approval_approve"))
	card := w.Slack.Expect(w.Slack.In("#vault"), slacktest.Button("approval_approve"))
	if err := w.Slack.Server.Archive("C0OPS", "U0FIN"); err != nil {
		t.Fatal(err)
	}
	dm, err := w.Slack.Server.OpenDirect(t.Context(), ana.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.Slack.Expect(w.Slack.In(dm.ID), slacktest.Text("C0VAULT"))
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(w.Slack.In(dm.ID), answer, slacktest.Text("it is gone"))
	if wipe.Count() != 1 {
		t.Errorf("it ran %d times", wipe.Count())
	}
}

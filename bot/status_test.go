package bot_test

import (
	"sync"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// Slack's own line below the thread follows the run, in the way that the app may use;
// what is refused once is left alone, and the run does not care.
// Slack row P13.
func TestNativeStatus(t *testing.T) {
	t.Parallel()
	agent := func(c *localslack.Config) { c.App.IsAgent = true }
	for name, tc := range map[string]struct {
		change  func(*localslack.Config)
		broken  string // no status can be said at all
		method  string
		states  []string
		refused int // calls that Slack refused
	}{
		"an agent":          {change: agent, method: "agents.sessions.setStatus", states: []string{"processing", "suspended", "processing", "active"}},
		"another app":       {method: "assistant.threads.setStatus", states: []string{"is working…", "is waiting for a person", "is working…", ""}, refused: 1},
		"nothing of either": {broken: "unknown_method", method: "assistant.threads.setStatus", refused: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
			var w *apptest.World
			shown := func(n int, then apptest.Turn) apptest.Turn { // the model answers when so many were shown
				return apptest.Turn{From: func(apptest.Request) apptest.Turn {
					w.Until("a status", func() bool { return tc.broken != "" || len(said(w, tc.method)) >= n })
					return then
				}}
			}
			o := apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(shown(1, apptest.Calls("wipe", `{"what":"x"}`)), shown(3, apptest.Says("ok")))}
			if tc.change != nil {
				o.Slack = append(o.Slack, tc.change)
			}
			w = apptest.Start(t, o)
			if tc.broken != "" {
				for _, m := range []string{"agents.sessions.setStatus", "assistant.threads.setStatus"} {
					w.Slack.Server.BreakAPI(localslack.APIFault{Method: m, Error: tc.broken})
				}
			}
			ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
			ask := ana.Says("#ops", "@countersign wipe x")
			card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
			w.Until("a status for the wait", func() bool { return tc.broken != "" || len(said(w, tc.method)) >= 2 })
			mgr.Clicks(card, "approval_approve")
			w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("ok"))
			w.Until("the last status", func() bool { return len(said(w, tc.method)) >= len(tc.states) })
			got := said(w, tc.method)
			for i, want := range tc.states {
				if got[i] != want {
					t.Errorf("status %d is %q, want %q", i, got[i], want)
				}
			}
			refused := 0
			for _, m := range []string{"agents.sessions.setStatus", "assistant.threads.setStatus"} {
				for _, c := range calls(w, m) {
					if c.Error != "" {
						refused++
					}
				}
			}
			if refused > tc.refused {
				t.Errorf("%d refused calls, want %d", refused, tc.refused)
			}
		})
	}
}

// said are the statuses that were taken by Slack.
func said(w *apptest.World, method string) []string {
	var out []string
	for _, c := range calls(w, method) {
		if c.Error == "" {
			out = append(out, c.Args["status"])
		}
	}
	return out
}

// The asker sees within a second that they were heard, even when the model is slow and
// the channel is busy; long work says how long, the end what it cost.
func TestProgressTellsTimeAndCost(t *testing.T) {
	t.Parallel()
	clock := &apptest.Shifted{}
	release := make(chan struct{})
	slow := apptest.Turn{From: func(apptest.Request) apptest.Turn { <-release; return apptest.Says("ok") }}
	w := apptest.Start(t, apptest.Options{Model: apptest.Play(slow), Now: clock.Now, YAML: "\nmodel: {price: {input_per_million: 1000, output_per_million: 2000, currency: EUR}}\n"})
	goOn := sync.OnceFunc(func() { close(release) })
	t.Cleanup(goOn)
	ask := w.Slack.User("ana").Says("#ops", "@countersign think")
	line := w.Slack.Expect(slacktest.InThread(ask), progress)
	w.Slack.ExpectUpdate(line, slacktest.Text("Working on it"))
	clock.Shift(40 * time.Second)
	w.Slack.ExpectUpdate(line, slacktest.Text("Working on it…* · 4"))
	goOn()
	w.Slack.Expect(slacktest.InThread(ask), answer)
	w.Slack.ExpectUpdate(line, slacktest.Text("Done in"), slacktest.Text("110 tokens"), slacktest.Text("0.120 EUR"))
}

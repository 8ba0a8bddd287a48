package main

import (
	"slices"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// An event that the app was not subscribed to never arrives, which Slack tells nobody:
// the doctor knows what the processes saw, says where to look and how to try, and after
// that has nothing to say.
func TestDoctorNamesEventsThatNeverArrive(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			subscribed := manifestOf(t, sit(t, apptest.New(t, apptest.Options{}))).Settings.Events.Bot
			d := sit(t, apptest.New(t, apptest.Options{Database: database, Slack: []func(*localslack.Config){func(c *localslack.Config) {
				c.App.Events = slices.DeleteFunc(slices.Clone(subscribed), func(e string) bool { return e == "message.channels" })
			}}}))
			d.World.Run()
			if out := d.must("doctor"); !strings.Contains(out, "No event has arrived yet") || strings.Contains(out, "has never arrived") {
				t.Error(out)
			}
			ana, mgr := d.Slack.User("ana"), d.Slack.User("mgr")
			ask := ana.Says("#ops", "@countersign 删除文档 doc_42")
			d.Press(mgr, d.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve")), "approval_reject")
			mgr.OpensHome()
			const direct = "D0ANA"
			if err := d.Slack.Server.PutChannel(localslack.Channel{ID: direct, Kind: localslack.Direct, Members: []string{"U0ANA", "U0BOT"}}); err != nil {
				t.Fatal(err)
			}
			d.sees("message.im", func(text string) { ana.Posts(localslack.Post{Channel: direct, Text: text}) })
			out := d.must("doctor")
			for _, want := range []string{
				"message.channels has never arrived from Slack.", "Event Subscriptions, Subscribe to bot events", "write anything in a public channel that the bot is in",
				"app_mention within the last two hours", "interactivity within", "Not seen yet, which need not mean anything", "tokens_revoked",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("wanted %q in\n%s", want, out)
				}
			}
			if n := strings.Count(out, "has never arrived"); n != 1 {
				t.Errorf("%d kinds never arrived\n%s", n, out)
			}

			d.Slack.Server.Subscribe(subscribed...)
			d.sees("message.channels", func(text string) { ana.Says("#ops", text) })
			if out := d.must("doctor"); strings.Contains(out, "has never arrived") {
				t.Error(out)
			}
		})
	}
}

// sees has somebody write until the database knows of the event.
func (d *desk) sees(kind string, write func(text string)) {
	d.t.Helper()
	write("hello")
	d.Until(kind, func() bool {
		seen, err := d.Newest().Store().Sightings(d.t.Context(), "T0LOCAL")
		return err == nil && !seen[kind].IsZero()
	})
}

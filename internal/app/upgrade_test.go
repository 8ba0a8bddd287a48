package app_test

import (
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"countersign/internal/apptest"
	"countersign/internal/queue"
	"countersign/internal/store"
	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"
	"countersign/migrations"
	"countersign/tools"
)

// earlierSchema is that of a release long ago.
const earlierSchema = 7

// asEarlier makes the world what an earlier release left: its schema, and the card as
// that release drew it.
func (s *stage) asEarlier(card slacktest.Message) {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), store.Config{URL: s.URL})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	files, err := migrations.SQLite()
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db.Writer(), files, goose.WithGoMigrations(queue.Migrations(false)...), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := p.DownTo(s.t.Context(), earlierSchema); err != nil {
		s.t.Fatal(err)
	}
	if _, err := db.Writer().ExecContext(s.t.Context(), "UPDATE deliveries SET hash = 'of an earlier drawing' WHERE hash <> ''"); err != nil {
		s.t.Fatal(err)
	}
	bot := tinyapp.App{API: s.Slack.Server.APIURL(), BotToken: slacktest.BotToken}
	_, err = bot.Call(s.t.Context(), "chat.update", map[string]any{
		"channel": card.Channel, "ts": card.TS, "text": "drawn by an earlier release", "blocks": []map[string]any{
			{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": "drawn by an earlier release"}},
			{"type": "actions", "elements": []map[string]any{{
				"type": "button", "action_id": "approval_approve", "value": card.Value("approval_approve"), "text": map[string]any{"type": "plain_text", "text": "Approve"},
			}}},
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Slack row 31: a card that an earlier release posted is drawn anew by the one that is
// installed over it; its button, pressed as it was posted, counts, and its time ends.
func TestCardOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *stage, clock *apptest.Shifted, card slacktest.Message, button string){
		"approved": func(s *stage, _ *apptest.Shifted, card slacktest.Message, button string) {
			s.pressesWith(s.mgr, card, "approval_approve", button)
			s.Slack.Expect(answer, slacktest.Text("It is gone."))
			s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
		},
		"expired": func(s *stage, clock *apptest.Shifted, card slacktest.Message, _ string) {
			clock.Shift(time.Hour)
			s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.Button("approval_again"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wipe, clock := &apptest.Counter{Name: "wipe", Risk: tools.High}, &apptest.Shifted{}
			s := stageOf(t, apptest.New(t, apptest.Options{
				Now: clock.Now, Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("It is gone.")),
			}))
			earlier := s.Run()
			card := s.card(s.asks("wipe x"))
			button := card.Value("approval_approve")
			s.Stop(earlier)
			s.asEarlier(card)
			s.Run()
			s.Slack.ExpectUpdate(card, slacktest.NoText("earlier release"), slacktest.Text("wipe"), slacktest.Button("approval_reject"))
			end(s, clock, card, button)
			if want := map[string]int{"approved": 1}[name]; wipe.Count() != want {
				t.Errorf("it ran %d times", wipe.Count())
			}
		})
	}
}

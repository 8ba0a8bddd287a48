package app_test

import (
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// Slack row 77: what an alert or a schedule starts has its card in the channel that the
// configuration names, and is decided there.
func TestCardsOfRunsThatNobodyTyped(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "doc_42")
		ana := apptest.New(t, apptest.Options{}).Slack.User("ana").ID
		o.YAML = "slack: {approvals_channel: C0VAULT}\n" +
			strings.ReplaceAll("hooks: {alertmanager: {token: 0123456789-0123456789, channel: C0OPS, text: Look into this alert, owner: @ANA@, roles: [finance]}}\n"+
				"schedules: [{name: nightly, cron: '0 3 * * *', channel: C0OPS, text: clean up, owner: @ANA@, roles: [finance]}]\n", "@ANA@", ana)
		s := start(t, listening(t, o))
		hook := &program{s, "0123456789-0123456789"}
		hook.wants(202, "POST", "/v1/hooks/alertmanager", map[string]any{"status": "firing", "groupKey": "g", "alerts": []map[string]any{{
			"status": "firing", "labels": map[string]string{"alertname": "DiskFull"}, "startsAt": "2026-03-01T09:00:00Z", "fingerprint": "f1",
		}}})
		s.decidedInTheVault("hook/alertmanager")
		if err := s.Newest().Fire(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.decidedInTheVault("schedule/nightly")
		if counter.Count() != 2 {
			t.Errorf("%d calls", counter.Count())
		}
	})
}

// decidedInTheVault approves the card in the channel for approvals, and wants the other
// one to follow and the answer in the run's own thread.
func (s *stage) decidedInTheVault(origin string) {
	s.t.Helper()
	root := s.Slack.Expect(slacktest.MetaHas("subject", "/root"), slacktest.Text(origin))
	card := s.Slack.Expect(s.Slack.In("#vault"), slacktest.Button("approval_approve"))
	beside := s.Slack.Expect(slacktest.InThread(root), slacktest.Button("approval_approve"))
	s.mgr.Clicks(card, "approval_approve")
	s.answered(root, "That is all.")
	for _, m := range []slacktest.Message{card, beside} {
		s.Slack.ExpectUpdate(m, slacktest.NoButton("approval_approve"), slacktest.Text("<@U0MGR>"))
	}
}

// Slack row 76: with a channel for approvals the card stands in the thread and there; a
// decision on either is shown on both.
// Slack row 74: a private word about a card that opens no thread stands under that card.
func TestCardsInTwoPlaces(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"#ops", "#vault"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o apptest.Options) {
				counter, _, o := wiping(o, "doc_42")
				o.YAML = "slack: {approvals_channel: C0VAULT}\n"
				s := start(t, o)
				ask := s.asks("wipe doc_42")
				inThread, inVault := s.card(ask), s.Slack.Expect(s.Slack.In("#vault"), slacktest.Button("approval_approve"))
				pressed := map[string]slacktest.Message{"#ops": inThread, "#vault": inVault}[place]
				s.ana.Clicks(pressed, "approval_approve")
				note := s.Slack.Expect(slacktest.OnlyFor(s.ana))
				if got, want := note.Now().ThreadTS, map[string]string{"#ops": ask.TS, "#vault": inVault.TS}[place]; got != want {
					t.Errorf("the private word stands in %q, not in %q", got, want)
				}
				s.mgr.Clicks(pressed, "approval_approve")
				s.answered(ask, "That is all.")
				for _, m := range []slacktest.Message{inThread, inVault} {
					s.Slack.ExpectUpdate(m, slacktest.NoButton("approval_approve"), slacktest.Text("Done"))
				}
				if counter.Count() != 1 {
					t.Errorf("%d calls", counter.Count())
				}
			})
		})
	}
}

// Slack row 29: a card survives the process that posted it.
// Slack row 38: until a worker took the decision up, the card does not say that it ran.
// Slack row k: and it is edited by whichever process is there when it was decided.
func TestCardOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		_, _, o = wiping(o, "doc_42")
		counter, inside, letGo := held()
		counter.Name, counter.Risk, o.Extra = "wipe", tools.High, []tools.Tool{counter}
		w := apptest.New(t, o)
		s := stageOf(t, w)
		first := w.Run()
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		w.Stop(first)
		w.Run()
		s.mgr.Clicks(card, "approval_approve")
		<-inside
		s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.NoText("Done"))
		close(letGo)
		s.answered(ask, "That is all.")
		s.Slack.ExpectUpdate(card, slacktest.Text("Done"))
		if counter.Count() != 1 {
			t.Errorf("%d calls", counter.Count())
		}
	})
}

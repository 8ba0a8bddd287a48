package app_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/bot"
	"countersign/internal/apptest"
	"countersign/internal/record"
)

// shownData is what the record's entries about cards hold.
type shownData struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	Hash    string `json:"hash"`
	Text    string `json:"text"`
	Cards   []struct {
		Channel string `json:"channel"`
		TS      string `json:"ts"`
		Hash    string `json:"hash"`
	} `json:"cards"`
}

// entriesOf are the entries of a kind, with their data.
func (s *stage) entriesOf(w *record.Whole, kind string) (out []shownData, users []string) {
	s.t.Helper()
	for _, e := range w.Audit {
		if e.Kind != kind {
			continue
		}
		var d shownData
		if err := json.Unmarshal([]byte(e.Data), &d); err != nil {
			s.t.Fatal(err)
		}
		out, users = append(out, d), append(users, e.User)
		if e.Digest != w.Approvals[0].Current().Digest || e.Approval != w.Approvals[0].ID || e.Revision != 1 {
			s.t.Errorf("%s names %s revision %d", kind, e.Approval, e.Revision)
		}
	}
	return out, users
}

// The record says what stood on the card when it was decided, to whom everything was
// shown, and which card each click, also a refused one, was made on.
func TestTheRecordHoldsTheCardAsShown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		_, _, o = wiping(o, "doc_42 with xoxb-123456789012-secretsecret")
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		s.Until("the receipt of the card", func() bool {
			return slices.ContainsFunc(s.whole().Deliveries, func(d bot.Delivery) bool { return strings.Contains(d.Subject, "/card/") && d.PostedTS != "" })
		})
		s.pressesInstead(s.oli, card, "approval_show", "approval_approve")
		s.told(s.oli, "")
		s.mgr.Clicks(card, "approval_show")
		s.Slack.ExpectModal(s.mgr, "Everything", "doc_42").MustSubmit()
		s.answered(ask, "That is all.")
		w := s.waits(agent.Success)
		shown, _ := s.entriesOf(w, "card.shown")
		if len(shown) == 0 || !strings.Contains(shown[0].Text, "doc_42") || !strings.Contains(shown[0].Text, "wipe") || shown[0].Channel != card.Channel || shown[0].TS != card.TS {
			t.Fatalf("card.shown: %+v", shown)
		}
		hashes := map[string]bool{}
		for _, x := range shown {
			hashes[x.Hash] = true
		}
		opened, by := s.entriesOf(w, "card.opened")
		if len(opened) != 1 || by[0] != s.mgr.ID || !strings.Contains(opened[0].Text, "doc_42") || opened[0].Hash == "" {
			t.Errorf("card.opened: %+v by %v", opened, by)
		}
		for kind, who := range map[string]string{"approval.approve": s.mgr.ID, "click.refused": s.oli.ID} {
			clicks, by := s.entriesOf(w, kind)
			if len(clicks) != 1 || by[0] != who || len(clicks[0].Cards) != 1 || !hashes[clicks[0].Cards[0].Hash] || clicks[0].Cards[0].TS != card.TS {
				t.Errorf("%s by %v: %+v; shown %v", kind, by, clicks, hashes)
			}
		}
		if strings.Contains(inWords(w), "secretsecret") {
			t.Error("the record holds a secret")
		}
		s.mustAudit(w, "approval.approve", s.mgr.ID)
	})
}

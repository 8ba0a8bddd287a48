package app_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/bot"
	"countersign/internal/apptest"
	"countersign/internal/audit"
)

// recorded is what the record says at one point of a countersigned run.
type recorded struct {
	kind string
	via  string
	who  string   // empty: countersign itself
	of   string   // what it names besides the run: step, approval, digest
	data []string // fields that must hold something
}

// One countersigned run leaves these entries, in this order, and no others: who, where,
// which message, under which policy, bound to which digest.
func TestTheRecordOfACountersignedRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		_, _, o = wiping(o, "doc_42 with xoxb-123456789012-secretsecret")
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		s.Until("the receipt of the card", func() bool { // it comes after the entry
			return slices.ContainsFunc(s.whole().Deliveries, func(d bot.Delivery) bool { return strings.Contains(d.Subject, "/card/") && d.PostedTS != "" })
		})
		s.pressesInstead(s.oli, card, "approval_show", "approval_approve")
		s.told(s.oli, "")
		s.mgr.Clicks(card, "approval_show")
		s.Slack.ExpectModal(s.mgr, "Everything").MustSubmit()
		s.answered(ask, "That is all.")
		w := s.waits(agent.Success)
		const call = "step approval digest"
		want := []recorded{
			{"run.started", "slack", s.ana.ID, "", []string{"channel", "message", "request"}},
			{"model.replied", "worker", "", "", []string{"turn", "usage"}},
			{"approval.opened", "worker", "", call, []string{"tool", "arguments", "needs", "preview", "requester", "policy"}},
			{"step.proposed", "worker", "", "step approval", []string{"tool", "arguments", "risk", "state", "thought"}},
			{"card.shown", "slack", "", call, []string{"channel", "ts", "hash", "text"}},
			{"click.refused", "slack", s.oli.ID, call, []string{"verdict", "why", "cards"}},
			{"card.opened", "slack", s.mgr.ID, call, []string{"hash", "text"}},
			{"approval.approve", "slack", s.mgr.ID, call, []string{"verdict", "policy", "cards"}},
			{"approval.redeemed", "worker", "", call, []string{"policy"}},
			{"step.executing", "worker", "", "step approval", []string{"tool", "arguments", "attempt"}},
			{"step.ended", "worker", "", "step approval", []string{"state", "outcome", "summary"}},
			{"model.replied", "worker", "", "", []string{"turn", "text", "usage"}},
			{"run.ended", "worker", "", "", []string{"state", "halt", "answer", "spent"}},
		}
		var got []audit.Entry
		for _, e := range w.Audit { // a card that changed meanwhile may be shown once more
			if e.Kind != "card.shown" || !slices.ContainsFunc(got, func(x audit.Entry) bool { return x.Kind == e.Kind }) {
				got = append(got, e)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d entries, wanted %d: %+v", len(got), len(want), got)
		}
		for i, e := range got {
			if err := want[i].differs(e, w.Run.ID); err != "" {
				t.Errorf("entry %d, %s: %s\n%+v", i, want[i].kind, err, e)
			}
		}
	})
}

// differs says what an entry lacks, or has too much.
func (r recorded) differs(e audit.Entry, run string) string {
	of := map[bool]string{true: "step "}[e.Step > 0] + map[bool]string{true: "approval "}[e.Approval != ""] + map[bool]string{true: "digest"}[e.Digest != ""]
	switch {
	case e.Kind != r.kind || e.Via != r.via || e.Run != run || e.At.IsZero():
		return "kind, way, run or time"
	case e.User != r.who || (e.Team != "") != (r.who != ""):
		return "person or workspace"
	case strings.TrimSpace(of) != r.of || (e.Digest != "") != (e.Revision > 0):
		return "names " + of
	}
	var data map[string]any
	if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
		return err.Error()
	}
	for _, field := range r.data {
		if v := data[field]; v == nil || v == "" {
			return field + " is missing"
		}
	}
	return ""
}

package localslack_test

import (
	"strings"
	"testing"

	"countersign/localslack"
	"countersign/localslack/slacktest"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t, mentionsOnly, func(c *localslack.Config) { c.App.Scopes = []string{"chat:write", "files:write"} })
	ws.Allow(localslack.ViolationBroadcast)
	a := connected(t, ws)
	ws.User("ana").Says("#ops", "@countersign hi")
	a.take("app_mention")
	ts := a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "<!here>", "blocks": card}).Str("ts")
	a.call("chat.update", map[string]any{"channel": "C0OPS", "ts": ts, "text": "still open"})
	ws.ExpectAcked()

	got := ws.Server.Report()
	if got.AckP50 <= 0 || got.AckP99 < got.AckP50 {
		t.Errorf("acks took %s and %s", got.AckP50, got.AckP99)
	}
	got.AckP50, got.AckP99 = 0, 0
	want := localslack.Report{
		Opens: 1, Connections: 1, Deliveries: 1, Acked: 1, Posts: map[string]int{"C0OPS": 1}, Updates: map[string]int{"C0OPS": 1},
		Violations: map[string]int{localslack.ViolationBroadcast: 1}, UnusedScopes: []string{"files:write"}, OpenButtons: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := got.String(); !strings.Contains(text, "violations: broadcast 1") || !strings.Contains(text, "updates: C0OPS 1") {
		t.Errorf("text:\n%s", text)
	}
}

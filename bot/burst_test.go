package bot_test

import (
	"fmt"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/tools"
)

// Slack row P4: two hundred people mention the bot at once, Slack tells of each mention
// twice, and the runs begin with a slow model meanwhile. Everything is acknowledged, without
// a second try, and each mention is one run. The soak holds the whole process to one second.
func TestBurstOfMentionsIsAcknowledgedInTime(t *testing.T) {
	t.Parallel()
	const mentions = 200
	turn := apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		time.Sleep(60 * time.Millisecond)
		return apptest.Calls("look", fmt.Sprintf(`{"what":"%d"}`, len(r.Messages)))
	}}
	w := apptest.Start(t, apptest.Options{
		Model: apptest.Play(turn, turn), Extra: []tools.Tool{&apptest.Counter{Name: "look", Risk: tools.Low}},
	})
	ana := w.Slack.User("ana")
	for i := range mentions {
		ana.Says("#ops", fmt.Sprintf("@countersign look %d", i))
	}
	w.Until("acknowledgements", func() bool { return len(w.Slack.Server.AckTimes()) >= 2*mentions })
	r := w.Slack.Server.Report()
	t.Logf("%d acknowledged: p50 %v, p99 %v", r.Acked, r.AckP50, r.AckP99)
	if r.Unacked > 0 {
		t.Errorf("%d deliveries were not acknowledged in time", r.Unacked)
	}
	if n := runs(t, w); n != mentions {
		t.Errorf("%d runs", n)
	}
}

package socket_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"countersign/bot/socket"
	"countersign/localslack"
	"countersign/localslack/slacktest"

	"github.com/slack-go/slack"
)

// clocks are the durations of one test against the local Slack.
type clocks struct {
	ack     time.Duration // how long Slack waits for an acknowledgement
	warning time.Duration // from Slack's warning to its closing
	dead    time.Duration // how long the transport bears silence
}

// calm are clocks that only a hanging machine can reach.
var calm = clocks{ack: patient, warning: 3 * time.Second, dead: patient}

// onLocalSlack connects a transport with the given number of connections to a
// local Slack. It tries events more often than the real one, so that a slow
// machine does not fail the test.
func onLocalSlack(t *testing.T, connections int, c clocks) (*slacktest.Slack, *bot) {
	t.Helper()
	ws := slacktest.New(t, func(cfg *localslack.Config) {
		cfg.Timing.Ack = c.ack
		cfg.Timing.Retries = []time.Duration{0, 100 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}
		cfg.Timing.Ping = 50 * time.Millisecond
		cfg.Timing.Warning = c.warning
	})
	timing := quick()
	timing.Dead, timing.Ping = c.dead, c.dead
	timing.Open = 2 * c.dead
	timing.Overlap = 2 * c.warning // so that Slack closes first, as with the defaults
	timing.SlowMin, timing.SlowMax = 20*time.Millisecond, 40*time.Millisecond
	b := &bot{log: &logBuffer{}, ended: make(chan struct{})}
	api := slack.New("", slack.OptionAppLevelToken(slacktest.AppToken), slack.OptionAPIURL(ws.Server.APIURL()))
	b.Transport = socket.New(socket.Config{
		Open: socket.WebAPI(api), Handle: ackAll, Connections: connections,
		Timing: timing, Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go func() {
		b.err = b.Run(ctx)
		close(b.ended)
	}()
	t.Cleanup(func() { b.stop(t) })
	eventually(t, "connected", func() bool { return b.Status().Connected == connections })
	return ws, b
}

// Whatever happens to the connections, every event arrives in the end, and a
// command typed afterwards is answered.
// Slack rows P2, P3.
func TestEveryEventArrivesWhateverBreaks(t *testing.T) {
	t.Parallel()
	rough := clocks{ack: 500 * time.Millisecond, warning: 100 * time.Millisecond, dead: 500 * time.Millisecond}
	one, both := []int{1}, []int{1, 2}
	faults := []struct {
		name        string
		connections []int
		fault       func(s *localslack.Server)
	}{
		{"warning", one, func(s *localslack.Server) { s.Disconnect("warning") }},
		{"refresh", both, func(s *localslack.Server) { s.Disconnect("refresh_requested") }},
		{"too many", one, func(s *localslack.Server) { s.Disconnect("too_many_websockets") }},
		{"link disabled for a while", one, func(s *localslack.Server) {
			s.Disconnect("link_disabled")
			time.AfterFunc(200*time.Millisecond, s.EnableLink)
		}},
		{"dropped", both, func(s *localslack.Server) { s.CloseConnections(1006) }},
		{"closed", one, func(s *localslack.Server) { s.CloseConnections(1001) }},
		{"half open", both, func(s *localslack.Server) { s.HalfOpen() }},
		{"black hole", one, func(s *localslack.Server) { s.BlackHole() }},
		{"cut inside a frame", one, func(s *localslack.Server) { s.CutFrame() }},
		{"unknown envelope", one, func(s *localslack.Server) { s.SendUnknown("dreams", map[string]any{}) }},
		{"garbage", one, func(s *localslack.Server) { s.SendText(`{"type":`); s.SendBinary([]byte{0, 1}) }},
		{"open fails for a while", one, func(s *localslack.Server) {
			s.BreakAPI(localslack.APIFault{Method: "apps.connections.open", Times: 3, Status: 500})
			s.CloseConnections(1011)
		}},
		{"open hangs and is slow for a while", both, func(s *localslack.Server) {
			s.BreakAPI(localslack.APIFault{Method: "apps.connections.open", Times: 1, Hang: true})
			s.BreakAPI(localslack.APIFault{Method: "apps.connections.open", Times: 1, Delay: 3 * time.Second})
			s.CloseConnections(1006)
		}},
		{"token refused once", one, func(s *localslack.Server) {
			s.BreakAPI(localslack.APIFault{Method: "apps.connections.open", Times: 1, Error: "invalid_auth"})
			s.CloseConnections(1006)
		}},
	}
	for _, tt := range faults {
		for _, connections := range tt.connections {
			t.Run(fmt.Sprint(tt.name, " with ", connections), func(t *testing.T) {
				t.Parallel()
				ws, b := onLocalSlack(t, connections, rough)
				// Half a second is short for a busy machine, and so are the pauses.
				ws.Allow(localslack.ViolationAckLate, localslack.ViolationHotLoop)
				ana := ws.User("ana")
				ana.Says("#ops", "@countersign before")
				tt.fault(ws.Server)
				for i := range 5 {
					ana.Says("#ops", fmt.Sprint("@countersign during ", i))
				}
				eventually(t, "nothing on its way", func() bool { return ws.Server.Waiting() == 0 })
				if lost := ws.Server.Lost(); len(lost) > 0 {
					t.Errorf("never acknowledged: %v", lost)
				}
				eventually(t, "all connections again", func() bool { return b.Status().Connected == connections })
				eventually(t, "a command is answered, at the latest when it is typed again", func() bool {
					return ana.Commands("#ops", "/countersign", "status").Acked
				})
			})
		}
	}
}

// A click that falls into a refresh must not be lost, even on one connection:
// the next one is ready before Slack closes the old one.
func TestRefreshLosesNoCommand(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			ws, b := onLocalSlack(t, 1, calm)
			ana := ws.User("ana")
			for round := range 2 {
				ws.Server.Disconnect(reason)
				for i := range 5 {
					if out := ana.Commands("#ops", "/countersign", "status"); !out.Acked {
						t.Fatalf("round %d: command %d was lost\n%s", round, i, b.log)
					}
				}
				eventually(t, "one connection again", func() bool { return b.Status().Connected == 1 })
			}
		})
	}
}

// Slack row P4. What is in time on any machine; the soak measures it.
func TestBurstIsAcknowledgedInTime(t *testing.T) {
	t.Parallel()
	ws, b := onLocalSlack(t, 2, clocks{ack: 20 * time.Second, warning: calm.warning, dead: patient})
	ana := ws.User("ana")
	for i := range 200 {
		ana.Says("#ops", fmt.Sprint("@countersign ", i))
	}
	ws.ExpectAcked()
	for _, d := range ws.Server.Deliveries() {
		if d.Attempt > 0 {
			t.Errorf("delivered again: %+v", d)
		}
	}
	if st := b.Status(); st.AckP99 <= 0 || st.Lost > 0 {
		t.Errorf("p99 %s, lost %d", st.AckP99, st.Lost)
	}
}

func TestStopLeavesNoGhost(t *testing.T) {
	t.Parallel()
	ws, b := onLocalSlack(t, 2, calm)
	if err := b.stop(t); err != nil {
		t.Errorf("Run returned %v", err)
	}
	eventually(t, "slack counts none", func() bool { return ws.Server.Connections() == 0 })
}

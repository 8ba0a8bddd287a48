package metrics_test

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"countersign/agent/llm"
	"countersign/bot/socket"
	"countersign/internal/metrics"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// scrape reads the page as Prometheus does.
func scrape(t *testing.T, s *metrics.Set) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("scrape: %d %v\n%s", w.Code, err, body)
	}
	return string(body)
}

func wants(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(page, l+"\n") {
			t.Errorf("there is no line %q", l)
		}
	}
}

func TestWhatHappensIsCounted(t *testing.T) {
	t.Parallel()
	s := metrics.New()
	s.RunStarted("slack")
	s.RunEnded("success", "done", 3*time.Second)
	s.PickedUp(false, -time.Second) // clocks of two replicas differ a little
	s.PickedUp(true, 20*time.Millisecond)
	s.StepEnded("refund", "succeeded", time.Second)
	s.Decided("approve", "slack")
	s.Refused("requester")
	s.Settled("approved", 20*time.Minute)
	s.Delivered("card", "delivered")
	s.Limited("chat.update")
	s.LeaseLost()
	s.ModelCalled(metrics.Called{Model: "m", Currency: "USD", Usage: llm.Usage{Prompt: 100, Completion: 10, Cached: 40}, Cost: 2_500_000, At: start})
	s.ModelCalled(metrics.Called{Model: "m", Currency: "USD", Shrunk: true, At: start})
	if !s.ModelFailing(start).IsZero() {
		t.Error("a model that answers is said to fail")
	}
	wants(t, scrape(t, s),
		`countersign_model_calls_total{model="m",outcome="shrunk"} 1`,
		`countersign_runs_started_total{origin="slack"} 1`,
		`countersign_runs_ended_total{halt="done",outcome="success"} 1`,
		`countersign_run_pickup_seconds_bucket{kind="start",le="0.005"} 1`,
		`countersign_run_pickup_seconds_bucket{kind="resume",le="0.025"} 1`,
		`countersign_step_seconds_count{state="succeeded",tool="refund"} 1`,
		`countersign_decisions_total{verdict="approve",via="slack"} 1`,
		`countersign_decisions_refused_total{reason="requester"} 1`,
		`countersign_approval_wait_seconds_bucket{state="approved",le="900"} 0`,
		`countersign_approval_wait_seconds_bucket{state="approved",le="1800"} 1`,
		`countersign_deliveries_total{kind="card",outcome="delivered"} 1`,
		`countersign_slack_limits_total{method="chat.update"} 1`,
		`countersign_leases_lost_total 1`,
		`countersign_model_tokens_total{kind="cached",model="m"} 40`,
		`countersign_model_cost_total{currency="USD",model="m"} 2.5`,
		`countersign_model_calls_total{model="m",outcome="ok"} 1`,
	)
}

func TestGaugesAreAskedAtTheScrape(t *testing.T) {
	t.Parallel()
	s, now, asked := metrics.New(), start, 0
	var down error
	s.Watch(metrics.Sources{
		Now:    func() time.Time { return now },
		Socket: func() socket.Status { return socket.Status{Connected: 2, AckP99: 30 * time.Millisecond, Late: 1} },
		Census: func(ctx context.Context) (metrics.Census, error) {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("the database is asked without a bound")
			}
			asked++
			return metrics.Census{
				Runs: map[string]int{"planning": 3}, Approvals: map[string]int{"pending": 2},
				Oldest: start.Add(-time.Minute), Deliveries: 1,
			}, down
		},
	})
	wants(t, scrape(t, s), `countersign_runs{state="planning"} 3`, `countersign_approvals{state="pending"} 2`,
		`countersign_approval_oldest_seconds 60`, `countersign_deliveries_due 1`, `countersign_delivery_oldest_seconds 0`,
		`countersign_database_up 1`, `countersign_socket_connections 2`, `countersign_socket_ack_p99_seconds 0.03`, `countersign_socket_acks_late_total 1`)
	scrape(t, s)
	if asked != 1 {
		t.Errorf("the database was asked %d times within the memory of a scrape", asked)
	}
	now, down = now.Add(time.Minute), errors.New("gone")
	if page := scrape(t, s); !strings.Contains(page, "countersign_database_up 0\n") || strings.Contains(page, "countersign_runs{") {
		t.Error("a database that does not answer looks as if it did")
	}
}

func TestModelCountsAsLostUntilItAnswersOrNobodyAsks(t *testing.T) {
	t.Parallel()
	s := metrics.New()
	call := func(after time.Duration, k llm.Kind) {
		s.ModelCalled(metrics.Called{Model: "m", Currency: "USD", Failure: k, At: start.Add(after)})
	}
	for _, step := range []struct {
		after time.Duration
		kind  llm.Kind
		since time.Duration // -1: fine
	}{
		{0, "", -1}, {time.Minute, llm.Overloaded, time.Minute}, {2 * time.Minute, llm.Config, time.Minute},
		{3 * time.Minute, llm.Malformed, -1}, {4 * time.Minute, llm.Quota, 4 * time.Minute},
	} {
		call(step.after, step.kind)
		got, want := s.ModelFailing(start.Add(step.after)), time.Time{}
		if step.since >= 0 {
			want = start.Add(step.since)
		}
		if !got.Equal(want) {
			t.Errorf("after %s: failing since %s, not %s", step.after, got, want)
		}
	}
	if got := s.ModelFailing(start.Add(time.Hour)); !got.IsZero() {
		t.Errorf("an hour without a question it still fails since %s", got)
	}
}

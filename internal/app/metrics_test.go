package app_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// page reads something of the process's own listener.
func (s *stage) page(path string) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.Newest().Addr()+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// What an approval story leaves in the metrics, on both databases.
func TestMetricsTellTheStory(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Env = map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}
		s := start(t, o)
		s.asks("delete doc_42")
		card := s.Slack.Expect(slacktest.Button("approval_approve"))
		s.Until("the waiting card in the metrics", func() bool { return strings.Contains(s.page("/metrics"), `countersign_approvals{state="pending"} 1`) })
		if got := s.page("/readyz"); got != "ready\n" {
			t.Errorf("not ready: %s", got)
		}
		s.Press(s.ana, card, "approval_approve")
		s.Press(s.mgr, card, "approval_approve")
		s.Slack.Expect(answer)
		s.Until("the end of the run in the metrics", func() bool { return strings.Contains(s.page("/metrics"), "countersign_runs_ended_total") })
		page := s.page("/metrics")
		for _, want := range []string{
			`countersign_runs_started_total\{origin="slack"\} 1`, `countersign_runs_ended_total\{halt="done",outcome="success"\} 1`,
			`countersign_run_pickup_seconds_count\{kind="start"\} 1`, `countersign_run_pickup_seconds_count\{kind="resume"\} 1`,
			`countersign_decisions_total\{verdict="approve",via="slack"\} 1`, `countersign_decisions_refused_total\{reason="\w+"\} 1`,
			`countersign_approval_wait_seconds_count\{state="approved"\} 1`, `countersign_step_seconds_count\{state="succeeded",tool="delete_document"\} 1`,
			`countersign_deliveries_total\{kind="card",outcome="delivered"\} [1-9]`, `countersign_model_tokens_total\{kind="prompt",model="[^"]+"\} [1-9]`,
			`countersign_socket_connections [1-9]`,
		} {
			if !regexp.MustCompile(`(?m)^` + want).MatchString(page) {
				t.Errorf("the metrics lack %s", want)
			}
		}
		if strings.Contains(page, "doc_42") || strings.Contains(page, "U0") {
			t.Error("the metrics hold words of people or their ids")
		}
	})
}

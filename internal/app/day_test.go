package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/internal/store"
	"countersign/localslack/slacktest"
)

// Who has used up the day gets a polite answer and no model; others go on until the
// channel's day is used up too. What was used is reported by whom and by what.
func TestDaysAreBoundedAndReported(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		script := apptest.Play(apptest.Calls("list_files", `{"thought":"look","path":"."}`), apptest.Says("Files."))
		o.Model, o.YAML = script, "limits: {per_day: {user: {tokens: 200}, channel: {tokens: 400}}}\nmodel: {price: {input_per_million: 10, output_per_million: 100}}\n"
		s := start(t, o)
		ask := s.asks("list the files") // two turns of 110 tokens
		s.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("Files."))
		ask = s.asks("list them again")
		s.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("what one person may use in 24 hours"))
		ask = s.mgr.Says("#ops", "@countersign list the files")
		s.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("Files."))
		ask = s.fin.Says("#ops", "@countersign list the files")
		s.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("This channel has used up"))
		if n := len(script.Requests()); n != 4 {
			t.Errorf("the model was asked %d times, not 4", n)
		}
		of := func(by string) []store.Share {
			out, err := s.Newest().Store().Costs(t.Context(), by, time.Now().Add(-time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		run := agent.Amount{Tokens: 220, Cost: 4000} // 200 prompt at 10, 20 completion at 100 a million
		turns := agent.Amount{Tokens: 220, Cost: 4000}
		for by, want := range map[string][]store.Share{
			"user":    {{Of: s.ana.ID, Runs: 2, Amount: run}, {Of: s.mgr.ID, Runs: 1, Amount: run}, {Of: s.fin.ID, Runs: 1}},
			"channel": {{Of: "C0OPS", Runs: 4, Amount: agent.Amount{Tokens: 440, Cost: 8000}}},
			"tool":    {{Of: "answer", Runs: 2, Amount: turns}, {Of: "list_files", Runs: 2, Amount: turns}},
		} {
			if d := cmp.Diff(want, of(by)); d != "" {
				t.Errorf("by %s (-want +got)\n%s", by, d)
			}
		}
	})
}

// Runs that begin together do not go over the day together: each call is counted before
// it is made, so that what goes over is at most one call. Who is cut off is told.
func TestADayIsNotOverdrawnByRunsSideBySide(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		script := apptest.Play(apptest.Calls("list_files", `{"thought":"look","path":"."}`), apptest.Says("Files."))
		o.Model = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(50 * time.Millisecond) // as long as a model takes at the very least
			script.ServeHTTP(w, r)
		})
		o.YAML = "limits: {per_day: {all: {tokens: 500}}}\n"
		s := start(t, o)
		const asks = 8
		for i := range asks {
			s.asks(fmt.Sprintf("list the files, please, number %d", i))
		}
		s.Until("all answers", func() bool { return len(s.Slack.All(answer)) == asks })
		shares, err := s.Newest().Store().Costs(t.Context(), "channel", time.Now().Add(-time.Hour))
		if err != nil || len(shares) != 1 || shares[0].Tokens < 500 || shares[0].Tokens > 500+110 {
			t.Errorf("used: %+v, %v", shares, err)
		}
		told := len(s.Slack.All(answer, slacktest.Text("The allowance of 24 hours is used up")))
		if told < asks-3 {
			t.Errorf("%d were told", told)
		}
	})
}

// Row B67: the smaller model's summaries are counted before they are made, too: those that
// the day has no room for are not made, and what was read is shown in part.
func TestSummariesAreWithinTheDay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		reads := apptest.Turn{}
		for i := range 3 {
			reads.Calls = append(reads.Calls, apptest.Call{Name: "read_file", Args: fmt.Sprintf(`{"thought":"look","path":"long%d.txt"}`, i)})
		}
		script := apptest.Play(apptest.Turn{From: func(r apptest.Request) apptest.Turn {
			if strings.Contains(r.Raw, `"model":"small"`) {
				return apptest.Says("Ones, nothing but ones.")
			}
			return reads
		}}, apptest.Says("Read."))
		o.Model, o.YAML = script, "model: {small: small}\nlimits: {per_day: {all: {tokens: 300}}}\n"
		s := stageOf(t, apptest.New(t, o))
		for i := range 3 {
			if err := os.WriteFile(filepath.Join(s.Dir, "data", fmt.Sprintf("long%d.txt", i)), []byte(strings.Repeat("one ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.Run()
		ask := s.asks("read the long files")
		s.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("allowance of 24 hours"))
		small := 0
		for _, r := range script.Requests() {
			if strings.Contains(r.Raw, `"model":"small"`) {
				small++
			}
		}
		if small != 2 || len(script.Requests()) != 3 { // 110 for the turn, 110 for each of two summaries
			t.Errorf("%d summaries in %d requests", small, len(script.Requests()))
		}
		shares, err := s.Newest().Store().Costs(t.Context(), "channel", time.Now().Add(-time.Hour))
		if err != nil || len(shares) != 1 || shares[0].Tokens != 330 {
			t.Errorf("used: %+v, %v", shares, err)
		}
	})
}

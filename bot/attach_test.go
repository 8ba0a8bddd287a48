package bot_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/bot"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// painter gives a file beside its text.
func painter() *apptest.Counter {
	return &apptest.Counter{Name: "chart", Risk: tools.Low, Do: func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{Text: "a chart", Files: []tools.File{{Name: "chart.png", MIME: "image/png", Bytes: []byte("\x89PNG\r\n\x1a\n\x00")}}}, nil
	}}
}

func painting() apptest.Options {
	return apptest.Options{Lease: 3 * time.Second, Extra: []tools.Tool{painter()}, Model: apptest.Play(apptest.Calls("chart", `{"what":"x"}`), apptest.Says("Look."))}
}

// filesIn are the names of the files that stand in the thread of a request.
func filesIn(w *apptest.World, ask slacktest.Message) []string {
	var names []string
	for _, m := range w.Slack.Server.Workspace().Messages(ask.Channel, "") {
		for _, id := range m.Files {
			if f, ok := w.Slack.Server.Workspace().File(id); ok && m.ThreadTS == ask.TS {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// witness sees which files got their receipt.
type witness struct {
	app.Ports
	files atomic.Int32
}

func (s *witness) between(p app.Ports) app.Ports { s.Ports = p; return s }

func (s *witness) Delivered(ctx context.Context, d bot.Delivery, r bot.Receipt) error {
	err := s.Ports.Delivered(ctx, d, r)
	if err == nil && r.Version > 0 && strings.Contains(d.Subject, "/file/") {
		s.files.Add(1)
	}
	return err
}

// expectOneFile waits for the answer and the file's receipt, and wants one file.
func (s *witness) expectOneFile(t *testing.T, w *apptest.World, ask slacktest.Message) {
	t.Helper()
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("Look."))
	w.Until("the file's receipt", func() bool { return s.files.Load() > 0 })
	if names := filesIn(w, ask); len(names) != 1 || names[0] != "chart.png" {
		t.Errorf("files %v\n%s", names, w.Slack.Transcript())
	}
}

// A file follows its answer whenever the process dies, and comes once.
func TestFileSurvivesADeath(t *testing.T) {
	t.Parallel()
	for name, mortal := range map[string]*apptest.Mortal{
		"before the answer's receipt": {Receipts: "/answer"},
		"after the answer's receipt":  {Receipts: "/answer", After: true},
		"before the upload is kept":   {Intends: "/file/"},
		"before it is shown":          {Intends: "/file/", After: true},
		"before its receipt":          {Receipts: "/file/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apptest.New(t, painting())
			first := w.RunBetween(mortal.Between)
			ask := w.Slack.User("ana").Says("#ops", "@countersign draw")
			w.Until("its death", mortal.Dead)
			w.Kill(first)
			var seen witness
			w.RunBetween(seen.between)
			seen.expectOneFile(t, w, ask)
		})
	}
}

// Whatever step of an upload fails, and whether or not Slack took it, the file comes once.
// Slack row P8.
func TestFileIsUploadedOnce(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"files.getUploadURLExternal", "files.completeUploadExternal"} {
		for name, f := range map[string]localslack.APIFault{
			"no answer": {Cut: true}, "a lost answer": {Cut: true, AfterStore: true}, "a server error": {Status: 500}, "too many": {RetryAfter: time.Second},
		} {
			t.Run(fmt.Sprintf("%s/%s", method, name), func(t *testing.T) {
				t.Parallel()
				var seen witness
				w := apptest.New(t, painting())
				w.RunBetween(seen.between)
				f.Method, f.Times = method, 1
				w.Slack.Server.BreakAPI(f)
				seen.expectOneFile(t, w, w.Slack.User("ana").Says("#ops", "@countersign draw"))
			})
		}
	}
}

// A workspace that allows the app no files gets the answer all the same, and the
// process stays ready.
func TestFilesThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	var seen witness
	w := apptest.New(t, painting())
	w.RunBetween(seen.between)
	w.Slack.Server.BreakAPI(localslack.APIFault{Method: "files.getUploadURLExternal", Error: "file_uploads_disabled"})
	ask := w.Slack.User("ana").Says("#ops", "@countersign draw")
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("Look."))
	w.Until("the end of trying", func() bool { return seen.files.Load() > 0 })
	if status, why := w.Ready(); status != 200 || len(calls(w, "files.getUploadURLExternal")) != 1 {
		t.Errorf("%d calls, status %d: %s", len(calls(w, "files.getUploadURLExternal")), status, why)
	}
}

package app_test

import (
	"fmt"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// deletion is scene 3 with a tool that counts: one HIGH call, then the answer.
func deletion(db string) (*apptest.Counter, apptest.Options) {
	c := &apptest.Counter{Name: "wipe", Risk: tools.High}
	return c, apptest.Options{
		Database: db, Extra: []tools.Tool{c}, Lease: time.Second, Sweep: 200 * time.Millisecond,
		Model: apptest.Play(apptest.Calls("wipe", `{"thought":"asked for","what":"doc_42"}`), apptest.Says("It is gone.")),
	}
}

// playDeletion plays the scene as people would, patiently: they press again when
// a press was lost, and settle what is not known.
func playDeletion(t *testing.T, w *apptest.World) (uncertain bool) {
	t.Helper()
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	ana.Says("#ops", "@countersign wipe doc_42")
	pressed := time.Time{}
	w.Until("an end", func() bool {
		runs, err := w.Newest().Store().Runs(t.Context(), false, 10)
		if err != nil || len(runs) == 0 {
			return false
		}
		if len(runs) > 1 {
			t.Fatalf("%d runs for one mention", len(runs))
		}
		if agent.RunMachine.Terminal(runs[0].State) {
			return true
		}
		if time.Since(pressed) < 300*time.Millisecond {
			return false
		}
		for _, action := range []string{"approval_approve", "uncertain_happened"} {
			if m, ok := w.Slack.Find(slacktest.Button(action)); ok {
				pressed = time.Now()
				uncertain = uncertain || action == "uncertain_happened"
				w.Press(mgr, m, action)
			}
		}
		return false
	})
	return uncertain
}

// TestDeathAtEveryCommit kills the process before and after every commit of scene 3
// and starts another: the call happens exactly once, or a person is honestly asked.
//
// Rows B5, B7, B19, B55, B58. Slack row 37.
func TestDeathAtEveryCommit(t *testing.T) {
	t.Parallel()
	boundaries := 24
	if testing.Short() {
		boundaries = 6
	}
	atEachCommit(t, boundaries, dieWithDeletion)
}

// atEachCommit plays a story that dies before and after each of so many commits: all of
// them on SQLite, a sample on Postgres, where the other half is the store's contract.
func atEachCommit(t *testing.T, boundaries int, play func(t *testing.T, db string, mortal *apptest.Mortal)) {
	t.Helper()
	for _, db := range []string{"sqlite", "postgres"} {
		for at := 1; at <= boundaries; at++ {
			for _, after := range []bool{false, true} {
				if db == "postgres" && (at%4 != 0 || after) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%v", db, at, after), func(t *testing.T) {
					t.Parallel()
					play(t, db, &apptest.Mortal{At: int64(at), After: after})
				})
			}
		}
	}
}

func dieWithDeletion(t *testing.T, db string, mortal *apptest.Mortal) {
	t.Helper()
	counter, o := deletion(db)
	w := apptest.New(t, o)
	first := w.RunBetween(mortal.Between)
	reborn := make(chan struct{})
	go func() {
		defer close(reborn)
		for !mortal.Dead() && !w.Ended() {
			time.Sleep(2 * time.Millisecond)
		}
		if mortal.Dead() {
			w.Kill(first)
			w.Run()
		}
	}()
	uncertain := playDeletion(t, w)
	w.Until("one answer and settled cards", func() bool {
		answers := w.Slack.All(slacktest.MetaHas("subject", "/answer"))
		open := w.Slack.All(slacktest.MetaHas("subject", "/card/"), slacktest.Button("approval_approve"))
		return len(answers) == 1 && len(open) == 0
	})
	w.Finish()
	<-reborn
	if n := counter.Count(); n > 1 || n == 0 && !uncertain && !late(t, w) {
		t.Errorf("the tool ran %d times (uncertain: %v)", n, uncertain)
	}
	if err := w.Newest().Store().VerifyAudit(t.Context()); err != nil {
		t.Errorf("audit: %v", err)
	}
}

// late says that the one call was not made because the commit before it took too
// long, and that the record says so: on a slow machine that is what should happen.
func late(t *testing.T, w *apptest.World) bool {
	t.Helper()
	runs, err := w.Newest().Store().Runs(t.Context(), false, 1)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	work, err := w.Newest().Store().Load(t.Context(), runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("step: %+v", work.Steps[0])
	return work.Steps[0].State == agent.StepFailed && work.Steps[0].Code == "late"
}

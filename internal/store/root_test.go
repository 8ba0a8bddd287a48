package store_test

import (
	"slices"
	"testing"
	"time"

	"countersign/agent"
	"countersign/bot"
	"countersign/internal/store/storetest"
)

// ordered starts a run that waits for its root message, and claims that delivery.
func ordered(t *testing.T, db *storetest.DB) (string, bot.Delivery) {
	t.Helper()
	in := storetest.Mention("order", db.Clock.Now())
	in.Run.TS, in.Run.MessageTS, in.Run.Wake = "root/"+in.Run.ID, "", 0
	in.Wishes = []agent.Wish{{Subject: agent.RootSubject(in.Run.ID), Channel: storetest.Channel}}
	in.Quoted = []agent.Message{{ID: "m1", Run: in.Run.ID, Kind: agent.FollowUp, Text: "data", At: db.Clock.Now()}}
	got, err := db.Accept(t.Context(), in)
	if err != nil || !got.Started {
		t.Fatalf("accept: %+v %v", got, err)
	}
	due := claim(t, db, "one", 10)
	if len(due) != 1 {
		t.Fatalf("due: %v", subjects(due))
	}
	db.Bell.Take()
	return in.Run.ID, due[0]
}

func (w *rootWorld) dueRuns() []string {
	w.t.Helper()
	runs, err := w.Due(w.t.Context(), w.Clock.Now(), 10)
	if err != nil {
		w.t.Fatal(err)
	}
	return runs
}

type rootWorld struct {
	*storetest.DB
	t *testing.T
}

func TestOrderedRunBeginsWithItsRoot(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := &rootWorld{db, t}
		run, d := ordered(t, db)
		if due := w.dueRuns(); len(due) != 0 {
			t.Fatalf("a run without a thread is due: %v", due)
		}
		if err := db.Delivered(t.Context(), d, bot.Receipt{Error: "away", RetryAt: db.Clock.Now(), At: db.Clock.Now()}); err != nil {
			t.Fatal(err)
		}
		if due := w.dueRuns(); len(due) != 0 {
			t.Fatalf("a failed post began the run: %v", due)
		}
		db.Clock.Step(time.Second)
		d = claim(t, db, "two", 1)[0]
		done := bot.Receipt{Version: d.Version, PostedTS: "9.9", Hash: "h", At: db.Clock.Now()}
		stale := d
		stale.Epoch--
		if err := db.Delivered(t.Context(), stale, done); err == nil {
			t.Error("a receipt of somebody who lost the delivery counted")
		}
		if due := w.dueRuns(); len(due) != 0 {
			t.Fatalf("and began the run: %v", due)
		}
		if err := db.Delivered(t.Context(), d, done); err != nil {
			t.Fatal(err)
		}
		if due := w.dueRuns(); !slices.Equal(due, []string{run}) {
			t.Errorf("due after the root: %v", due)
		}
		work, err := db.Load(t.Context(), run)
		if err != nil || work.Run.TS != "9.9" || work.Run.MessageTS != "9.9" || work.Run.Wake != 1 || len(work.Inbox) != 1 {
			t.Errorf("the run: %+v %v", work, err)
		}
	})
}

func TestARootThatCannotBePostedEndsTheRun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run, d := ordered(t, db)
		if err := db.Delivered(t.Context(), d, bot.Receipt{Version: d.Version, Gone: true, At: db.Clock.Now()}); err != nil {
			t.Fatal(err)
		}
		work, err := db.Load(t.Context(), run)
		if err != nil || work.Run.State != agent.Cancelled || work.Run.Halt != agent.HaltError || work.Run.EndedAt.IsZero() {
			t.Errorf("the run: %+v %v", work.Run, err)
		}
		if err := db.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

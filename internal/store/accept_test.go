package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/internal/store/storetest"
)

// instants compares times as instants of the precision that is kept.
func instants() cmp.Option {
	return cmp.Options{
		cmp.Comparer(func(a, b time.Time) bool {
			return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
		}),
		cmpopts.EquateEmpty(),
	}
}

func TestAcceptStartsARun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		in := storetest.Mention("1", db.Clock.Now())
		in.Run.Request = "hidden \x00 and broken \xff text, 查余额"
		got, err := db.Accept(t.Context(), in)
		if want := (agent.Accepted{Run: in.Run.ID, Started: true}); err != nil || got != want {
			t.Fatalf("accept: %+v, %v, want %+v", got, err, want)
		}
		if rung := db.Bell.Take(); !cmp.Equal(rung, []string{in.Run.ID}) {
			t.Errorf("rung: %v", rung)
		}
		if n := db.Wished.Take(); n != 1 {
			t.Errorf("wishes announced %d times", n)
		}
		w, err := db.Load(t.Context(), in.Run.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := in.Run
		want.Request = "hidden \uFFFD and broken \uFFFD text, 查余额"
		if diff := cmp.Diff(want, w.Run, instants()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAcceptKnowsAMessageItHasSeen(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		db.Bell.Take()
		again := storetest.Mention("1", db.Clock.Step(time.Hour))
		got, err := db.Accept(t.Context(), again)
		if want := (agent.Accepted{Seen: true}); err != nil || got != want {
			t.Errorf("again: %+v, %v", got, err)
		}
		if rung := db.Bell.Take(); len(rung) != 0 {
			t.Errorf("rung %v", rung)
		}
		if w, err := db.Load(t.Context(), run); err != nil || len(w.Inbox) != 0 {
			t.Errorf("inbox %v, %v", w.Inbox, err)
		}
	})
}

func TestAcceptReachesTheUnfinishedRun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		db.Bell.Take()
		for _, key := range []string{"2", "3", "4"} {
			in := storetest.Mention(key, db.Clock.Now())
			in.Run.Request, in.Follow = "and "+key, key == "3"
			got, err := db.Accept(t.Context(), in)
			if want := (agent.Accepted{Run: run}); err != nil || got != want {
				t.Fatalf("follow-up %s: %+v, %v", key, got, err)
			}
		}
		w, err := db.Load(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range w.Inbox {
			texts = append(texts, m.Text)
			if m.Kind != agent.FollowUp || m.From != storetest.Asker() || m.Name != "Ana" {
				t.Errorf("message %+v", m)
			}
		}
		if diff := cmp.Diff([]string{"and 2", "and 3", "and 4"}, texts); diff != "" {
			t.Error(diff)
		}
		if w.Run.Wake != 4 || w.Run.Seen != 0 {
			t.Errorf("wake %d, seen %d", w.Run.Wake, w.Run.Seen)
		}
		if rung := db.Bell.Take(); !cmp.Equal(rung, []string{run, run, run}) {
			t.Errorf("rung %v", rung)
		}
	})
}

func TestAcceptKeepsNothingOfAMessageThatFollowsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		in := storetest.Mention("1", db.Clock.Now())
		in.Follow = true
		for range 2 {
			got, err := db.Accept(t.Context(), in)
			if err != nil || got != (agent.Accepted{}) {
				t.Errorf("nothing to follow: %+v, %v", got, err)
			}
		}
		in.Follow = false // the same message, now with a mention: its key must not be taken
		if got, err := db.Accept(t.Context(), in); err != nil || !got.Started {
			t.Errorf("start: %+v, %v", got, err)
		}
	})
}

func TestAcceptGivesEveryAskerARunOfTheirOwn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		first := db.Start(t, "1")
		for i, who := range []policy.Actor{{Team: "T1", User: "U2"}, {Team: "T2", User: "U1"}} {
			in := storetest.Mention(fmt.Sprint("other", i), db.Clock.Now())
			in.Run.Asker = who
			got, err := db.Accept(t.Context(), in)
			if err != nil || !got.Started || got.Run == first {
				t.Errorf("%+v: %+v, %v", who, got, err)
			}
		}
		open, err := db.OpenRuns(t.Context(), storetest.Thread())
		if err != nil || len(open) != 3 {
			t.Errorf("%d open runs, %v", len(open), err)
		}
	})
}

func TestConcurrentStartsMakeOneRun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		const messages = 16
		got := make([]agent.Accepted, messages)
		var all sync.WaitGroup
		for i := range messages {
			all.Go(func() {
				at := []*storetest.DB{db, other}[i%2]
				var err error
				if got[i], err = at.Accept(t.Context(), storetest.Mention(fmt.Sprint(i), at.Clock.Now())); err != nil {
					t.Errorf("message %d: %v", i, err)
				}
			})
		}
		all.Wait()
		started, run := 0, got[0].Run
		for _, g := range got {
			if g.Started {
				started++
			}
			if g.Run != run || run == "" {
				t.Errorf("two runs: %q and %q", run, g.Run)
			}
		}
		w, err := db.Load(t.Context(), run)
		if err != nil || started != 1 || len(w.Inbox) != messages-1 || w.Run.Wake != messages {
			t.Errorf("%d started, %d in the inbox, wake %d, %v", started, len(w.Inbox), w.Run.Wake, err)
		}
	})
}

func TestAcceptRollsBackWhenTheRingFails(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		broken := errors.New("no bell")
		db.Bell.Fail(broken)
		in := storetest.Mention("1", db.Clock.Now())
		if _, err := db.Accept(t.Context(), in); !errors.Is(err, broken) {
			t.Fatalf("accept: %v", err)
		}
		if _, err := db.Load(t.Context(), in.Run.ID); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("load: %v", err)
		}
		db.Bell.Take()
		db.Bell.Fail(nil)
		if got, err := db.Accept(t.Context(), in); err != nil || !got.Started {
			t.Errorf("once more: %+v, %v", got, err)
		}
	})
}

func TestTell(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		stop := agent.Message{ID: "m1", Run: run, Kind: agent.Stop, From: policy.Actor{Team: "T1", User: "U9"}, At: db.Clock.Now()}
		for range 2 { // the second press of the button is quiet
			if err := db.Tell(t.Context(), stop, "click/1"); err != nil {
				t.Fatalf("tell: %v", err)
			}
		}
		w, err := db.Load(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]agent.Message{stop}, w.Inbox, instants()); diff != "" {
			t.Error(diff)
		}
		if w.Run.Wake != 2 {
			t.Errorf("wake %d", w.Run.Wake)
		}
		stop.Run = "rnone"
		if err := db.Tell(t.Context(), stop, "click/2"); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("tell nobody: %v", err)
		}
	})
}

func TestTellAnEndedRun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := db.Start(t, "1")
		r, f := db.Claimed(t, run, "worker")
		r.State, r.Halt, r.Answer = agent.Success, agent.HaltDone, "done"
		if _, err := db.Commit(t.Context(), f, agent.Change{Run: &r, Park: true}); err != nil {
			t.Fatal(err)
		}
		m := agent.Message{ID: "m1", Run: run, Kind: agent.FollowUp, From: storetest.Asker(), At: db.Clock.Now()}
		if err := db.Tell(t.Context(), m, "2"); !errors.Is(err, agent.ErrSettled) {
			t.Errorf("tell: %v", err)
		}
		if got, err := db.Accept(t.Context(), storetest.Mention("3", db.Clock.Now())); err != nil || !got.Started {
			t.Errorf("a new mention: %+v, %v", got, err)
		}
	})
}

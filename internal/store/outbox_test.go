package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/bot"
	"countersign/internal/store/storetest"
)

func claim(t *testing.T, db *storetest.DB, owner string, n int) []bot.Delivery {
	t.Helper()
	now := db.Clock.Now()
	got, err := db.ClaimDeliveries(t.Context(), owner, now, now.Add(10*time.Second), n)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func subjects(deliveries []bot.Delivery) []string {
	var out []string
	for _, d := range deliveries {
		out = append(out, d.Subject)
	}
	return out
}

func TestWishesCoalesce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		first := db.Clock.Now()
		wish := agent.Wish{Subject: "run/r1/progress", Channel: "C1", ThreadTS: "1.2", Priority: agent.PriorityProgress}
		for range 3 {
			if err := db.Wish(t.Context(), []agent.Wish{wish}, db.Clock.Now()); err != nil {
				t.Fatal(err)
			}
			db.Clock.Step(time.Second)
		}
		got := claim(t, db, "one", 10)
		want := []bot.Delivery{{
			Subject: wish.Subject, Channel: "C1", ThreadTS: "1.2", Priority: agent.PriorityProgress, Version: 3, Owner: "one", Epoch: 1, Since: first,
		}}
		if diff := cmp.Diff(want, got, instants()); diff != "" {
			t.Fatal(diff)
		}
		if more := claim(t, db, "two", 10); len(more) != 0 {
			t.Errorf("claimed twice: %v", more)
		}
		// Wanted again while it is being delivered: what was delivered does not count for it.
		if err := db.Wish(t.Context(), []agent.Wish{wish}, db.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		now := db.Clock.Now()
		if err := db.Delivered(t.Context(), got[0], bot.Receipt{Version: 3, PostedTS: "9.9", Hash: "h", Channel: "D1", At: now}); err != nil {
			t.Fatal(err)
		}
		again := claim(t, db, "two", 10)
		if len(again) != 1 || again[0].Version != 4 || again[0].Done != 3 || again[0].PostedTS != "9.9" || again[0].Hash != "h" || again[0].Channel != "D1" {
			t.Fatalf("again: %+v", again)
		}
		if err := db.Delivered(t.Context(), again[0], bot.Receipt{Version: 4, At: now}); err != nil {
			t.Fatal(err)
		}
		if rest := claim(t, db, "one", 10); len(rest) != 0 {
			t.Errorf("rest: %+v", rest)
		}
	})
}

func TestDeliveriesGoByPriorityAndAge(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		later := db.Clock.Now().Add(time.Minute)
		for i, w := range []agent.Wish{
			{Subject: "progress", Priority: agent.PriorityProgress}, {Subject: "answer", Priority: agent.PriorityAnswer},
			{Subject: "card 2", Priority: agent.PriorityCard}, {Subject: "card 1", Priority: agent.PriorityCard},
			{Subject: "later", Priority: agent.PriorityCard, ReadyAt: later},
		} {
			if err := db.Wish(t.Context(), []agent.Wish{w}, db.Clock.Now().Add(time.Duration(i)*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		db.Clock.Step(10 * time.Second)
		if diff := cmp.Diff([]string{"card 2", "card 1", "answer"}, subjects(claim(t, db, "one", 3))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"progress"}, subjects(claim(t, db, "one", 3))); diff != "" {
			t.Error(diff)
		}
	})
}

// What nobody waits for is not even claimed before its time.
func TestWhatCanWaitIsLeftAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		now := db.Clock.Now()
		wishes := []agent.Wish{{Subject: "expired", Priority: agent.PriorityLater}, {Subject: "home", Priority: agent.PriorityHome}}
		if err := db.Wish(t.Context(), wishes, now); err != nil {
			t.Fatal(err)
		}
		if wait, err := db.Pace(t.Context(), "later", "", now, time.Second); err != nil || wait != 0 {
			t.Fatalf("%s, %v", wait, err)
		}
		if diff := cmp.Diff([]string{"home"}, subjects(claim(t, db, "one", 5))); diff != "" {
			t.Error(diff)
		}
		db.Clock.Step(time.Second)
		if diff := cmp.Diff([]string{"expired"}, subjects(claim(t, db, "one", 5))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestADeliveryIsFenced(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		if err := db.Wish(t.Context(), []agent.Wish{{Subject: "home/U1"}}, db.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		late := claim(t, db, "one", 1)[0]
		db.Clock.Step(10 * time.Second)
		d := claim(t, db, "two", 1)[0]
		now := db.Clock.Now()
		if err := db.Intend(t.Context(), late, now); !errors.Is(err, agent.ErrFenced) {
			t.Errorf("intend: %v", err)
		}
		if err := db.Delivered(t.Context(), late, bot.Receipt{Version: 1, At: now}); !errors.Is(err, agent.ErrFenced) {
			t.Errorf("delivered: %v", err)
		}
		if err := db.Intend(t.Context(), d, now); err != nil {
			t.Fatal(err)
		}
		retry := now.Add(time.Minute)
		if err := db.Delivered(t.Context(), d, bot.Receipt{RetryAt: retry, Error: "ratelimited", At: now}); err != nil {
			t.Fatal(err)
		}
		if err := db.Wish(t.Context(), []agent.Wish{{Subject: "home/U1"}}, now); err != nil { // does not shorten the pause
			t.Fatal(err)
		}
		if got := claim(t, db, "one", 1); len(got) != 0 {
			t.Errorf("before its time: %+v", got)
		}
		db.Clock.Step(time.Minute)
		got := claim(t, db, "one", 1)
		if len(got) != 1 || !got[0].Intended || got[0].Attempts != 1 || got[0].Version != 2 {
			t.Fatalf("after the pause: %+v", got)
		}
		if err := db.Delivered(t.Context(), got[0], bot.Receipt{Gone: true, At: now}); err != nil {
			t.Fatal(err)
		}
		if rest := claim(t, db, "one", 1); len(rest) != 0 {
			t.Errorf("what is gone: %+v", rest)
		}
	})
}

func TestTwoReplicasShareDeliveries(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		var wishes []agent.Wish
		for i := range 60 {
			wishes = append(wishes, agent.Wish{Subject: fmt.Sprint("s", i)})
		}
		if err := db.Wish(t.Context(), wishes, db.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		times := map[string]int{}
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				for _, d := range claim(t, []*storetest.DB{db, other}[i%2], fmt.Sprint("w", i), 5) {
					mu.Lock()
					times[d.Subject]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		for len(times) < len(wishes) { // on Postgres a claim passes over rows that another one holds
			rest := claim(t, db, "rest", 60)
			if len(rest) == 0 {
				t.Fatalf("only %d of %d were claimed", len(times), len(wishes))
			}
			for _, d := range rest {
				times[d.Subject]++
			}
		}
		for s, n := range times {
			if n != 1 {
				t.Errorf("%s was claimed %d times", s, n)
			}
		}
	})
}

func TestPace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		now := db.Clock.Now()
		wait := func(at *storetest.DB, channel string, now time.Time) time.Duration {
			t.Helper()
			d, err := at.Pace(t.Context(), "chat.postMessage", channel, now, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		got := []time.Duration{
			wait(db, "C1", now), wait(other, "C1", now), wait(db, "C2", now), wait(db, "C1", now.Add(500*time.Millisecond)),
			wait(db, "C1", now.Add(time.Hour)),
		}
		want := []time.Duration{0, time.Second, 0, 500 * time.Millisecond, 0}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := db.Hold(t.Context(), "chat.postMessage", "C2", now.Add(10*time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := db.Hold(t.Context(), "chat.postMessage", "C2", now.Add(5*time.Second)); err != nil { // the longer hold stands
			t.Fatal(err)
		}
		if d := wait(other, "C2", now); d != 10*time.Second {
			t.Errorf("held for %v", d)
		}
		if err := db.Hold(t.Context(), "chat.postMessage", "", now.Add(30*time.Second)); err != nil {
			t.Fatal(err)
		}
		if d := wait(other, "C9", now); d != 30*time.Second {
			t.Errorf("held everywhere for %v", d)
		}
	})
}

func TestClicks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		now := db.Clock.Now()
		c := bot.Click{
			ID: "click/1", Action: "approval_approve", Actor: policy.Actor{Team: "T1", User: "U2"}, Channel: "C1", MessageTS: "1.2",
			Run: "r1", Step: 1, Approval: "a1", Revision: 2, Digest: "d", Input: []byte(`{"reason":"查"}`), At: now,
		}
		for i, want := range []bool{true, false} {
			if fresh, err := db.SaveClick(t.Context(), c); err != nil || fresh != want {
				t.Errorf("save %d: %v, %v", i, fresh, err)
			}
		}
		if open, err := db.OpenClicks(t.Context(), now, 10); err != nil || len(open) != 0 {
			t.Errorf("open before: %v, %v", open, err)
		}
		open, err := db.OpenClicks(t.Context(), now.Add(time.Second), 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]bot.Click{c}, open, instants()); diff != "" {
			t.Error(diff)
		}
		if err := db.EndClick(t.Context(), c.ID, "approved", now); err != nil {
			t.Fatal(err)
		}
		if open, err := db.OpenClicks(t.Context(), now.Add(time.Second), 10); err != nil || len(open) != 0 {
			t.Errorf("open after its end: %v, %v", open, err)
		}
		for i, want := range []bool{true, false} {
			if fresh, err := db.SeenEvent(t.Context(), "event/Ev1", now); err != nil || fresh != want {
				t.Errorf("event %d: %v, %v", i, fresh, err)
			}
		}
	})
}

func TestViews(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		first := db.Start(t, "1")
		r, f := db.Claimed(t, first, "worker")
		r.State = agent.Success
		if _, err := db.Commit(t.Context(), f, agent.Change{Run: &r, Park: true}); err != nil {
			t.Fatal(err)
		}
		db.Clock.Step(time.Second)
		second, a := db.Awaiting(t, "2")
		ids := func(runs []agent.Run, err error) []string {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, r := range runs {
				out = append(out, r.ID)
			}
			return out
		}
		ctx := t.Context()
		for name, tc := range map[string]struct{ got, want []string }{
			"mine":       {ids(db.RunsOf(ctx, storetest.Team, storetest.Asker(), 10)), []string{second, first}},
			"my latest":  {ids(db.RunsOf(ctx, storetest.Team, storetest.Asker(), 1)), []string{second}},
			"open":       {ids(db.OpenRuns(ctx, storetest.Thread())), []string{second}},
			"all":        {ids(db.Runs(ctx, false, 10)), []string{second, first}},
			"unfinished": {ids(db.Runs(ctx, true, 10)), []string{second}},
			"elsewhere":  {ids(db.RunsOf(ctx, "T2", storetest.Asker(), 10)), nil},
		} {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		waiting, err := db.Waiting(ctx, storetest.Team, 10)
		if err != nil || len(waiting) != 1 || waiting[0].Approval.ID != a.ID || waiting[0].Run.ID != second || waiting[0].Step.N != 1 {
			t.Errorf("waiting: %+v, %v", waiting, err)
		}
		if waiting, err := db.Waiting(ctx, "T2", 10); err != nil || len(waiting) != 0 {
			t.Errorf("waiting elsewhere: %+v, %v", waiting, err)
		}
	})
}

// What is delivered and will look different later is due again then; a wish that came
// meanwhile, or comes before, does not wait for that.
func TestDeliveredUntilLater(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		now := db.Clock.Now()
		for _, meanwhile := range []bool{false, true} {
			name := map[bool]string{false: "nothing new", true: "a wish meanwhile"}[meanwhile]
			w := agent.Wish{Subject: "run/r/" + name, Channel: "C1", Priority: agent.PriorityProgress, ReadyAt: now}
			claim := func(at time.Time) []bot.Delivery {
				t.Helper()
				due, err := db.ClaimDeliveries(t.Context(), "me", at, at.Add(time.Minute), 10)
				if err != nil {
					t.Fatal(err)
				}
				return due
			}
			wish := func(at time.Time) {
				t.Helper()
				w.ReadyAt = at
				if err := db.Wish(t.Context(), []agent.Wish{w}, at); err != nil {
					t.Fatal(err)
				}
			}
			wish(now)
			d := claim(now)[0]
			if meanwhile {
				wish(now)
			}
			if err := db.Delivered(t.Context(), d, bot.Receipt{Version: d.Version, PostedTS: "1.2", Hash: "h", RetryAt: now.Add(time.Hour), At: now}); err != nil {
				t.Fatal(err)
			}
			due := claim(now)
			if got := len(due) == 1; got != meanwhile {
				t.Errorf("%s: due at once: %v", name, got)
			}
			if !meanwhile {
				if got := claim(now.Add(time.Hour)); len(got) != 1 {
					t.Errorf("%s: %d due after an hour", name, len(got))
				}
				continue
			}
			if err := db.Delivered(t.Context(), due[0], bot.Receipt{Version: due[0].Version, PostedTS: "1.2", RetryAt: now.Add(time.Hour), At: now}); err != nil {
				t.Fatal(err)
			}
			wish(now.Add(time.Second))
			if got := claim(now.Add(time.Second)); len(got) != 1 {
				t.Errorf("%s: a wish before that is not due: %d", name, len(got))
			}
		}
	})
}

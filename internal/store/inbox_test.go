package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/bot"
	"countersign/internal/store/storetest"
)

// piled lets n things arrive while the writer is busy, and waits until they all wait.
func piled(t *testing.T, db *storetest.DB, n int, send func(i int)) (free func(), sent *sync.WaitGroup) {
	t.Helper()
	free, err := db.HoldWriter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sent = &sync.WaitGroup{}
	for i := range n {
		sent.Go(func() { send(i) })
	}
	for waiting := 0; waiting < n; time.Sleep(time.Millisecond) {
		if waiting, _ = db.Letters(); t.Context().Err() != nil {
			t.Fatal("they never wait")
		}
	}
	return free, sent
}

// elsewhere is a mention that opens a thread of its own.
func elsewhere(db *storetest.DB, n int) agent.Incoming {
	in := storetest.Mention(fmt.Sprint(n), db.Clock.Now())
	in.Run.TS = fmt.Sprint("1700000100.0000", n)
	return in
}

// What comes in while the writer is busy is stored in one turn at the writer, each with
// its own outcome: what was refused leaves nothing, not even its key.
func TestBurstIsStoredTogether(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	const mentions = 20
	var mu sync.Mutex
	outcomes := map[string]int{}
	count := func(what string, err error) {
		mu.Lock()
		defer mu.Unlock()
		outcomes[fmt.Sprint(what, " ", err)]++
	}
	free, sent := piled(t, db, 2*mentions+4, func(i int) {
		switch {
		case i < 2*mentions: // each twice, as Slack tells of a mention
			got, err := db.Accept(t.Context(), elsewhere(db, i%mentions))
			count(fmt.Sprint("started ", got.Started, ", seen ", got.Seen), err)
		case i == 2*mentions:
			err := db.Tell(t.Context(), agent.Message{ID: "m1", Run: "nowhere", At: db.Clock.Now()}, "key/nowhere")
			count(fmt.Sprint("told nobody ", errors.Is(err, agent.ErrNotFound)), nil)
		case i == 2*mentions+1:
			err := db.Panic(t.Context())
			count(fmt.Sprint("panicked ", err != nil && strings.Contains(err.Error(), "unreadable")), nil)
		default: // one click, delivered twice
			fresh, err := db.SaveClick(t.Context(), bot.Click{ID: "k1", At: db.Clock.Now()})
			count(fmt.Sprint("click ", fresh), err)
		}
	})
	if _, line := db.Letters(); line != 1 {
		t.Errorf("%d wait for the writer", line)
	}
	free()
	sent.Wait()
	want := map[string]int{
		"started true, seen false <nil>": mentions, "started false, seen true <nil>": mentions,
		"told nobody true <nil>": 1, "panicked true <nil>": 1, "click true <nil>": 1, "click false <nil>": 1,
	}
	if fmt.Sprint(outcomes) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", outcomes, want)
	}
	if rung, wished := len(db.Bell.Take()), db.Wished.Take(); rung != mentions || wished != mentions {
		t.Errorf("%d runs rung, %d wishes told", rung, wished)
	}
	if fresh, err := db.SeenEvent(t.Context(), "key/nowhere", db.Clock.Now()); err != nil || !fresh {
		t.Errorf("the key of what was refused was kept: %v", err)
	}
}

// When the transaction of all fails, nobody is told that something was stored, and
// nobody is rung.
func TestBurstThatCannotBeStored(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	var mu sync.Mutex
	var failed []error
	free, sent := piled(t, db, 5, func(i int) {
		_, err := db.Accept(t.Context(), elsewhere(db, i))
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, err)
	})
	if err := db.Writer().Close(); err != nil {
		t.Fatal(err)
	}
	free()
	sent.Wait()
	for _, err := range failed {
		if err == nil {
			t.Error("something was stored in a closed database")
		}
	}
	if rung := db.Bell.Take(); len(failed) != 5 || len(rung) != 0 {
		t.Errorf("%v, rung %v", failed, rung)
	}
}

// Who gives up, the first one too, takes nobody along.
func TestWhoGivesUpTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	impatient, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	free, err := db.HoldWriter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := db.Accept(impatient, elsewhere(db, 1))
		gone <- err
	}()
	for n := 0; n == 0; n, _ = db.Letters() {
		time.Sleep(time.Millisecond)
	}
	patient := make(chan agent.Accepted, 1)
	go func() {
		got, err := db.Accept(t.Context(), elsewhere(db, 2))
		if err != nil {
			t.Error(err)
		}
		patient <- got
	}()
	for n := 0; n < 2; n, _ = db.Letters() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("gave up with %v", err)
	}
	free()
	if got := <-patient; !got.Started {
		t.Errorf("%+v", got)
	}
	if got, err := db.Accept(t.Context(), elsewhere(db, 1)); err != nil || !got.Started { // it was told that nothing was stored
		t.Errorf("%+v %v", got, err)
	}
}

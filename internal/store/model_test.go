package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/internal/store/storetest"
)

// model is what a run's row promises, in its simplest form.
type model struct {
	wake, seen int64
	ready      time.Time
	owner      string
	epoch      int64
	until      time.Time
	ended      bool
}

func (m *model) due(now time.Time) bool {
	return !m.ended && m.wake > m.seen && !m.ready.After(now) && (m.owner == "" || !m.until.After(now))
}

// fences says which error a commit under a fence gives.
func (m *model) fences(f agent.Fence) error {
	switch {
	case m.owner != f.Owner || m.epoch != f.Epoch:
		return agent.ErrFenced
	case f.Wake >= 0 && f.Wake != m.wake:
		return agent.ErrMoved
	}
	return nil
}

// history plays random events of one run on the database and on the model.
type history struct {
	db     *storetest.DB
	run    string
	model  model
	fences map[string]agent.Fence // of each worker's last claim, perhaps stale
	told   int
}

func (h *history) now() time.Time { return h.db.Clock.Now().Truncate(time.Microsecond) }

func (h *history) fatal(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func (h *history) pass(t *rapid.T) {
	h.db.Clock.Step(time.Duration(rapid.IntRange(1, 8000).Draw(t, "milliseconds")) * time.Millisecond)
}

func (h *history) tell(t *rapid.T) {
	h.told++
	m := agent.Message{ID: fmt.Sprint(h.run, "-", h.told), Run: h.run, Kind: agent.FollowUp, From: storetest.Asker(), At: h.now()}
	err := h.db.Tell(context.Background(), m, "")
	if h.model.ended {
		if !errors.Is(err, agent.ErrSettled) {
			t.Fatalf("told an ended run: %v", err)
		}
		return
	}
	h.fatal(t, err)
	if h.model.wake == h.model.seen || h.model.ready.After(h.now()) {
		h.model.ready = h.now()
	}
	h.model.wake++
}

func (h *history) claim(t *rapid.T) {
	worker := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "worker")
	now := h.now()
	lease := agent.Lease{Owner: worker, Until: now.Add(6 * time.Second)}
	r, err := h.db.Claim(context.Background(), h.run, lease, now)
	h.fatal(t, err)
	if (r != nil) != h.model.due(now) {
		t.Fatalf("claimed: %v, the model says due: %v", r != nil, h.model.due(now))
	}
	if r == nil {
		return
	}
	h.model.owner, h.model.until = worker, lease.Until
	h.model.epoch++
	if r.Lease.Epoch != h.model.epoch || r.Wake != h.model.wake {
		t.Fatalf("epoch %d, wake %d, the model has %+v", r.Lease.Epoch, r.Wake, h.model)
	}
	h.fences[worker] = agent.Fence{Run: h.run, Owner: worker, Epoch: r.Lease.Epoch, Wake: r.Wake}
}

func (h *history) commit(t *rapid.T) {
	worker := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "worker")
	f, ok := h.fences[worker]
	if !ok {
		return
	}
	f.Now, f.Until = h.now(), h.now().Add(6*time.Second)
	r := agent.Run{ID: h.run, State: agent.Planning, ReadyAt: f.Now}
	c := agent.Change{Run: &r}
	how := rapid.SampledFrom([]string{"go on", "mind nothing", "park", "yield", "end"}).Draw(t, "how")
	switch how {
	case "mind nothing":
		f.Wake = -1
	case "park":
		c.Park = true
	case "yield":
		c.Yield = true
		r.ReadyAt = f.Now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second)
	case "end":
		c.Park, r.State = true, agent.Success
	}
	wake, err := h.db.Commit(context.Background(), f, c)
	if want := h.model.fences(f); !errors.Is(err, want) || (err == nil) != (want == nil) {
		t.Fatalf("%s: %v, the model says %v", how, err, want)
	}
	if err != nil {
		return
	}
	if wake != h.model.wake {
		t.Fatalf("wake %d, the model has %d", wake, h.model.wake)
	}
	h.model.until = f.Until
	if c.Park {
		h.model.seen = f.Wake
	}
	if c.Yield {
		h.model.ready = r.ReadyAt
	}
	if c.Park || c.Yield {
		h.model.owner, h.model.until = "", time.Time{}
	}
	h.model.ended = how == "end"
}

func (h *history) extend(t *rapid.T) {
	worker := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "worker")
	until := h.now().Add(6 * time.Second)
	held, err := h.db.Extend(context.Background(), worker, map[string]int64{h.run: 0}, h.now(), until)
	h.fatal(t, err)
	if (len(held) == 1) != (h.model.owner == worker && h.model.until.After(h.now())) {
		t.Fatalf("%s holds %v, the model has %+v", worker, held, h.model)
	}
	if len(held) == 1 {
		h.model.until = until
	}
}

func (h *history) release(t *rapid.T) {
	worker := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "worker")
	at := h.now().Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second)
	h.fatal(t, h.db.Release(context.Background(), worker, []string{h.run}, at))
	if h.model.owner != worker {
		return
	}
	h.model.owner, h.model.until = "", time.Time{}
	if h.model.ready.Before(at) {
		h.model.ready = at
	}
}

// check compares what is due now, and promises that no wake is ever lost: whatever
// has happened, a run with unseen work is due once every lease and pause is over.
func (h *history) check(t *rapid.T) {
	for _, now := range []time.Time{h.now(), h.now().Add(time.Hour)} {
		due, err := h.db.Due(context.Background(), now, 1000)
		h.fatal(t, err)
		found := false
		for _, id := range due {
			found = found || id == h.run
		}
		if found != h.model.due(now) {
			t.Fatalf("due: %v, the model says %v: %+v", found, h.model.due(now), h.model)
		}
	}
	if later := h.now().Add(time.Hour); !h.model.ended && h.model.wake > h.model.seen && !h.model.due(later) {
		t.Fatalf("a wake was lost: %+v", h.model)
	}
}

func TestARunsRowKeepsItsPromises(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			in := storetest.Mention(fmt.Sprint(n), db.Clock.Now())
			in.Run.TS = in.Run.MessageTS
			got, err := db.Accept(context.Background(), in)
			if err != nil || !got.Started {
				rt.Fatal(got, err)
			}
			h := &history{db: db, run: got.Run, fences: map[string]agent.Fence{}}
			h.model = model{wake: 1, ready: h.now()}
			rt.Repeat(map[string]func(*rapid.T){
				"time passes": h.pass, "message": h.tell, "claim": h.claim, "commit": h.commit,
				"heartbeat": h.extend, "release": h.release, "": h.check,
			})
		})
	})
}

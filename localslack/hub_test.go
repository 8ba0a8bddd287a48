package localslack

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func next(t *testing.T, w *Watcher) Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := w.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWatchersGetEveryChangeInOrder(t *testing.T) {
	t.Parallel()
	h := newHub()
	early := h.watch(0)
	h.publish(Change{Kind: ChangeMessage, TS: "1"})
	h.publish(Change{Kind: ChangeMessage, TS: "2"})
	late, fresh := h.watch(1), h.watch(h.last())
	h.publish(Change{Kind: ChangeMessage, TS: "3"})
	for _, tt := range []struct {
		w    *Watcher
		want []string
	}{{early, []string{"1", "2", "3"}}, {late, []string{"2", "3"}}, {fresh, []string{"3"}}} {
		for _, want := range tt.want {
			if got := next(t, tt.w); got.TS != want {
				t.Errorf("got %+v, want %s", got, want)
			}
		}
	}
}

func TestAWatcherTooFarBehindIsToldSo(t *testing.T) {
	t.Parallel()
	h := newHub()
	for range 3 * kept {
		h.publish(Change{Kind: ChangeMessage})
	}
	w := h.watch(1)
	if got := next(t, w); got.Kind != ChangeReset || got.Seq != h.last() {
		t.Errorf("got %+v", got)
	}
	h.publish(Change{Kind: ChangeHome})
	if got := next(t, w); got.Kind != ChangeHome {
		t.Errorf("then %+v", got)
	}
}

func TestNobodyWaitsForASlowWatcher(t *testing.T) {
	t.Parallel()
	h := newHub()
	slow := h.watch(0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				h.publish(Change{Kind: ChangeMessage})
			}
		})
	}
	wg.Wait()
	for want := int64(1); want <= 4000; want++ {
		if got := next(t, slow); got.Seq != want {
			t.Fatalf("change %d came where %d was due", got.Seq, want)
		}
	}
}

func TestAClosedWatcherGetsNothing(t *testing.T) {
	t.Parallel()
	h := newHub()
	w := h.watch(0)
	w.Close()
	h.publish(Change{Kind: ChangeMessage})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", c, err)
	}
}

package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What people sent goes first, in its order; then the rest in its order; and who gives
// up holds up nobody.
func TestGateLetsTheInboxGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, ctx := &gate{}, t.Context()
		if err := g.enter(ctx, false); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		pass := func(name string, inbox bool) {
			go func() {
				if err := g.enter(ctx, inbox); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				g.leave()
			}()
			synctest.Wait()
		}
		pass("delivery 1", false)
		impatient, cancel := context.WithCancel(ctx)
		gone := make(chan error)
		go func() { gone <- g.enter(impatient, true) }()
		synctest.Wait()
		pass("delivery 2", false)
		pass("click 1", true)
		pass("click 2", true)
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("gave up with %v", err)
		}
		g.leave()
		time.Sleep(time.Second)
		want := []string{"click 1", "click 2", "delivery 1", "delivery 2"}
		for i := range want {
			if i >= len(order) || order[i] != want[i] {
				t.Fatalf("%v, want %v", order, want)
			}
		}
		if err := g.enter(ctx, false); err != nil {
			t.Error(err)
		}
	})
}

// A turn that comes while somebody gives up is handed on.
func TestGateLosesNoTurn(t *testing.T) {
	t.Parallel()
	g := &gate{}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*100*time.Microsecond)
			defer cancel()
			if g.enter(ctx, i%3 == 0) == nil {
				g.leave()
			}
		})
	}
	all.Wait()
	if err := g.enter(t.Context(), false); err != nil {
		t.Error(err)
	}
}

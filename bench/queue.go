package bench

import (
	"context"
	"sync"
	"time"

	"countersign/internal/queue"
)

// doorbell is the program's queue, which tells whoever waits for a run that it has
// been advanced.
type doorbell struct {
	*queue.Queue
	mu      sync.Mutex
	waiting map[string]chan struct{} // by run
}

// startQueue makes the queue work on what is rung.
func (e *Engine) startQueue(ctx context.Context) (*doorbell, error) {
	q, err := queue.New(queue.Config{
		DB: e.store.Writer(), Postgres: e.store.URL(), Leases: e.store, Owner: e.owner, DatabaseNow: e.store.DatabaseNow, Now: time.Now, Logger: e.log,
	})
	if err != nil {
		return nil, err
	}
	d := &doorbell{Queue: q, waiting: map[string]chan struct{}{}}
	e.store.Attach(q, nil)
	return d, q.Start(ctx, func(ctx context.Context, run string) error {
		defer d.advanced(run)
		return e.agent.Advance(ctx, run)
	})
}

func (d *doorbell) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return d.Stop(ctx)
}

func (d *doorbell) advanced(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.waiting[run]; c != nil {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// watch gives a channel that hears when the queue has advanced a run. It must be
// made before the run's state is read, so that nothing is missed between.
func (e *Engine) watch(run string) (advanced <-chan struct{}, forget func()) {
	if e.queue == nil {
		return nil, func() {}
	}
	d := e.queue
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{}, 1)
	d.waiting[run] = c
	return c, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.waiting[run] == c {
			delete(d.waiting, run)
		}
	}
}

package socket

import "sync"

// queue is an unbounded queue with an express lane. It has no limit on
// purpose: a full queue would have to block the reader, and a blocked reader
// answers no pings. What Slack delivers bounds it: 30,000 events an hour.
type queue[T any] struct {
	mu      sync.Mutex
	changed *sync.Cond
	express []T
	normal  []T
	closed  bool
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// push appends item and reports false if the queue is closed.
func (q *queue[T]) push(item T, express bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if express {
		q.express = append(q.express, item)
	} else {
		q.normal = append(q.normal, item)
	}
	q.changed.Signal()
	return true
}

// pop waits for an item; it reports false once the queue is closed and empty.
func (q *queue[T]) pop() (T, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.express) == 0 && len(q.normal) == 0 && !q.closed {
		q.changed.Wait()
	}
	if item, ok := take(&q.express); ok {
		return item, true
	}
	return take(&q.normal)
}

// take removes the first item, and forgets it so that it can be collected.
func take[T any](items *[]T) (T, bool) {
	var none T
	if len(*items) == 0 {
		return none, false
	}
	first := (*items)[0]
	(*items)[0] = none
	*items = (*items)[1:]
	return first, true
}

// close lets poppers drain what is left and pushers fail.
func (q *queue[T]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// waiting returns the first item of each lane that is not empty, and how many
// there are in all.
func (q *queue[T]) waiting() (heads []T, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, lane := range [][]T{q.express, q.normal} {
		if len(lane) > 0 {
			heads = append(heads, lane[0])
		}
		n += len(lane)
	}
	return heads, n
}

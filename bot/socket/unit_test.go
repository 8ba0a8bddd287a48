package socket

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	t.Parallel()
	timing := Timing{}.withDefaults()
	broken := errors.New("broken")
	disabled := &disconnectError{reasonLinkDisabled}
	refresh := &disconnectError{reasonRefresh}
	type step struct {
		lived       time.Duration
		err         error
		least, most time.Duration
	}
	tests := map[string][]step{
		"failures double up to the limit": {
			{0, broken, 500 * time.Millisecond, time.Second},
			{0, broken, time.Second, 2 * time.Second},
			{time.Second, broken, 2 * time.Second, 4 * time.Second},
			{0, broken, 4 * time.Second, 8 * time.Second},
			{0, broken, 8 * time.Second, 16 * time.Second},
			{0, broken, 16 * time.Second, 32 * time.Second},
			{0, broken, 30 * time.Second, time.Minute},
			{0, broken, 30 * time.Second, time.Minute},
		},
		"a routine refresh waits for nothing": {
			{5 * time.Hour, refresh, 0, 0},
			{5 * time.Hour, broken, 0, 0},
		},
		"a stable connection clears the record": {
			{0, broken, 500 * time.Millisecond, time.Second},
			{0, broken, time.Second, 2 * time.Second},
			{time.Hour, refresh, 0, 0},
			{0, broken, 500 * time.Millisecond, time.Second},
		},
		"refused sockets wait long, however long the last one lived": {
			{time.Hour, disabled, 15 * time.Second, 30 * time.Second},
			{0, disabled, 30 * time.Second, time.Minute},
			{0, &disconnectError{reasonTooMany}, time.Minute, 2 * time.Minute},
			{0, disabled, 2 * time.Minute, 4 * time.Minute},
			{0, disabled, 150 * time.Second, 5 * time.Minute},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pause{timing: timing}
			for i, s := range steps {
				if got := p.next(s.lived, s.err); got < s.least || got > s.most {
					t.Errorf("step %d: %s, want %s to %s", i, got, s.least, s.most)
				}
			}
		})
	}
}

func TestAckPercentile(t *testing.T) {
	t.Parallel()
	var l ledger
	if got := l.snapshot().AckP99; got != 0 {
		t.Errorf("without acks: %s", got)
	}
	for i := range 600 { // more than the window: 90 ms to 600 ms remain
		l.acked(time.Duration(i+1) * time.Millisecond)
	}
	l.acked(4 * time.Second)
	s := l.snapshot()
	if s.AckP99 != 596*time.Millisecond {
		t.Errorf("p99 %s, want 596ms", s.AckP99)
	}
	if s.Acked != 601 || s.Late != 1 {
		t.Errorf("acked %d, late %d", s.Acked, s.Late)
	}
}

func TestQueueDrainsAfterClose(t *testing.T) {
	t.Parallel()
	q := newQueue[int]()
	q.push(1, false)
	q.push(2, true)
	q.close()
	if q.push(3, true) {
		t.Error("push after close succeeded")
	}
	for _, want := range []int{2, 1} {
		if got, ok := q.pop(); !ok || got != want {
			t.Errorf("pop = %d, %t; want %d", got, ok, want)
		}
	}
	if _, ok := q.pop(); ok {
		t.Error("pop of a closed, empty queue succeeded")
	}
}

func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`{"type":"hello","num_connections":1,"debug_info":{"approximate_connection_time":18060}}`,
		`{"type":"events_api","envelope_id":"E","payload":{"a":[1,{}]},"retry_attempt":1}`,
		`{"envelope_id":"E","payload":{`, `[]`, ``, `{"envelope_id":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseFrame(data)
		if err != nil {
			salvageID(data)
			return
		}
		ack, err := ackFrame(got.ID, nil)
		if err != nil || !json.Valid(ack) {
			t.Fatalf("ack of %q: %q, %v", got.ID, ack, err)
		}
	})
}

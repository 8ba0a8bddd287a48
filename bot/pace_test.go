package bot

import (
	"testing"
	"time"
)

// However often something is put off, it is due within a few slots; what is urgent is
// due at the first one, and one call at a time goes through a lane.
func TestLanesNeverLieIdle(t *testing.T) {
	t.Parallel()
	var p pacer
	l, now, gap := lane{"chat.postMessage", "C1"}, time.Unix(1000, 0), time.Second
	if at := p.enter(l, now, gap, false); !at.IsZero() {
		t.Fatalf("an empty lane is free at %v", at)
	}
	if at := p.enter(l, now, gap, true); at.IsZero() {
		t.Error("two calls at a time")
	}
	p.leave(l, now.Add(gap))
	places := map[time.Time]int{}
	for range 10_000 {
		at := p.enter(l, now, gap, false)
		if wait := at.Sub(now); wait < gap || wait > (mostWaits+1)*gap {
			t.Fatalf("put off by %v", wait)
		}
		places[at]++
	}
	if len(places) != mostWaits+1 {
		t.Errorf("spread over %d slots", len(places))
	}
	if at := p.enter(l, now, gap, true); !at.Equal(now.Add(gap)) {
		t.Errorf("what is urgent is due at %v", at)
	}
	free := now.Add(gap)
	if at := p.enter(l, free, gap, false); at.IsZero() {
		t.Error("something else overtook what is urgent")
	}
	if at := p.enter(l, free.Add(gap+keepFor), gap, false); !at.IsZero() {
		t.Errorf("the lane is kept until %v for what does not come", at)
	}
	p.leave(l, free)
	if at := p.enter(l, free, gap, true); !at.IsZero() {
		t.Errorf("a free lane is free at %v", at)
	}
}

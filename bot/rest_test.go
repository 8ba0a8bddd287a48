package bot

import (
	"testing"
	"time"
)

// What was put off is looked at when it is due, however often something else is looked
// for until then, and however much else was put off.
func TestPutOffIsNotForgotten(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	in := func(ms int) time.Time { return at.Add(time.Duration(ms) * time.Millisecond) }
	var s sooner
	for _, due := range []int{900, 60, 1500, 60} {
		s.note(in(due))
	}
	s.note(time.Time{}) // nothing was put off
	for _, step := range []struct{ now, rest int }{
		{0, 60}, {1, 59}, {20, 40}, // poked twice
		{60, 1}, {61, 839}, {500, 400}, {905, 1}, {906, 594}, {1600, 1}, {1601, 1000},
	} {
		if got := s.take(in(step.now), time.Second); got != time.Duration(step.rest)*time.Millisecond {
			t.Errorf("at %d ms: it rests %v, not %d ms", step.now, got, step.rest)
		}
	}
}

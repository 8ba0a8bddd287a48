package agent

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Trials bound how often effects are looked at for one asker: a preview is work of the
// service behind the tool, and nobody has countersigned that.
type Trials struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[string]*rate.Limiter
}

// How often effects are looked at for one asker: at once, and so many more each minute.
const (
	trialsAtOnce    = 30
	trialsPerMinute = 30
)

// NewTrials makes a bound for one process.
func NewTrials(now func() time.Time) *Trials {
	return &Trials{now: now, of: map[string]*rate.Limiter{}}
}

// allow says whether one more effect may be looked at for an asker, and counts it. Nil
// allows any number.
func (t *Trials) allow(asker string) bool {
	if t == nil {
		return true
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.of[asker]
	if l == nil {
		t.forget(now)
		l = rate.NewLimiter(rate.Every(time.Minute/trialsPerMinute), trialsAtOnce)
		t.of[asker] = l
	}
	return l.AllowN(now, 1)
}

// forget drops the askers who have their whole allowance again.
func (t *Trials) forget(now time.Time) {
	for asker, l := range t.of {
		if l.TokensAt(now) >= trialsAtOnce {
			delete(t.of, asker)
		}
	}
}

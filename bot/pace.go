package bot

import (
	"context"
	"maps"
	"sync"
	"time"
)

// lane is what one limit of Slack is counted by: a method, for posts the channel too.
type lane struct{ method, channel string }

// pacer remembers, beside the rows that all replicas share, what this process knows of
// its lanes, so that what must wait costs no transaction: one call at a time in each,
// and a time of its own for everything that waits there.
type pacer struct {
	mu    sync.Mutex
	lanes map[lane]*traffic
}

type traffic struct {
	busy bool      // a call is under way: its answer may say that nothing may follow
	free time.Time // not before then
	tail time.Time // the last of those who wait is due then
	kept time.Time // until then the lane is kept for something urgent that waits
}

// mostLanes bounds what is remembered. Lanes that are free now are forgotten, which costs
// a transaction each; one with a call under way never is.
const mostLanes = 5000

// enter takes a lane, or says from when on it may be free. What is urgent is due at the
// first such moment, everything else one after another.
func (p *pacer) enter(l lane, now time.Time, gap time.Duration, urgent bool) (at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lanes == nil {
		p.lanes = map[lane]*traffic{}
	}
	if len(p.lanes) > mostLanes {
		maps.DeleteFunc(p.lanes, func(_ lane, t *traffic) bool { return !t.busy && !now.Before(t.free) && !now.Before(t.kept) })
	}
	t := p.lanes[l]
	if t == nil {
		t = &traffic{}
		p.lanes[l] = t
	}
	if !t.busy && !now.Before(t.free) && (urgent || !now.Before(t.kept)) {
		t.busy = true
		if urgent {
			t.kept = time.Time{}
		}
		return time.Time{}
	}
	at = later(t.free, now.Add(min(gap, busyAgain)))
	if urgent {
		t.kept = later(t.kept, at.Add(keepFor))
		return at
	}
	if t.tail = later(at, t.tail.Add(gap)); t.tail.After(at.Add(mostWaits * gap)) {
		t.tail = at // from the front again: places of those who did not come would make the line longer for ever
	}
	return t.tail
}

// keepFor is how long a lane is kept for something urgent after it became free: the
// delivery loop comes by each second.
const keepFor = deliverEvery + 200*time.Millisecond

// mostWaits is over how many slots those who wait are spread. It bounds how long a lane
// may lie idle while somebody waits for it.
const mostWaits = 8

// busyAgain is after how long a lane with a call under way is looked at again.
const busyAgain = 200 * time.Millisecond

// leave gives a lane back; nothing goes through it before an instant.
func (p *pacer) leave(l lane, free time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.lanes[l]; t != nil {
		t.busy, t.free = false, later(t.free, free)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pace takes a slot of a method until leave is called, or says from when on there may
// be one. Nobody sleeps here: what is put off is claimed again then.
func (b *Bot) pace(ctx context.Context, l lane, gap time.Duration, urgent bool) (at time.Time, leave func()) {
	if gap <= 0 {
		return time.Time{}, func() {}
	}
	now := b.Now()
	if at := b.lanes.enter(l, now, gap, urgent); !at.IsZero() {
		return at, nil
	}
	wait, err := b.Outbox.Pace(ctx, l.method, l.channel, now, gap)
	if err == nil && wait > 0 {
		b.lanes.leave(l, now.Add(wait))
		return now.Add(wait), nil
	}
	return time.Time{}, func() { b.lanes.leave(l, now.Add(gap)) } // without the database Slack's own limit stands behind it
}

// isUrgent says that people wait to act on a message.
func isUrgent(d Delivery) bool {
	kind, _, rest, ok := parseSubject(d.Subject)
	return ok && (kind == "approval" && rest[0] == "card" || kind == "run" && rest[0] == "question")
}

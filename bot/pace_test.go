package bot

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"countersign/localslack"
	"countersign/localslack/slacktest"
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

// However many lanes there are, one with a call under way is not forgotten.
func TestBusyLanesAreKept(t *testing.T) {
	t.Parallel()
	var p pacer
	busy, now, gap := lane{"chat.postMessage", "C1"}, time.Unix(1000, 0), time.Second
	p.enter(busy, now, gap, false)
	for i := range mostLanes + 10 {
		l := lane{"chat.postMessage", fmt.Sprintf("U%d", i)}
		p.enter(l, now, gap, false)
		p.leave(l, now)
	}
	if at := p.enter(busy, now, gap, true); at.IsZero() {
		t.Error("two calls at a time")
	}
	if len(p.lanes) > mostLanes {
		t.Errorf("%d lanes are remembered", len(p.lanes))
	}
}

// Two channels are limited at once: the shorter wait, heard last, does not end the longer.
func TestTheLongestRetryAfterHolds(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	edge := NewEdge(slacktest.BotToken, slacktest.AppToken, ws.Server.APIURL(), &http.Client{})
	post := func(channel string) time.Duration {
		_, _, err := edge.API.PostMessageContext(t.Context(), channel, slack.MsgOptionText("x", false))
		var limited *slack.RateLimitedError
		if !errors.As(err, &limited) {
			t.Errorf("no limit: %v", err)
			return 0
		}
		return limited.RetryAfter
	}
	ws.Server.BreakAPI(localslack.APIFault{Method: "chat.postMessage", Times: 1, Delay: time.Second / 2, RetryAfter: time.Second})
	ws.Server.BreakAPI(localslack.APIFault{Method: "chat.postMessage", Times: 1, RetryAfter: time.Minute})
	both := make(chan time.Duration)
	go func() { both <- post("C0OPS") }()
	go func() { both <- post("C0VAULT") }()
	if a, b := <-both, <-both; a != time.Minute || b != time.Second {
		t.Fatalf("told to wait %v, then %v", a, b)
	}
	if left := post("C0OPS"); left < time.Second*50 {
		t.Errorf("after the short wait only %v were left", left)
	}
}

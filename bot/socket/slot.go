package socket

import (
	"context"
	"errors"
	"time"
)

// keep holds one of the connections until ctx ends. Only the first slot starts
// at once: a refused token is then tried once at a time.
func (t *Transport) keep(ctx context.Context, slot int) error {
	if slot > 0 && !t.waitGreeted(ctx, time.Duration(slot)*t.cfg.Timing.Stagger) {
		return nil
	}
	wait := pause{timing: t.cfg.Timing}
	var old *conn
	for first := true; ctx.Err() == nil; {
		c, err := t.connect(ctx, first)
		if err != nil {
			if refused := t.giveUp(err); refused != nil {
				return refused
			}
			t.rest(ctx, slot, err, t.failed(err, wait.next(0, err)))
			continue
		}
		first = false
		t.retire(old)
		old = nil
		lived, err := t.hold(ctx, c)
		if ctx.Err() != nil {
			return nil
		}
		if refreshes(err) {
			old = c
		}
		t.rest(ctx, slot, err, t.failed(err, wait.next(lived, err)))
	}
	return nil
}

// rest waits for d. While no connection is left at all, and every click is lost, the
// first slot does not wait for long; the others do, so that attempts stay few. Pauses
// that Slack asked for, or that follow its refusal, are kept.
func (t *Transport) rest(ctx context.Context, slot int, err error, d time.Duration) {
	var refusal *OpenError
	if slot > 0 || refusesSockets(err) || errors.As(err, &refusal) && (refusal.Code != "" || refusal.RetryAfter > 0) {
		sleep(ctx, d)
		return
	}
	for d > 0 {
		some := min(d, jitter(t.cfg.Timing.Alone))
		if !sleep(ctx, some) || t.Status().Connected == 0 {
			return
		}
		d -= some
	}
}

// waitGreeted waits for the first greeting of any slot, then for d more.
func (t *Transport) waitGreeted(ctx context.Context, d time.Duration) bool {
	select {
	case <-t.greeted:
		return sleep(ctx, d)
	case <-ctx.Done():
		return false
	}
}

// connect asks for a URL, dials it and waits for Slack's greeting.
func (t *Transport) connect(ctx context.Context, first bool) (*conn, error) {
	url, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	t.patience.reset()
	c, err := t.dial(ctx, url)
	if err != nil {
		return nil, err
	}
	hello, err := c.awaitHello(ctx)
	if err != nil {
		c.close()
		return nil, err
	}
	c.ready = time.Now()
	t.ledger.greeted(hello, first)
	t.watchers.Go(func() { t.watchEnd(c) })
	t.once.Do(func() { close(t.greeted) })
	t.cfg.Logger.Info("connected to slack", "connections", hello.connections, "lifetime", hello.lifetime)
	t.warnCrowded(hello.connections)
	return c, nil
}

// open asks for a URL, and shuts the gate for all slots if Slack says so.
func (t *Transport) open(ctx context.Context) (string, error) {
	if !t.gate.wait(ctx) {
		return "", ctx.Err()
	}
	limit, stop := context.WithTimeout(ctx, t.cfg.Timing.Open)
	defer stop()
	t.ledger.record(func(s *Status) { s.Opens++ })
	url, err := t.cfg.Open(limit)
	var refusal *OpenError
	if errors.As(err, &refusal) && refusal.RetryAfter > 0 {
		t.gate.shut(time.Now().Add(refusal.RetryAfter))
	}
	if err == nil && url == "" {
		err = errNoURL
	}
	return url, withoutURL(err)
}

// awaitHello waits for the greeting; a refusal may come in its place. A
// greeting counts even if the end has followed it already.
func (c *conn) awaitHello(ctx context.Context) (frame, error) {
	timer := time.NewTimer(c.t.cfg.Timing.Hello)
	defer timer.Stop()
	var err error
	select {
	case f := <-c.hello:
		return f, nil
	case <-c.leaving:
	case <-c.done:
	case <-timer.C:
		err = errNoHello
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case f := <-c.hello:
		return f, nil
	default:
	}
	if err == nil {
		err = c.ending()
	}
	return frame{}, err
}

// ending says why the connection is over or soon will be. What Slack announced
// goes before what the network reported afterwards.
func (c *conn) ending() error {
	select {
	case <-c.leaving:
		return &disconnectError{c.reason}
	default:
		return c.err
	}
}

// warnCrowded tells of connections beyond any sensible number of replicas:
// Slack routes envelopes to ghosts too, and allows ten.
func (t *Transport) warnCrowded(connections int) {
	const crowded = 8
	if connections >= crowded {
		t.cfg.Logger.Warn("slack counts many connections of this app; another process may use the same token",
			"connections", connections, "allowed", 10)
	}
}

// hold waits until c ends or has to be replaced, and says how long it lived
// and why. A connection that Slack refreshes stays open and is still served.
func (t *Transport) hold(ctx context.Context, c *conn) (time.Duration, error) {
	select {
	case <-c.leaving:
	case <-c.done:
	case <-ctx.Done():
		return 0, nil
	}
	err := c.ending()
	lived := time.Since(c.ready)
	if !refreshes(err) {
		c.close()
	}
	return lived, err
}

// watchEnd counts a greeted connection out when it is over.
func (t *Transport) watchEnd(c *conn) {
	<-c.done
	t.ledger.record(func(s *Status) { s.Connected-- })
}

// refreshes reports whether Slack announced the end of a connection ahead.
func refreshes(err error) bool {
	var bye *disconnectError
	return errors.As(err, &bye) && (bye.reason == reasonWarning || bye.reason == reasonRefresh)
}

// retire closes a replaced connection after the overlap, unless Slack does.
func (t *Transport) retire(old *conn) {
	if old == nil {
		return
	}
	t.watchers.Go(func() {
		timer := time.NewTimer(t.cfg.Timing.Overlap)
		defer timer.Stop()
		select {
		case <-old.done:
		case <-timer.C:
			old.close()
		}
	})
}

// failed notes why a connection is missing and returns the wait.
func (t *Transport) failed(err error, wait time.Duration) time.Duration {
	if errors.Is(err, context.Canceled) {
		return 0
	}
	if refreshes(err) {
		t.cfg.Logger.Info("slack refreshes a connection", "error", err, "next", wait)
		return wait
	}
	t.ledger.record(func(s *Status) { s.LastError = err.Error() })
	t.cfg.Logger.Warn("connection to slack lost", "error", err, "next", wait)
	return wait
}

// giveUp returns an error when Slack refused the token for long enough. One
// refusal can be an accident on Slack's side; as long as another connection
// lives, the token is evidently good.
func (t *Transport) giveUp(err error) error {
	var refusal *OpenError
	if !errors.As(err, &refusal) || authAdvice[refusal.Code] == "" {
		return nil
	}
	attempts, lasting := t.patience.refused(t.cfg.Now())
	if attempts < t.cfg.Timing.AuthAttempts || t.Status().Connected > 0 {
		return nil
	}
	if t.ledger.everGreeted() && lasting < t.cfg.Timing.AuthGrace {
		return nil
	}
	return &AuthError{Code: refusal.Code, Attempts: attempts}
}

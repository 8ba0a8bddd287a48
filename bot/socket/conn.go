package socket

import (
	"context"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Reasons of Slack's disconnect message.
const (
	reasonWarning      = "warning"
	reasonRefresh      = "refresh_requested"
	reasonLinkDisabled = "link_disabled"
	reasonTooMany      = "too_many_websockets"
)

// ack is an acknowledgement on its way out.
type ack struct {
	data     []byte
	id       string
	received time.Time
}

// conn is one WebSocket. Four goroutines serve it: the reader, which also ends
// it, the acknowledgement writer, the pinger, and the watchdog's timer.
type conn struct {
	t        *Transport
	ws       *websocket.Conn
	acks     *queue[ack]
	hello    chan frame
	leaving  chan struct{} // closed by Slack's disconnect message
	leave    sync.Once
	reason   string // set before leaving is closed
	done     chan struct{}
	flushed  chan struct{} // closed when the writer is done
	cancel   context.CancelCauseFunc
	watchdog *time.Timer
	ready    time.Time // zero until greeted; set by the slot alone
	err      error     // set before done is closed
}

// dial opens the WebSocket and starts serving it. ctx bounds the dial only.
func (t *Transport) dial(ctx context.Context, url string) (*conn, error) {
	c := &conn{
		t: t, acks: newQueue[ack](),
		hello: make(chan frame, 1), leaving: make(chan struct{}),
		done: make(chan struct{}), flushed: make(chan struct{}),
	}
	ctx, stop := context.WithTimeout(ctx, t.cfg.Timing.Hello)
	defer stop()
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c.cancel = cancel
	c.watchdog = time.AfterFunc(t.cfg.Timing.Dead, func() { cancel(errDead) })
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{ //nolint:bodyclose // the library closes it, or replaces it by one that needs no closing
		HTTPClient:     t.cfg.HTTPClient,
		OnPingReceived: func(context.Context, []byte) bool { c.pinged(); return true },
	})
	if err != nil {
		c.watchdog.Stop()
		cancel(err)
		return nil, withoutURL(err)
	}
	ws.SetReadLimit(t.cfg.MaxMessage)
	c.ws = ws
	c.pinged()
	t.add(c)
	go c.read(life)
	go c.write(life)
	go c.ping(life)
	return c, nil
}

// pinged notes a ping, the only sign that Slack still holds the connection: envelopes may
// come from where no acknowledgement is heard any more.
func (c *conn) pinged() {
	c.watchdog.Reset(c.t.cfg.Timing.Dead)
	c.alive()
}

// alive notes a frame that Slack sent on its own.
func (c *conn) alive() {
	now := c.t.cfg.Now()
	c.t.ledger.record(func(s *Status) { s.LastFrame = now })
}

// read receives until the connection ends, and cleans up. It only parses and
// queues: while it waits for somebody else, no ping is answered.
func (c *conn) read(ctx context.Context) {
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			c.err = err
			if ctx.Err() != nil {
				c.err = context.Cause(ctx)
			}
			break
		}
		c.alive()
		c.receive(data)
	}
	c.watchdog.Stop()
	c.cancel(c.err)
	c.acks.close()
	c.t.remove(c)
	close(c.done)
	_ = c.ws.CloseNow() // may wait for a Close that waits for the peer
}

// receive sorts one message.
func (c *conn) receive(data []byte) {
	f, err := parseFrame(data)
	switch {
	case err != nil:
		c.malformed(salvageID(data))
	case f.Type == "hello":
		select {
		case c.hello <- f:
		default:
		}
	case f.Type == "disconnect":
		c.leave.Do(func() {
			c.reason = f.reason
			close(c.leaving)
		})
	case f.ID == "":
		c.malformed("")
	case f.Type == TypeEvent || f.Type == TypeInteraction || f.Type == TypeCommand:
		f.Received = c.t.cfg.Now()
		c.t.take(c, f.Envelope)
	default:
		c.t.ledger.record(func(s *Status) { s.Unknown++ })
		c.t.cfg.Logger.Warn("envelope of unknown type acknowledged and dropped", "type", clip(f.Type))
		c.ackEmpty(f.ID)
	}
}

// malformed acknowledges what nobody will ever understand: left alone, Slack
// repeats it three times and counts it against the app.
func (c *conn) malformed(id string) {
	c.t.ledger.record(func(s *Status) { s.Malformed++ })
	c.t.cfg.Logger.Warn("message that is no envelope dropped", "envelope", clip(id))
	if id != "" {
		c.ackEmpty(id)
	}
}

func (c *conn) ackEmpty(id string) {
	e := Envelope{ID: id, Received: c.t.cfg.Now()}
	c.ack(e, c.t.encode(e, nil))
}

// ack queues an acknowledgement; false means that the connection is over.
func (c *conn) ack(e Envelope, data []byte) bool {
	return c.acks.push(ack{data: data, id: e.ID, received: e.Received}, false)
}

// write sends acknowledgements, each in one frame, until the queue is closed.
func (c *conn) write(ctx context.Context) {
	defer close(c.flushed)
	for {
		a, ok := c.acks.pop()
		if !ok {
			return
		}
		if err := c.writeOne(ctx, a); err != nil {
			c.t.ledger.record(func(s *Status) { s.Lost++ })
			c.cancel(errAckFailed)
			continue
		}
		c.t.ledger.acked(c.t.cfg.Now().Sub(a.received))
	}
}

func (c *conn) writeOne(ctx context.Context, a ack) error {
	ctx, stop := context.WithTimeout(ctx, c.t.cfg.Timing.Write)
	defer stop()
	return c.ws.Write(ctx, websocket.MessageText, a.data)
}

// ping asks the peer for a sign of life at every interval.
func (c *conn) ping(ctx context.Context) {
	for sleep(ctx, c.t.cfg.Timing.Ping) {
		limit, stop := context.WithTimeout(ctx, c.t.cfg.Timing.Ping)
		err := c.ws.Ping(limit)
		stop()
		if err != nil && ctx.Err() == nil {
			c.cancel(errNoPong)
			return
		}
	}
}

// close flushes acknowledgements, exchanges Close frames and waits for the
// reader; a peer that does not answer is cut off.
func (c *conn) close() {
	c.acks.close()
	timer := time.AfterFunc(c.t.cfg.Timing.Write, func() { c.cancel(errStopped) })
	<-c.flushed
	timer.Stop()
	timer = time.AfterFunc(c.t.cfg.Timing.Close, func() { c.cancel(errStopped) })
	defer timer.Stop()
	// The library waits five seconds for the peer's Close frame, whatever our
	// context says, if it takes the connection between two of our reads.
	go func() { _ = c.ws.Close(websocket.StatusNormalClosure, "") }()
	<-c.done
}

package socket

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
)

// job is an envelope and the connection that wants its acknowledgement.
type job struct {
	from     *conn
	envelope Envelope
}

// take queues an envelope. Clicks and commands go first: Slack never sends
// them again, and a person waits. While the transport stops, nothing is taken:
// events come again, to another replica or after the start.
func (t *Transport) take(from *conn, e Envelope) {
	taken := t.jobs.push(job{from, e}, e.Type != TypeEvent)
	t.ledger.record(func(s *Status) {
		s.Received++
		if !taken {
			s.Withheld++
		}
	})
}

func (t *Transport) startWorkers(ctx context.Context) *sync.WaitGroup {
	var workers sync.WaitGroup
	for range t.cfg.Workers {
		workers.Go(func() {
			for {
				j, ok := t.jobs.pop()
				if !ok || ctx.Err() != nil {
					return
				}
				t.answer(j, t.handle(ctx, j.envelope))
			}
		})
	}
	return &workers
}

// handle runs the handler. One payload that makes it panic must not take the
// other conversations down; unacknowledged, it stays visible in Slack.
func (t *Transport) handle(ctx context.Context, e Envelope) (r Response) {
	defer func() {
		if cause := recover(); cause != nil {
			t.ledger.record(func(s *Status) { s.Panics++ })
			t.cfg.Logger.Error("handler panicked", "envelope", e.ID, "type", e.Type, "panic", cause, "stack", string(debug.Stack()))
			r = Response{}
		}
	}()
	return t.cfg.Handle(ctx, e)
}

// answer queues the acknowledgement on the connection that delivered the
// envelope: Slack does not promise to take it from another one.
func (t *Transport) answer(j job, r Response) {
	if !r.Ack {
		t.ledger.record(func(s *Status) { s.Withheld++ })
		return
	}
	if !j.from.ack(j.envelope, t.encode(j.envelope, r.Payload)) {
		t.ledger.record(func(s *Status) { s.Lost++ })
		t.cfg.Logger.Warn("acknowledgement lost with its connection", "envelope", j.envelope.ID, "type", j.envelope.Type)
	}
}

// encode builds the frame. A payload that Slack would ignore is dropped with a
// loud log entry, because an acknowledgement with nothing is better than none:
// the change is already committed.
func (t *Transport) encode(e Envelope, payload any) []byte {
	if !e.AcceptsResponse {
		payload = nil
	}
	data, err := ackFrame(e.ID, payload)
	if err == nil && len(data) < MaxFrame {
		return data
	}
	t.ledger.record(func(s *Status) { s.Oversize++ })
	t.cfg.Logger.Error("response payload dropped", slog.String("envelope", e.ID), slog.Int("bytes", len(data)), slog.Any("error", err))
	data, _ = ackFrame(e.ID, nil)
	return data
}

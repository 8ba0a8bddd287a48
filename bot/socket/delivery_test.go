package socket_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/bot/socket"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
)

func TestEnvelopeReachesHandlerAndIsAcknowledged(t *testing.T) {
	t.Parallel()
	received := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, frame string
		response    socket.Response
		want        socket.Envelope
		ack         string
	}{
		{
			name:     "event that comes again",
			frame:    `{"type":"events_api","envelope_id":"E1","payload":{"a":1},"accepts_response_payload":false,"retry_attempt":2,"retry_reason":"timeout","new_key":[]}`,
			response: socket.Response{Ack: true},
			want:     socket.Envelope{ID: "E1", Type: "events_api", Payload: []byte(`{"a":1}`), RetryAttempt: 2, RetryReason: "timeout", Received: received},
			ack:      `{"envelope_id":"E1"}`,
		},
		{
			name:     "submission with field errors",
			frame:    `{"type":"interactive","envelope_id":"E2","payload":{},"accepts_response_payload":true}`,
			response: socket.Response{Ack: true, Payload: map[string]any{"response_action": "errors", "errors": map[string]string{"arg:id": "a < b & c"}}},
			want:     socket.Envelope{ID: "E2", Type: "interactive", Payload: []byte(`{}`), AcceptsResponse: true, Received: received},
			ack:      `{"envelope_id":"E2","payload":{"errors":{"arg:id":"a < b & c"},"response_action":"errors"}}`,
		},
		{
			name:     "payload where none is accepted",
			frame:    `{"type":"events_api","envelope_id":"E3","payload":{}}`,
			response: socket.Response{Ack: true, Payload: "x"},
			want:     socket.Envelope{ID: "E3", Type: "events_api", Payload: []byte(`{}`), Received: received},
			ack:      `{"envelope_id":"E3"}`,
		},
		{
			name:     "fields of unexpected types",
			frame:    `{"type":"slash_commands","envelope_id":"E4","payload":"odd","retry_attempt":"1","accepts_response_payload":"yes"}`,
			response: socket.Response{Ack: true},
			want:     socket.Envelope{ID: "E4", Type: "slash_commands", Payload: []byte(`"odd"`), Received: received},
			ack:      `{"envelope_id":"E4"}`,
		},
		{
			name:     "payload missing",
			frame:    `{"type":"events_api","envelope_id":"E5"}`,
			response: socket.Response{Ack: true},
			want:     socket.Envelope{ID: "E5", Type: "events_api", Received: received},
			ack:      `{"envelope_id":"E5"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, acks := make(chan socket.Envelope, 1), make(chan string, 1)
			s := newServer(t, func(p *peer) {
				p.hello()
				p.send(tt.frame)
				acks <- p.next()
				p.linger()
			})
			start(t, s, socket.Config{
				Now: func() time.Time { return received },
				Handle: func(_ context.Context, e socket.Envelope) socket.Response {
					got <- e
					return tt.response
				},
			})
			if diff := cmp.Diff(tt.want, receive(t, "envelope", got)); diff != "" {
				t.Errorf("envelope (-want +got):\n%s", diff)
			}
			if ack := receive(t, "ack", acks); ack != tt.ack {
				t.Errorf("ack %s, want %s", ack, tt.ack)
			}
		})
	}
}

// Slack row P6.
func TestWhatNobodyUnderstandsIsAcknowledged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, frame, ack   string
		unknown, malformed int64
	}{
		{name: "new type", frame: `{"type":"dreams","envelope_id":"X1","payload":{}}`, ack: "X1", unknown: 1},
		{name: "no type", frame: `{"envelope_id":"X2"}`, ack: "X2", unknown: 1},
		{name: "truncated after the id", frame: `{"envelope_id":"X3","type":"events_api","payload":{"a":`, ack: "X3", malformed: 1},
		{name: "truncated before the id", frame: `{"type":"events_api","payl`, malformed: 1},
		{name: "id of the payload", frame: `{"payload":{"envelope_id":"no"},"x"`, malformed: 1},
		{name: "empty frame", frame: ``, malformed: 1},
		{name: "not an object", frame: `["events_api"]`, malformed: 1},
		{name: "id missing", frame: `{"type":"events_api","payload":{}}`, malformed: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			acks := make(chan string, 2)
			s := newServer(t, func(p *peer) {
				p.hello()
				p.send(tt.frame)
				p.click("after")
				if tt.ack != "" {
					acks <- p.ackID()
				}
				acks <- p.ackID()
				p.linger()
			})
			b := start(t, s, socket.Config{Handle: func(_ context.Context, e socket.Envelope) socket.Response {
				if e.ID != "after" {
					t.Errorf("handler got %q", e.ID)
				}
				return socket.Response{Ack: true}
			}})
			got := receive(t, "ack", acks)
			if tt.ack != "" {
				got += " " + receive(t, "second ack", acks)
			}
			if want := strings.TrimSpace(tt.ack + " after"); got != want {
				t.Errorf("acked %q, want %q", got, want)
			}
			if st := b.Status(); st.Unknown != tt.unknown || st.Malformed != tt.malformed {
				t.Errorf("unknown %d, malformed %d; want %d, %d", st.Unknown, st.Malformed, tt.unknown, tt.malformed)
			}
		})
	}
}

func TestNoAcknowledgement(t *testing.T) {
	t.Parallel()
	acks := make(chan string, 1)
	s := newServer(t, func(p *peer) {
		p.hello()
		p.click("withheld")
		p.click("panics")
		p.click("fine")
		acks <- p.ackID()
		p.linger()
	})
	b := start(t, s, socket.Config{Workers: 1, Handle: func(_ context.Context, e socket.Envelope) socket.Response {
		if e.ID == "panics" {
			panic("boom")
		}
		return socket.Response{Ack: e.ID == "fine"}
	}})
	if got := receive(t, "ack", acks); got != "fine" {
		t.Errorf("first ack is for %q", got)
	}
	if st := b.Status(); st.Withheld != 2 || st.Panics != 1 {
		t.Errorf("withheld %d, panics %d", st.Withheld, st.Panics)
	}
}

func TestPayloadThatSlackWouldIgnoreIsDropped(t *testing.T) {
	t.Parallel()
	overhead := len(`{"envelope_id":"E","payload":""}`)
	tests := []struct {
		name     string
		payload  any
		oversize int64
		bytes    int
	}{
		{"largest that fits", strings.Repeat("x", socket.MaxFrame-1-overhead), 0, socket.MaxFrame - 1},
		{"one byte too many", strings.Repeat("x", socket.MaxFrame-overhead), 1, len(`{"envelope_id":"E"}`)},
		{"cannot be marshalled", func() {}, 1, len(`{"envelope_id":"E"}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			acks := make(chan string, 1)
			s := newServer(t, func(p *peer) {
				p.ws.SetReadLimit(1 << 20)
				p.hello()
				p.click("E")
				acks <- p.next()
				p.linger()
			})
			b := start(t, s, socket.Config{Handle: func(context.Context, socket.Envelope) socket.Response {
				return socket.Response{Ack: true, Payload: tt.payload}
			}})
			if got := receive(t, "ack", acks); len(got) != tt.bytes {
				t.Errorf("ack of %d bytes, want %d", len(got), tt.bytes)
			}
			if st := b.Status(); st.Oversize != tt.oversize {
				t.Errorf("oversize %d, want %d", st.Oversize, tt.oversize)
			}
		})
	}
}

func TestSlowHandlersDoNotBlockTheReader(t *testing.T) {
	t.Parallel()
	const burst = 200
	release, clicked := make(chan struct{}), make(chan string, 1)
	pinged, acked := make(chan error, 1), make(chan int, 1)
	s := newServer(t, func(p *peer) {
		p.hello()
		for i := range burst {
			p.event(fmt.Sprint("e", i))
		}
		p.click("click")
		ctx, stop := context.WithTimeout(context.Background(), patient)
		defer stop()
		go func() { pinged <- p.ws.Ping(ctx) }()
		seen := map[string]bool{}
		for len(seen) < burst+1 {
			id := p.ackID()
			if id == "" {
				break
			}
			seen[id] = true
		}
		acked <- len(seen)
	})
	var first atomic.Bool
	b := start(t, s, socket.Config{Workers: 2, Handle: func(_ context.Context, e socket.Envelope) socket.Response {
		<-release
		if e.Type == socket.TypeInteraction || first.CompareAndSwap(false, true) {
			select {
			case clicked <- e.ID:
			default:
			}
		}
		return socket.Response{Ack: true}
	}})
	if err := receive(t, "pong", pinged); err != nil {
		t.Fatalf("ping while every handler waits: %v", err)
	}
	eventually(t, "all queued", func() bool { return b.Status().Queued == burst+1-2 })
	if b.Status().QueuedFor <= 0 {
		t.Error("the wait of the first in the queue is not reported")
	}
	close(release)
	if n := receive(t, "acks", acked); n != burst+1 {
		t.Errorf("%d acknowledged, want %d", n, burst+1)
	}
	eventually(t, "counted", func() bool { return b.Status().Acked == burst+1 })
}

func TestClicksOvertakeEvents(t *testing.T) {
	t.Parallel()
	busy, release, order := make(chan struct{}, 4), make(chan struct{}), make(chan string, 4)
	s := newServer(t, func(p *peer) {
		p.hello()
		p.event("e1")
		<-busy
		p.event("e2")
		p.event("e3")
		p.click("click")
		p.linger()
	})
	b := start(t, s, socket.Config{Workers: 1, Handle: func(_ context.Context, e socket.Envelope) socket.Response {
		busy <- struct{}{}
		<-release
		order <- e.ID
		return socket.Response{Ack: true}
	}})
	eventually(t, "three queued", func() bool { return b.Status().Queued == 3 })
	close(release)
	var got []string
	for range 4 {
		got = append(got, receive(t, "envelope", order))
	}
	if diff := cmp.Diff([]string{"e1", "click", "e2", "e3"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestFragmentsAndBinaryFramesAreRead(t *testing.T) {
	t.Parallel()
	acks := make(chan string, 2)
	s := newServer(t, func(p *peer) {
		p.hello()
		w, err := p.ws.Writer(context.Background(), websocket.MessageText)
		if err != nil {
			return
		}
		for _, part := range []string{`{"type":"events_api",`, `"envelope_id":"parts"`, `,"payload":{}}`} {
			_, _ = w.Write([]byte(part))
		}
		_ = w.Close()
		acks <- p.ackID()
		_ = p.ws.Write(context.Background(), websocket.MessageBinary, []byte(`{"type":"events_api","envelope_id":"bytes","payload":{}}`))
		acks <- p.ackID()
		p.linger()
	})
	start(t, s, socket.Config{})
	if a, b := receive(t, "ack", acks), receive(t, "ack", acks); a != "parts" || b != "bytes" {
		t.Errorf("acked %q, %q", a, b)
	}
}

func TestAcknowledgementGoesWhereTheEnvelopeCameFrom(t *testing.T) {
	t.Parallel()
	acks := make(chan string, 2)
	s := newServer(t, func(p *peer) {
		p.hello()
		id := fmt.Sprint("for-", p.number)
		p.event(id)
		if got := p.ackID(); got != id {
			t.Errorf("connection %d got the ack of %q", p.number, got)
		}
		acks <- id
		p.linger()
	})
	b := start(t, s, socket.Config{Connections: 2})
	receive(t, "ack", acks)
	receive(t, "ack of the other connection", acks)
	eventually(t, "two connections", func() bool { return b.Status().Connected == 2 })
}

func TestAcknowledgementDiesWithItsConnection(t *testing.T) {
	t.Parallel()
	handling, release := make(chan struct{}), make(chan struct{})
	second := make(chan string, 1)
	s := newServer(t, func(p *peer) {
		p.hello()
		if p.number == 1 {
			p.event("lost")
			<-handling
			return // the connection breaks while the handler works
		}
		p.event("again")
		second <- p.ackID()
		p.linger()
	})
	b := start(t, s, socket.Config{Handle: func(_ context.Context, e socket.Envelope) socket.Response {
		if e.ID == "lost" {
			close(handling)
			<-release
		}
		return socket.Response{Ack: true}
	}})
	if got := receive(t, "ack", second); got != "again" {
		t.Errorf("second connection got the ack of %q", got)
	}
	close(release)
	eventually(t, "loss counted", func() bool { return b.Status().Lost == 1 })
}

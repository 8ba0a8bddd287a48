package localslack

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// ackFrame is one message from the app.
type ackFrame struct {
	text       bool
	data       []byte
	fragmented bool
}

// acked takes one frame of the app as Slack does: what is too big, in pieces,
// late or from another connection does not count.
func (k *socket) acked(c *conn, f ackFrame) {
	if len(f.data) >= maxAck || f.fragmented {
		k.s.violate(ViolationAckSize, fmt.Sprintf("%d bytes, fragmented %v", len(f.data), f.fragmented))
		return
	}
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	if !f.text || json.Unmarshal(f.data, &ack) != nil || ack.EnvelopeID == "" {
		k.s.violate(ViolationAckForm, fmt.Sprintf("%d bytes", len(f.data)))
		return
	}
	k.mu.Lock()
	fl, ok := k.flights[ack.EnvelopeID]
	late := k.late[ack.EnvelopeID]
	if ok && fl.conn == c {
		delete(k.flights, ack.EnvelopeID)
		k.busy++
		fl.timer.Stop()
	}
	k.mu.Unlock()
	switch {
	case late:
		k.s.violate(ViolationAckLate, ack.EnvelopeID)
	case !ok || fl.conn != c:
		k.s.violate(ViolationAckUnknown, ack.EnvelopeID)
	default:
		k.settle(fl, ack.Payload)
	}
}

func (k *socket) settle(fl *flight, payload json.RawMessage) {
	k.s.records.settle(fl.record, DeliveryAcked, k.s.wall().Sub(fl.sent))
	k.forget(fl.env)
	k.free()
	empty := len(payload) == 0 || string(payload) == "{}" || string(payload) == "null" || string(payload) == `""`
	if !empty && !fl.env.accepts {
		k.s.violate(ViolationPayload, fl.env.inner)
	}
	if fl.env.done != nil {
		if empty || !fl.env.accepts {
			payload = nil
		}
		fl.env.done(ackResult{acked: true, payload: payload})
	}
}

// newUUID makes a random (version 4) UUID.
func newUUID() string {
	b := make([]byte, 16)
	rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// watchedWriter hands the upgrader a connection whose frames are watched,
// since the library hides how a message was cut into frames.
type watchedWriter struct {
	http.ResponseWriter
	watch *frameWatch
}

// Hijack implements http.Hijacker.
func (w *watchedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, _, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	watched := &watchedConn{Conn: c, watch: w.watch}
	return watched, bufio.NewReadWriter(bufio.NewReader(watched), bufio.NewWriter(watched)), nil
}

type watchedConn struct {
	net.Conn
	watch *frameWatch
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.watch.see(p[:n])
	return n, err
}

// frameWatch follows the frame headers of a client's bytes and remembers for
// each data message whether it came in one frame.
type frameWatch struct {
	mu     sync.Mutex
	header []byte
	skip   uint64 // payload bytes still to pass
	pieces int    // frames of the current message so far
	done   []bool // per finished message: was it fragmented?
}

func (w *frameWatch) see(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p) > 0 {
		if w.skip > 0 {
			n := min(w.skip, uint64(len(p)))
			w.skip -= n
			p = p[n:]
			continue
		}
		w.header = append(w.header, p[0])
		p = p[1:]
		if size, ok := headerSize(w.header); ok && len(w.header) == size {
			w.frame()
		}
	}
}

// headerSize is the length of a frame header once its first two bytes are known.
func headerSize(h []byte) (int, bool) {
	if len(h) < 2 {
		return 0, false
	}
	size := 2
	switch h[1] & 0x7f {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if h[1]&0x80 != 0 {
		size += 4
	}
	return size, true
}

func (w *frameWatch) frame() {
	h := w.header
	w.skip = uint64(h[1] & 0x7f)
	extra := 0
	switch w.skip {
	case 126:
		extra = 2
	case 127:
		extra = 8
	}
	if extra > 0 {
		w.skip = 0
		for _, b := range h[2 : 2+extra] {
			w.skip = w.skip<<8 | uint64(b)
		}
	}
	w.header = nil
	if h[0]&0x08 != 0 {
		return // control frames stand between the pieces
	}
	w.pieces++
	if h[0]&0x80 != 0 {
		w.done = append(w.done, w.pieces > 1)
		w.pieces = 0
	}
}

// next tells whether the next unread message came in pieces.
func (w *frameWatch) next() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.done) == 0 {
		return false
	}
	f := w.done[0]
	w.done = w.done[1:]
	return f
}

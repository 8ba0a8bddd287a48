package localslack

import (
	"slices"
	"time"

	"github.com/gorilla/websocket"
)

// Connections is how many sockets are open, ghosts included.
func (s *Server) Connections() int { return len(s.socket.all()) }

// Disconnect announces the end of every connection for a reason of Slack's
// (warning, refresh_requested, link_disabled, too_many_websockets) and closes
// them after Timing.Warning. With link_disabled no new one can be opened until
// EnableLink.
func (s *Server) Disconnect(reason string) {
	wait := s.cfg.Timing.Warning
	if reason == "link_disabled" || reason == "too_many_websockets" {
		wait = 0
	}
	if reason == "link_disabled" {
		s.RefuseOpen("link_disabled")
	}
	for _, c := range s.socket.all() {
		c.disconnect(reason, wait)
	}
}

// RefuseOpen makes apps.connections.open answer this error.
func (s *Server) RefuseOpen(code string) {
	s.socket.mu.Lock()
	defer s.socket.mu.Unlock()
	s.socket.refused = code
}

// EnableLink lets connections be opened again.
func (s *Server) EnableLink() { s.RefuseOpen("") }

// CloseConnections closes every connection with a close code; 1006 drops TCP
// without a word.
func (s *Server) CloseConnections(code int) {
	for _, c := range s.socket.all() {
		if code == websocket.CloseAbnormalClosure {
			c.close()
			continue
		}
		c.enqueue(outFrame{kind: websocket.CloseMessage, data: websocket.FormatCloseMessage(code, ""), then: c.close})
	}
}

// HalfOpen makes the open connections ghosts: TCP stays, envelopes are still
// routed there, but no ping is sent and no ack is heard.
func (s *Server) HalfOpen() {
	for _, c := range s.socket.all() {
		c.mu.Lock()
		c.noPings = true
		c.mu.Unlock()
	}
}

// BlackHole is HalfOpen where nothing is written any more either.
func (s *Server) BlackHole() {
	for _, c := range s.socket.all() {
		c.mu.Lock()
		c.blackHole = true
		c.mu.Unlock()
	}
}

// SendText writes any text frame to one connection: an unknown envelope, cut
// JSON, an empty frame.
func (s *Server) SendText(text string) {
	if all := s.socket.all(); len(all) > 0 {
		all[0].write([]byte(text))
	}
}

// SendBinary writes a binary frame to one connection.
func (s *Server) SendBinary(data []byte) {
	if all := s.socket.all(); len(all) > 0 {
		all[0].enqueue(outFrame{kind: websocket.BinaryMessage, data: data})
	}
}

// CutFrame begins a text frame of 100 bytes on every connection and drops TCP
// after a few.
func (s *Server) CutFrame() {
	for _, c := range s.socket.all() {
		c.enqueue(outFrame{data: append([]byte{0x81, 100}, `{"envelope_id":`...), then: c.close})
	}
}

// SendUnknown sends an envelope of a type that nobody knows and waits for its
// ack as for an event.
func (s *Server) SendUnknown(kind string, payload any) {
	s.socket.send(envelope{kind: kind, inner: kind, payload: marshal(payload)})
}

// Waiting is how many deliveries wait for their ack or their next try.
func (s *Server) Waiting() int {
	s.socket.mu.Lock()
	defer s.socket.mu.Unlock()
	return len(s.socket.flights) + s.socket.busy + len(s.socket.held)
}

// Lost lists events that were given up: no try was acked.
func (s *Server) Lost() []string {
	acked, tries := map[string]bool{}, map[string]int{}
	var order []string
	for _, d := range s.Deliveries() {
		if d.EventID == "" {
			continue
		}
		if tries[d.EventID] == 0 {
			order = append(order, d.EventID)
		}
		tries[d.EventID]++
		acked[d.EventID] = acked[d.EventID] || d.Result == DeliveryAcked
	}
	return slices.DeleteFunc(order, func(id string) bool { return acked[id] || tries[id] <= len(s.cfg.Timing.Retries) })
}

// AckTimes are the latencies of all acks so far, shortest first.
func (s *Server) AckTimes() []time.Duration {
	var out []time.Duration
	for _, d := range s.Deliveries() {
		if d.Result == DeliveryAcked {
			out = append(out, d.Latency)
		}
	}
	slices.Sort(out)
	return out
}

package localslack

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// caller is who makes a call: a connection, and since when the call is there.
type caller struct {
	conn string // the client's address
	at   time.Time
}

// heard remembers which connections carried a 429, since only who heard one can obey it.
// A client that gives a call up closes its connection, and may have heard nothing; a call
// that was sent before the answer to another came could not know.
type heard struct {
	mu    sync.Mutex
	limit map[string]map[string]time.Time // by limit and connection
}

// answerTravels is how long a call on another connection may have been under way when a
// 429 went out.
const answerTravels = time.Second

// note keeps that a connection was told to wait; the first one of a wait forgets whom
// earlier waits were told.
func (h *heard) note(key string, c caller, now time.Time, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limit == nil {
		h.limit = map[string]map[string]time.Time{}
	}
	if first || h.limit[key] == nil {
		h.limit[key] = map[string]time.Time{}
	}
	if _, again := h.limit[key][c.conn]; !again {
		h.limit[key][c.conn] = now
	}
}

// by says whether a caller knew that it had to wait.
func (h *heard) by(key string, c caller) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for conn, told := range h.limit[key] {
		if conn == c.conn || c.at.Sub(told) > answerTravels {
			return true
		}
	}
	return false
}

// forget is for http.Server.ConnState.
func (h *heard) forget(c net.Conn, state http.ConnState) {
	if state != http.StateClosed {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, told := range h.limit {
		delete(told, c.RemoteAddr().String())
	}
}

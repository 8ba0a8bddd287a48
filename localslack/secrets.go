package localslack

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// maxResponses is how often a response_url may be used.
const maxResponses = 5

// trigger lets the app open one modal for one person.
type trigger struct {
	user string
	at   time.Time
	used bool
}

// responseURL lets the app answer an interaction for a while.
type responseURL struct {
	user      string
	channel   string
	ts        string // the message that was acted on; empty for commands
	thread    string
	ephemeral bool
	at        time.Time
	uses      int
}

// handles are the short-lived secrets given out with interactions. They do not
// survive a restart.
type handles struct {
	mu        sync.Mutex
	count     int
	triggers  map[string]*trigger
	responses map[string]*responseURL
	tickets   map[string]time.Time
	uploads   map[string]*File
}

func newHandles() *handles {
	return &handles{
		triggers: map[string]*trigger{}, responses: map[string]*responseURL{}, tickets: map[string]time.Time{}, uploads: map[string]*File{},
	}
}

// secret is a random text: who does not get it cannot guess it.
func secret() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func (s *Server) newTrigger(user string) string {
	h := s.handles
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	id := fmt.Sprintf("%d.%d.%s", h.count, s.cfg.Now().Unix(), secret())
	h.triggers[id] = &trigger{user: user, at: s.cfg.Now()}
	return id
}

// spendTrigger gives the person whose interaction the trigger is from.
func (s *Server) spendTrigger(id string) (string, error) {
	h := s.handles
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.triggers[id]
	var code string
	switch {
	case !ok:
		return "", refuse("invalid_trigger_id")
	case t.used:
		code = "exchanged_trigger_id"
	case s.cfg.Now().Sub(t.at) > s.cfg.Timing.Trigger:
		code = "expired_trigger_id"
	default:
		t.used = true
		return t.user, nil
	}
	s.violate(ViolationTrigger, code)
	return "", refuse(code)
}

// newResponseURL gives out the address for answers to one interaction.
func (s *Server) newResponseURL(r responseURL) string {
	key := secret()
	r.at = s.cfg.Now()
	s.handles.mu.Lock()
	s.handles.responses[key] = &r
	s.handles.mu.Unlock()
	return s.base + "/hooks/actions/" + s.ws.team.ID + "/" + key
}

// spendResponse counts one use; the error is the text of Slack's 404.
func (s *Server) spendResponse(key string) (responseURL, error) {
	h := s.handles
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.responses[key]
	var code string
	switch {
	case !ok:
		return responseURL{}, refuse("no_such_url")
	case s.cfg.Now().Sub(r.at) > s.cfg.Timing.ResponseURL:
		code = "expired_url"
	case r.uses >= maxResponses:
		code = "used_url"
	default:
		r.uses++
		return *r, nil
	}
	s.violate(ViolationResponse, code)
	return responseURL{}, refuse(code)
}

func (s *Server) newTicket() string {
	key := secret()
	s.handles.mu.Lock()
	defer s.handles.mu.Unlock()
	s.handles.tickets[key] = s.cfg.Now()
	return key
}

// spendTicket reports whether the ticket is good; it is gone afterwards.
func (s *Server) spendTicket(key string) bool {
	s.handles.mu.Lock()
	defer s.handles.mu.Unlock()
	at, ok := s.handles.tickets[key]
	delete(s.handles.tickets, key)
	return ok && s.cfg.Now().Sub(at) <= s.cfg.Timing.Ticket
}

package localslack

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// APIFault breaks calls of a method on purpose.
type APIFault struct {
	Method     string        // empty: every method
	Times      int           // how many calls it breaks; 0: all until cleared
	Skip       int           // calls that pass first
	Delay      time.Duration // before anything else
	Error      string        // answers ok:false with this code
	Status     int           // HTTP status with an HTML body (500, 404 …); 429 with RetryAfter
	RetryAfter time.Duration // answers 429
	Cut        bool          // closes the connection without an answer; a RetryAfter holds, but nobody heard it
	Hang       bool          // never answers; until the client gives up
	AfterStore bool          // the call takes effect, only its answer is lost or replaced
}

func (f APIFault) breaks() bool {
	return f.Error != "" || f.Status != 0 || f.RetryAfter != 0 || f.Cut || f.Hang
}

// DeliveryFault changes how envelopes reach the app.
type DeliveryFault struct {
	Type      string        // envelope type or inner type (app_mention, block_actions …); empty: all
	Times     int           // how many envelopes; 0: all until cleared
	Drop      bool          // never sent, as into a dead socket: the ack clock runs
	Delay     time.Duration // sent later; the ack clock starts then
	Copies    []Copy        // sent again
	HoldUntil string        // sent right after the next event of this inner type: swaps their order
}

// Copy is one more delivery of an envelope, by default with the same event_id
// in a new envelope and without a retry mark.
type Copy struct {
	After        time.Duration // after the first
	Attempt      int           // what its retry mark says
	NewEventID   bool          // under an event_id of its own
	SameEnvelope bool          // under the envelope_id of the first
}

// faults holds what is broken at the moment.
type faults struct {
	mu       sync.Mutex
	apis     []*APIFault
	delivery []*DeliveryFault
	token    string
	botToken string // "": as configured
	appToken string
	scopes   []string
	events   []string // nil: as configured
	skew     time.Duration
}

// BreakAPI adds a fault; the first that matches a call is played.
func (s *Server) BreakAPI(f APIFault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.apis = append(s.faults.apis, &f)
}

// BreakDelivery adds a fault; the first that matches an envelope is played.
func (s *Server) BreakDelivery(f DeliveryFault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.delivery = append(s.faults.delivery, &f)
}

// BreakToken makes every call fail with the code (invalid_auth,
// account_inactive, token_revoked …); "" mends it.
func (s *Server) BreakToken(code string) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.token = code
}

// ReplaceTokens makes two other tokens those of the app; the old ones are refused
// from now on. Connections that are open stay.
func (s *Server) ReplaceTokens(bot, app string) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.botToken, s.faults.appToken = bot, app
}

// tokens are the app's two tokens as they are now.
func (s *Server) tokens() (bot, app string) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.botToken == "" {
		return s.cfg.BotToken, s.cfg.AppToken
	}
	return s.faults.botToken, s.faults.appToken
}

// SetScopes replaces the bot token's scopes.
func (s *Server) SetScopes(scopes ...string) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.scopes = slices.Clone(scopes)
}

// Subscribe replaces the bot events to which the app is subscribed.
func (s *Server) Subscribe(events ...string) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.events = slices.Concat([]string{}, events)
}

// subscriptions are the app's bot events.
func (s *Server) subscriptions() []string {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.events != nil {
		return s.faults.events
	}
	return s.cfg.App.Events
}

// SkewDate moves the Date header of every answer away from the true time.
func (s *Server) SkewDate(by time.Duration) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.skew = by
}

func (f *faults) dateSkew() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.skew
}

// Mend takes every fault away; scopes stay.
func (s *Server) Mend() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.apis, s.faults.delivery, s.faults.token, s.faults.skew = nil, nil, "", 0
}

func (s *Server) scopes() []string {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return s.faults.scopes
}

func (f *faults) tokenError() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.token
}

// api finds the fault for a call and uses it up.
func (f *faults) api(method string) (APIFault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.apis {
		if x.Method != "" && x.Method != method {
			continue
		}
		if x.Skip > 0 {
			x.Skip--
			continue
		}
		if x.Times == 1 {
			f.apis = slices.Delete(f.apis, i, i+1)
		} else if x.Times > 1 {
			x.Times--
		}
		return *x, true
	}
	return APIFault{}, false
}

func (f *faults) deliver(types ...string) (DeliveryFault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.delivery {
		if x.Type != "" && !slices.Contains(types, x.Type) {
			continue
		}
		if x.Times == 1 {
			f.delivery = slices.Delete(f.delivery, i, i+1)
		} else if x.Times > 1 {
			x.Times--
		}
		return *x, true
	}
	return DeliveryFault{}, false
}

// playFault answers in the way that the fault asks for.
func (s *Server) playFault(ctx context.Context, who caller, method string, f APIFault) answer {
	if now := s.wall(); f.RetryAfter > 0 {
		s.limiter.block(method, f.RetryAfter, now)
		s.heard.note(method, who, now, true)
	}
	switch {
	case f.Hang:
		select {
		case <-ctx.Done():
		case <-s.done:
		}
		return answer{err: "hang"}
	case f.Cut:
		return answer{err: "cut"}
	case f.RetryAfter > 0:
		out := failed(refuse("ratelimited"))
		out.status, out.retryAfter = http.StatusTooManyRequests, f.RetryAfter
		return out
	case f.Status != 0:
		return answer{status: f.Status, raw: "<html><body>" + http.StatusText(f.Status) + "</body></html>", err: http.StatusText(f.Status)}
	}
	return failed(refuse(f.Error))
}

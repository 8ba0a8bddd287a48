package localslack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// maxConnections is how many sockets an app may hold.
const maxConnections = 10

// socket is the Socket Mode side: open connections and what is on its way
// through them. Lock order: workspace, socket, connection.
type socket struct {
	s  *Server
	wg sync.WaitGroup

	mu      sync.Mutex
	random  *rand.Rand
	conns   []*conn
	count   int // connections so far, also their names
	flights map[string]*flight
	late    map[string]bool // envelopes whose clock ran out
	held    []heldEnvelope
	ids     int
	busy    int    // acks being booked, and envelopes that wait for their time
	refused string // what apps.connections.open answers; empty: it works
	closed  bool
}

// heldEnvelope waits for the next event of another type, to swap their order.
type heldEnvelope struct {
	env   envelope
	until string
}

func newSocket(s *Server) *socket {
	return &socket{s: s, random: newRandom(s.cfg.Seed + 1), flights: map[string]*flight{}, late: map[string]bool{}}
}

// envelope is one delivery to the app, not yet bound to a connection.
type envelope struct {
	kind    string          // events_api, interactive, slash_commands
	inner   string          // app_mention, block_actions …
	payload json.RawMessage // as sent
	eventID string          // events only
	attempt int
	reason  string
	accepts bool
	id      string          // envelope_id; empty: a new one
	copy    bool            // a copy is never tried again
	done    func(ackResult) // interactive and commands: called once
}

// ackResult is how a delivery ended.
type ackResult struct {
	acked   bool
	payload json.RawMessage
}

// flight is an envelope that waits for its ack.
type flight struct {
	env    envelope
	id     string
	conn   *conn // nil: sent into nowhere
	sent   time.Time
	timer  *time.Timer
	record int
}

// Delivery is one try to hand an envelope to the app.
type Delivery struct {
	Kind       string // events_api, interactive, slash_commands
	Inner      string // the inner type
	EventID    string
	EnvelopeID string
	Attempt    int
	Connection int       // 0: none
	Sent       time.Time // wall clock
	Result     string    // waiting, acked, timeout, no_connection
	Latency    time.Duration
}

// The results of a delivery.
const (
	DeliveryWaiting      = "waiting"
	DeliveryAcked        = "acked"
	DeliveryTimeout      = "timeout"
	DeliveryNoConnection = "no_connection"
)

// Deliveries are all tries so far, in order.
func (s *Server) Deliveries() []Delivery {
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	return slices.Clone(s.records.deliveries)
}

// send applies the faults and passes the envelope on.
func (k *socket) send(env envelope) {
	f, broken := k.s.faults.deliver(env.kind, env.inner)
	if !broken {
		k.forward(env)
		k.releaseHeld(env.inner)
		return
	}
	if f.HoldUntil != "" {
		k.mu.Lock()
		k.held = append(k.held, heldEnvelope{env: env, until: f.HoldUntil})
		k.mu.Unlock()
		return
	}
	env.id = newUUID()
	k.due(f.Delay, func() {
		if f.Drop {
			k.depart(env, nil)
			return
		}
		k.forward(env)
	})
	for _, c := range f.Copies {
		copied := k.copied(env, c)
		k.due(f.Delay+c.After, func() { k.forward(copied) })
	}
}

// due is later for an envelope: until then it is waited for.
func (k *socket) due(d time.Duration, send func()) {
	k.occupied(1)
	k.later(d, func() {
		send()
		k.free()
	})
}

// copied is the envelope as its copy goes out.
func (k *socket) copied(env envelope, c Copy) envelope {
	if c.NewEventID {
		env = k.withNewID(env)
	}
	if !c.SameEnvelope {
		env.id = ""
	}
	if c.Attempt > 0 {
		env.attempt, env.reason = c.Attempt, "timeout"
	}
	env.copy = true
	return env
}

// withNewID is the same event under an id of its own, as Slack once sent them.
func (k *socket) withNewID(env envelope) envelope {
	var payload map[string]json.RawMessage
	if json.Unmarshal(env.payload, &payload) != nil {
		return env
	}
	k.mu.Lock()
	k.ids++
	env.eventID = fmt.Sprintf("EvCOPY%04d", k.ids)
	k.mu.Unlock()
	payload["event_id"], _ = json.Marshal(env.eventID)
	env.payload, _ = json.Marshal(payload)
	return env
}

// later runs fn after a wait, unless the server closes first.
func (k *socket) later(d time.Duration, fn func()) {
	if d <= 0 {
		fn()
		return
	}
	time.AfterFunc(d, func() {
		select {
		case <-k.s.done:
		default:
			fn()
		}
	})
}

func (k *socket) releaseHeld(inner string) {
	k.mu.Lock()
	var free []envelope
	k.held = slices.DeleteFunc(k.held, func(h heldEnvelope) bool {
		if h.until == inner {
			free = append(free, h.env)
		}
		return h.until == inner
	})
	k.mu.Unlock()
	for _, env := range free {
		k.forward(env)
	}
}

// forward gives the envelope to one of the connections, any of them.
func (k *socket) forward(env envelope) {
	k.mu.Lock()
	var c *conn
	if n := len(k.conns); n > 0 {
		c = k.conns[k.random.IntN(n)]
	}
	k.mu.Unlock()
	if c == nil {
		k.nobodyThere(env)
		return
	}
	k.depart(env, c)
}

func (k *socket) nobodyThere(env envelope) {
	k.s.records.delivery(Delivery{
		Kind: env.kind, Inner: env.inner, EventID: env.eventID, Attempt: env.attempt, Sent: k.s.wall(), Result: DeliveryNoConnection,
	})
	k.failed(env)
	k.s.ws.hub.publish(Change{Kind: ChangeAck})
}

// depart sends the envelope on the connection and starts its clock; without a
// connection it goes nowhere, as into a dead socket.
func (k *socket) depart(env envelope, c *conn) {
	id := env.id
	if id == "" {
		id = newUUID()
	}
	env.id = "" // the next try has one of its own
	f := &flight{env: env, id: id, conn: c, sent: k.s.wall()}
	d := Delivery{
		Kind: env.kind, Inner: env.inner, EventID: env.eventID, EnvelopeID: id, Attempt: env.attempt, Sent: f.sent, Result: DeliveryWaiting,
	}
	if c != nil {
		d.Connection = c.number
	}
	f.record = k.s.records.delivery(d)
	k.mu.Lock()
	k.flights[id] = f
	f.timer = time.AfterFunc(k.s.cfg.Timing.Ack, func() { k.timedOut(id) })
	k.mu.Unlock()
	if c != nil {
		c.write(frame(env, id))
	}
}

func frame(env envelope, id string) []byte {
	o := object{
		"envelope_id": id, "type": env.kind, "accepts_response_payload": env.accepts, "payload": env.payload,
	}
	if env.kind == "events_api" {
		o["retry_attempt"], o["retry_reason"] = env.attempt, env.reason
	}
	raw, _ := json.Marshal(o) // our own plain values always marshal
	return raw
}

func (k *socket) timedOut(id string) {
	k.mu.Lock()
	f, waiting := k.flights[id]
	if waiting {
		delete(k.flights, id)
		k.late[id] = true
		k.busy++
	}
	k.mu.Unlock()
	if !waiting {
		return
	}
	k.s.records.settle(f.record, DeliveryTimeout, 0)
	k.failed(f.env)
	k.free()
}

// failed tries an event again, three times in all; nothing else is retried.
func (k *socket) failed(env envelope) {
	if env.done != nil {
		env.done(ackResult{})
		return
	}
	waits := k.s.cfg.Timing.Retries
	if env.copy || env.attempt >= len(waits) {
		go k.forget(env) // the workspace may be locked here
		return
	}
	wait := waits[env.attempt]
	env.attempt++
	env.reason = "timeout"
	k.occupied(1)
	time.AfterFunc(wait, func() { // even at once: the workspace may be locked here
		select {
		case <-k.s.done:
		default:
			k.forward(env)
			k.free()
		}
	})
}

// free ends what occupied began, and then tells: whoever waits for nothing to be
// under way would wait for ever if the telling came first.
func (k *socket) free() {
	k.occupied(-1)
	k.s.ws.hub.publish(Change{Kind: ChangeAck})
}

func (k *socket) occupied(by int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy += by
}

func (r *records) delivery(d Delivery) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries = append(r.deliveries, d)
	return len(r.deliveries) - 1
}

func (r *records) settle(i int, result string, latency time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries[i].Result, r.deliveries[i].Latency = result, latency
}

func (k *socket) refusal() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.refused
}

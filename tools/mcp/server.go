package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

// Server is a declared server, connected or not. It is safe for use by several
// goroutines at once.
type Server struct {
	cfg    Config
	masked masker
	stop   context.CancelFunc
	done   chan struct{} // closed when nothing of it runs any more
	ready  chan struct{} // closed when its tools were listed once
	wake   chan struct{} // a call wants a connection now
	stale  chan struct{} // the list of tools is to be read again

	telling sync.Mutex // held while listeners are told, so that they hear changes in order
	change  func(added []tools.Tool, removed []string)

	mu      sync.Mutex
	session *mcp.ClientSession // nil while there is none
	up      chan struct{}      // closed when session is set
	used    time.Time          // when the server answered last
	err     error              // why there is no session
	listed  map[string]*tool   // by the server's own name
	skipped map[string]string  // tools that cannot be offered, and why
	flights map[string]*flight
	counter int
}

func start(ctx context.Context, cfg Config) *Server {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{
		cfg: cfg, masked: newMasker(cfg), stop: stop, done: make(chan struct{}), ready: make(chan struct{}),
		wake: make(chan struct{}, 1), stale: make(chan struct{}, 1), up: make(chan struct{}),
		change: func([]tools.Tool, []string) {}, listed: map[string]*tool{}, flights: map[string]*flight{},
	}
	go s.keep(life)
	return s
}

// Ready waits until the server's tools were listed once. The error says why they
// were not.
func (s *Server) Ready(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-s.done:
	case <-ctx.Done():
	}
	return fmt.Errorf("the MCP server %s is not connected: %s", s.cfg.Name, s.Status().Error)
}

// Tools gives the tools that are offered now, sorted by name. They stay while the
// server is down; their calls then say so.
func (s *Server) Tools() []tools.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return asTools(slices.Collect(maps.Values(s.listed)))
}

func asTools(list []*tool) []tools.Tool {
	slices.SortFunc(list, func(a, b *tool) int {
		if a.spec.Name < b.spec.Name {
			return -1
		}
		return 1
	})
	out := make([]tools.Tool, len(list))
	for i, t := range list {
		out[i] = t
	}
	return out
}

// OnChange sets what is told of tools that come and go: at once of those that are
// there, then of every change, in order. A tool whose contract changed is among both.
// What is removed must be taken out before what is added is put in. The function must
// not call OnChange or Close.
func (s *Server) OnChange(f func(added []tools.Tool, removed []string)) {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.change = f
	if ts := s.Tools(); len(ts) > 0 {
		f(ts, nil)
	}
}

// Register keeps a registry as the server's list of tools changes. A name that is
// taken by then is left out, and the log says so.
func (s *Server) Register(r *tools.Registry) {
	s.OnChange(func(added []tools.Tool, removed []string) {
		for _, name := range removed {
			r.Remove(name)
		}
		for _, t := range added {
			if err := r.Add(t); err != nil {
				s.cfg.Logger.Warn("a tool of an MCP server cannot be offered", "tool", t.Spec().Name, "error", err)
			}
		}
	})
}

// Close ends the session, and the program where there is one. Calls that are being
// made end with an error.
func (s *Server) Close() error {
	s.stop()
	<-s.done
	return nil
}

// Status is what an operator wants to know of a server.
type Status struct {
	Connected bool
	Error     string            // why it is not, without secrets
	Held      []Held            // tools whose contract changed, sorted by name
	Skipped   map[string]string // tools that cannot be offered, by the server's own name, and why
}

// Held is a tool that may not be called until its contract is accepted.
type Held struct {
	Tool    string   // the server's own name
	Name    string   // ours
	Changed []string // parts of the contract; empty: the pinned one could not be read
}

// Status gives the state of the server now.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := Status{Connected: s.session != nil, Skipped: maps.Clone(s.skipped)}
	if !status.Connected && s.err != nil {
		status.Error = s.plain(s.err)
	} else if !status.Connected {
		status.Error = "it has not answered yet"
	}
	for _, name := range slices.Sorted(maps.Keys(s.listed)) {
		if t := s.listed[name]; t.hold != nil {
			status.Held = append(status.Held, Held{Tool: name, Name: t.spec.Name, Changed: t.hold.changed})
		}
	}
	return status
}

// nudge leaves a mark that is not there yet.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// live gives a session on which something can be sent, and asks for one as long as the
// call has patience. One that was idle for long is tried first: a call must not be lost
// to a connection that died long ago.
func (s *Server) live(ctx context.Context) (*mcp.ClientSession, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.pace.patience)
	defer cancel()
	for {
		s.mu.Lock()
		session, up := s.session, s.up
		idle := len(s.flights) == 0 && time.Since(s.used) > s.cfg.pace.idle
		s.mu.Unlock()
		if session != nil && (!idle || s.tried(ctx, session)) {
			return session, nil
		}
		nudge(s.wake)
		select {
		case <-up:
		case <-time.After(s.cfg.pace.first): // that attempt may have failed
		case <-s.done:
			return nil, s.unavailable("it was closed")
		case <-ctx.Done():
			return nil, s.unavailable(s.Status().Error)
		}
	}
}

func (s *Server) unavailable(why string) *tools.Failure {
	return &tools.Failure{Code: "unavailable", Message: "The MCP server " + s.cfg.Name + " is not connected (" + why + "). Nothing was sent."}
}

// tried asks the server for a sign of life, and drops a session without one.
func (s *Server) tried(ctx context.Context, session *mcp.ClientSession) bool {
	if err := session.Ping(ctx, nil); !alive(err) {
		s.drop(session, err)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
	return true
}

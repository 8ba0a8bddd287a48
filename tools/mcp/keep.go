package mcp

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pace is how often and how long things are tried.
type pace struct {
	first, longest time.Duration // between two attempts to connect: doubled from first to longest
	connect        time.Duration // of one attempt, the list of tools included
	patience       time.Duration // of a call that waits for a connection
	idle           time.Duration // after which a session is tried before it is used
	recheck        time.Duration // of pins, while a tool is held
	settle         time.Duration // before a changed list is read: servers announce changes one by one
}

var defaultPace = pace{
	first: time.Second, longest: time.Minute, connect: 30 * time.Second,
	patience: 5 * time.Second, idle: 10 * time.Second, recheck: 15 * time.Second, settle: 300 * time.Millisecond,
}

// errClosed ends a session that we close ourselves.
var errClosed = errors.New("it was closed")

// keep holds a session for as long as the server is wanted: it connects, attends to
// the session until it ends, and tries again after a growing delay, or at once when a
// call needs it.
func (s *Server) keep(ctx context.Context) {
	defer close(s.done)
	delay := s.cfg.pace.first
	for ctx.Err() == nil {
		began := time.Now()
		err := s.attend(ctx)
		s.lost(err)
		if time.Since(began) > s.cfg.pace.longest {
			delay = s.cfg.pace.first // it was well for a while
		}
		if ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "an MCP server is not connected", "error", s.plain(err), "next_attempt", delay)
		}
		s.rest(ctx, delay)
		delay = min(2*delay, s.cfg.pace.longest)
	}
}

// rest waits between two attempts. The last tenth is random, so that replicas do not
// come back all at once.
func (s *Server) rest(ctx context.Context, delay time.Duration) {
	timer := time.NewTimer(delay - time.Duration(rand.Int64N(int64(delay)/10+1)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-s.wake:
	}
}

// attend connects once and stays until the session ends. The error says why.
func (s *Server) attend(ctx context.Context) error {
	l, err := s.cfg.link()
	if err != nil {
		return err
	}
	defer l.kill()
	first, cancel := context.WithTimeout(ctx, s.cfg.pace.connect)
	defer cancel()
	session, err := s.client().Connect(first, l.transport, nil)
	if err != nil {
		return err
	}
	defer l.end(session)
	if err := s.list(first, session); err != nil {
		return err
	}
	s.found(session)
	return s.watch(ctx, session)
}

// watch reads the list of tools again when it may have changed, until the session ends.
func (s *Server) watch(ctx context.Context, session *mcp.ClientSession) error {
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	recheck := time.NewTicker(s.cfg.pace.recheck)
	defer recheck.Stop()
	for {
		select {
		case <-ctx.Done():
			return errClosed
		case err := <-ended:
			return errors.Join(errEnded, err)
		case <-s.stale:
		case <-recheck.C:
			if !s.holds() {
				continue
			}
		}
		if err := s.dropped(session); err != nil {
			return err
		}
		pause(ctx, s.cfg.pace.settle)
		if err := s.listAgain(ctx, session); err != nil {
			return err
		}
	}
}

// pause waits, or until the context is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// errEnded is a session that the other side ended.
var errEnded = errors.New("the connection ended")

func (s *Server) listAgain(ctx context.Context, session *mcp.ClientSession) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.pace.connect)
	defer cancel()
	return s.list(ctx, session)
}

// client speaks for us: it answers questions with no, and offers nothing else.
func (s *Server) client() *mcp.Client {
	version := s.cfg.Version
	if version == "" {
		version = "0"
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "countersign", Version: version}, &mcp.ClientOptions{
		Logger:                      slog.New(slog.DiscardHandler), // its texts hold addresses
		Capabilities:                &mcp.ClientCapabilities{},
		ElicitationHandler:          s.elicited,
		ProgressNotificationHandler: s.progressed,
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { nudge(s.stale) },
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: true}, // it would send a call again
	})
	c.AddReceivingMiddleware(refuse)
	return c
}

func (s *Server) found(session *mcp.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.err, s.used = session, nil, time.Now()
	close(s.up)
	select {
	case <-s.ready:
	default:
		close(s.ready)
	}
}

func (s *Server) lost(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if s.session != nil {
		s.session, s.up = nil, make(chan struct{})
	}
}

// drop gives up a session that does not answer; watch sees it, and keep makes a new one.
func (s *Server) drop(session *mcp.ClientSession, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.session, s.up, s.err = nil, make(chan struct{}), err
		nudge(s.stale)
		nudge(s.wake)
	}
}

// dropped says why a session was given up; nil: it was not.
func (s *Server) dropped(session *mcp.ClientSession) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		return nil
	}
	return errors.Join(errEnded, s.err)
}

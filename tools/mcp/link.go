package mcp

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools/outbound"
)

// link is one way to a server, good for one session.
type link struct {
	transport mcp.Transport
	kill      func() // ends at once whatever is left of it
}

// linker makes a link. Nothing is sent by it.
type linker func() (link, error)

// closeTimeout is how long a session may take to say goodbye, and stopTimeout how
// long a program may take to end after its input was closed.
const (
	closeTimeout = 5 * time.Second
	stopTimeout  = time.Second
)

// end closes a session; what does not close by itself is killed.
func (l link) end(session *mcp.ClientSession) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = session.Close() // it is over either way
	}()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
	l.kill()
}

// stdioLink starts the program in a process group of its own, so that whatever it
// started ends with it.
func stdioLink(cfg Config) linker {
	masked := newMasker(cfg)
	return func() (link, error) {
		path, err := exec.LookPath(cfg.Command[0])
		if err != nil {
			return link{}, fmt.Errorf("the program cannot be found: %w", err)
		}
		// Its life is the link's: kill ends the whole group, a context would end only the program.
		cmd := exec.CommandContext(context.Background(), path, cfg.Command[1:]...)
		cmd.Env = environment(cfg.Env)
		cmd.Stderr = &stderrLog{log: cfg.Logger, masked: masked}
		cmd.WaitDelay = stopTimeout // of descendants that keep the pipes open
		ownGroup(cmd)
		transport := tracing{&mcp.CommandTransport{Command: cmd, TerminateDuration: stopTimeout}}
		return link{transport: transport, kill: func() { killGroup(cmd) }}, nil
	}
}

// environment is never nil: nil would hand down our own.
func environment(declared map[string]string) []string {
	env := []string{}
	for name, value := range declared {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// httpLink speaks streamable HTTP to the declared origin only.
func httpLink(cfg Config) linker {
	return func() (link, error) {
		endpoint, err := outbound.Address(cfg.URL)
		if err != nil {
			return link{}, err
		}
		life, kill := context.WithCancel(context.Background())
		rt := &roundTripper{base: outbound.Transport(cfg.Roots), headers: cfg.Headers, origin: endpoint.Scheme + "://" + endpoint.Host, life: life}
		return link{transport: &mcp.StreamableClientTransport{Endpoint: cfg.URL, HTTPClient: outbound.Client(rt)}, kill: kill}, nil
	}
}

// sending finds out how far one message came. It travels in the context, the only
// thing that the SDK hands down to the transport.
type sending struct {
	mu     sync.Mutex
	sent   bool // the server may have it
	status int  // of HTTP; 0: none came
}

type sendingKey struct{}

func withSending(ctx context.Context) (context.Context, *sending) {
	s := &sending{}
	return context.WithValue(ctx, sendingKey{}, s), s
}

// note is a no-op for messages that nobody asks about.
func note(ctx context.Context, f func(*sending)) {
	if s, ok := ctx.Value(sendingKey{}).(*sending); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		f(s)
	}
}

func (s *sending) result() (sent bool, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent, s.status
}

// tracing notes what was written to a program.
type tracing struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (t tracing) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return tracedConnection{c}, nil
}

type tracedConnection struct{ mcp.Connection }

// Write implements mcp.Connection. A failed write may have been written in part.
func (c tracedConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	note(ctx, func(s *sending) { s.sent = true })
	return c.Connection.Write(ctx, m)
}

// ownCodes are the codes by which the SDK reports what its connection did: server
// closing, client closing, rejected by the transport. They are no answers.
var ownCodes = []int64{-32003, -32004, -32005}

// answer gives the error that the server itself answered, if err is one.
func answer(err error) (*jsonrpc.Error, bool) {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return e, ok && !slices.Contains(ownCodes, e.Code)
}

// alive says whether an exchange shows that the server answers.
func alive(err error) bool {
	_, answered := answer(err)
	return err == nil || answered
}

// plain names why an exchange failed, without addresses and credentials.
func (s *Server) plain(err error) string {
	if e, ok := answer(err); ok {
		return "it answered: " + s.masked.mask(oneLine(e.Message, 300))
	}
	if s.cfg.URL == "" {
		return s.masked.mask(oneLine(err.Error(), 300))
	}
	if errors.Is(err, mcp.ErrSessionMissing) {
		return "the server forgot the session"
	}
	return strings.TrimSuffix(outbound.Plain(err).Error(), ".")
}

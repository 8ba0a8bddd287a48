package mcp

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

// muting is a transport over which nothing arrives once it is mute, and nobody is told.
type muting struct {
	mcp.Transport
	mute *atomic.Bool
}

// Connect implements mcp.Transport.
func (m muting) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := m.Transport.Connect(ctx)
	return mutingConnection{c, m.mute}, err
}

type mutingConnection struct {
	mcp.Connection
	mute *atomic.Bool
}

// Write implements mcp.Connection.
func (c mutingConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	if c.mute.Load() {
		return nil
	}
	return c.Connection.Write(ctx, m)
}

// A session that does not answer is given up: after a call that was lost on it, and
// before a call when it was idle.
func TestSessionThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, idle := range map[string]time.Duration{"after a call": time.Hour, "before a call": time.Nanosecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(nil)
			l.add(&mcp.Tool{Name: "act"}, says("done"))
			var links atomic.Int64
			first := &atomic.Bool{}
			cfg := Config{link: func() (link, error) {
				made, err := l.link()
				mute := first
				if links.Add(1) > 1 {
					mute = &atomic.Bool{}
				}
				made.transport = tracing{muting{made.transport, mute}}
				return made, err
			}}
			cfg.pace = quick
			cfg.pace.idle, cfg.pace.connect = idle, 200*time.Millisecond
			cfg.pace.patience = 500 * time.Millisecond
			s := connect(t, cfg)
			first.Store(true)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := find(t, s, "srv_act").Call(ctx, tools.Call{})
			if _, lost := errors.AsType[*LostError](err); lost != (idle == time.Hour) {
				t.Errorf("got %v", err)
			}
			eventually(t, "another session", func() bool { return links.Load() > 1 })
			eventually(t, "an answer", func() bool {
				r, err := call(t, s, "srv_act", `{}`)
				return err == nil && r.Text == "done"
			})
		})
	}
}

package localslack_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"
)

// app is the tests' side of the wire.
type app struct {
	tinyapp.App
	t    *testing.T
	conn *tinyapp.Conn

	postedCard slacktest.Message // what a handler updates
}

func newApp(t *testing.T, ws *slacktest.Slack) *app {
	t.Helper()
	env := ws.Env()
	return &app{t: t, App: tinyapp.App{API: env["SLACK_API_URL"], BotToken: env["SLACK_BOT_TOKEN"], AppToken: env["SLACK_APP_TOKEN"]}}
}

// connected is an app with one open connection.
func connected(t *testing.T, ws *slacktest.Slack) *app {
	t.Helper()
	a := newApp(t, ws)
	a.conn = a.dial()
	return a
}

func (a *app) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	a.t.Cleanup(cancel)
	return ctx
}

func (a *app) dial() *tinyapp.Conn {
	a.t.Helper()
	c, err := a.Connect(a.context())
	if err != nil {
		a.t.Fatalf("connect: %v", err)
	}
	a.t.Cleanup(func() { c.Close() })
	return c
}

// call makes a call that must succeed.
func (a *app) call(method string, args map[string]any) tinyapp.Reply {
	a.t.Helper()
	r := a.try(method, args)
	if r.Error() != "" {
		a.t.Fatalf("%s: %s %v", method, r.Error(), r.Body["response_metadata"])
	}
	return r
}

func (a *app) try(method string, args map[string]any) tinyapp.Reply {
	a.t.Helper()
	r, err := a.Call(a.context(), method, args)
	if err != nil {
		a.t.Fatalf("%s: %v", method, err)
	}
	return r
}

// next is the next envelope on the app's connection.
func (a *app) next() tinyapp.Envelope {
	a.t.Helper()
	e, err := a.conn.Next(a.context())
	if err != nil {
		a.t.Fatalf("no envelope: %v", err)
	}
	return e
}

// take acks envelopes until one of the inner type comes, and returns that one,
// acked too.
func (a *app) take(inner string) tinyapp.Envelope {
	a.t.Helper()
	for {
		e := a.next()
		if e.ID != "" {
			a.ack(e, nil)
		}
		if e.Inner() == inner {
			return e
		}
	}
}

func (a *app) ack(e tinyapp.Envelope, payload any) {
	a.t.Helper()
	if err := a.conn.Ack(e.ID, payload); err != nil {
		a.t.Fatalf("ack: %v", err)
	}
}

// serve acks everything in the background by a handler; nil acks bare.
func (a *app) serve(h tinyapp.Handler) {
	a.t.Helper()
	if h == nil {
		h = func(context.Context, tinyapp.Envelope) (any, error) { return nil, nil }
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.conn.Run(ctx, h) // ends with the test
	}()
	a.t.Cleanup(func() { cancel(); <-done })
}

// blocks decodes a literal.
func blocks(t *testing.T, literal string) []any {
	t.Helper()
	var out []any
	if err := json.Unmarshal([]byte(literal), &out); err != nil {
		t.Fatalf("%v in %s", err, literal)
	}
	return out
}

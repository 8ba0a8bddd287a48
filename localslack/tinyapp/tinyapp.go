// Package tinyapp is the smallest app that can talk to Slack: it calls Web API
// methods and holds Socket Mode connections. The tests of localslack play the
// app's side with it.
package tinyapp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gorilla/websocket"
)

// App knows where Slack is and who it is itself.
type App struct {
	API      string // base URL with a slash at its end
	BotToken string
	AppToken string
	// OnPing takes the server's pings in place of a pong; nil answers them.
	OnPing func(text string) error
}

// Reply is the answer to a call.
type Reply struct {
	Status     int
	RetryAfter string
	Date       string
	Body       map[string]any
}

// Error is Slack's error code; empty when the call was fine.
func (r Reply) Error() string {
	s, _ := r.Body["error"].(string)
	return s
}

// Str reads a text at a path of keys.
func (r Reply) Str(path ...string) string { return Str(r.Body, path...) }

// Str reads a text at a path of keys within decoded JSON.
func Str(v any, path ...string) string {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	s, _ := v.(string)
	return s
}

// Call posts a JSON body with the bot token; the error is about the transport
// only.
func (a App) Call(ctx context.Context, method string, args map[string]any) (Reply, error) {
	if args == nil {
		args = map[string]any{}
	}
	body, err := json.Marshal(args)
	if err != nil {
		return Reply{}, err
	}
	return a.post(ctx, request{method: method, token: a.BotToken, kind: "application/json; charset=utf-8", body: body})
}

// Form posts a form with the token in the body.
func (a App) Form(ctx context.Context, method string, args url.Values) (Reply, error) {
	args.Set("token", a.BotToken)
	return a.post(ctx, request{method: method, kind: "application/x-www-form-urlencoded", body: []byte(args.Encode())})
}

type request struct {
	method, token, kind string
	body                []byte
}

func (a App) post(ctx context.Context, q request) (Reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.API+q.method, bytes.NewReader(q.body))
	if err != nil {
		return Reply{}, err
	}
	req.Header.Set("Content-Type", q.kind)
	if q.token != "" {
		req.Header.Set("Authorization", "Bearer "+q.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	r := Reply{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After"), Date: resp.Header.Get("Date")}
	if err := json.NewDecoder(resp.Body).Decode(&r.Body); err != nil && resp.StatusCode == http.StatusOK {
		return r, err
	}
	return r, nil
}

// Envelope is one delivery.
type Envelope struct {
	ID           string          `json:"envelope_id"`
	Type         string          `json:"type"`
	Accepts      bool            `json:"accepts_response_payload"`
	RetryAttempt int             `json:"retry_attempt"`
	RetryReason  string          `json:"retry_reason"`
	Reason       string          `json:"reason"` // of a disconnect
	Payload      json.RawMessage `json:"payload"`
	Connections  int             `json:"num_connections"` // of a hello
}

// Body is the decoded payload.
func (e Envelope) Body() map[string]any {
	var m map[string]any
	_ = json.Unmarshal(e.Payload, &m) // a payload that is no object shows as empty
	return m
}

// Event is the inner event of an events_api envelope.
func (e Envelope) Event() map[string]any {
	m, _ := e.Body()["event"].(map[string]any)
	return m
}

// Inner is the inner type: app_mention, block_actions ….
func (e Envelope) Inner() string {
	if e.Type == "events_api" {
		return Str(e.Event(), "type")
	}
	return Str(e.Body(), "type")
}

// Conn is a Socket Mode connection. Frames arrive on a channel, so that pings
// are answered while nobody reads.
type Conn struct {
	Hello  Envelope
	WS     *websocket.Conn
	frames chan Envelope
	err    error
}

// ErrNoHello is returned when the first frame is something else.
var ErrNoHello = errors.New("the first frame is no hello")

// Open asks for a connection's address.
func (a App) Open(ctx context.Context) (Reply, error) {
	return a.post(ctx, request{method: "apps.connections.open", token: a.AppToken, kind: "application/x-www-form-urlencoded"})
}

// Connect opens a connection and waits for its hello.
func (a App) Connect(ctx context.Context) (*Conn, error) {
	r, err := a.Open(ctx)
	if err != nil {
		return nil, err
	}
	if r.Error() != "" {
		return nil, fmt.Errorf("apps.connections.open: %s", r.Error())
	}
	return a.Dial(ctx, r.Str("url"))
}

// Dial connects to an address from Open.
func (a App) Dial(ctx context.Context, url string) (*Conn, error) {
	ws, _, err := websocket.DefaultDialer.DialContext(ctx, url, nil) //nolint:bodyclose // the library says that it needs no closing
	if err != nil {
		return nil, err
	}
	if a.OnPing != nil {
		ws.SetPingHandler(a.OnPing)
	}
	c := &Conn{WS: ws, frames: make(chan Envelope, 1024)}
	go c.read()
	if c.Hello, err = c.Next(ctx); err != nil {
		return nil, err
	}
	if c.Hello.Type != "hello" {
		return c, fmt.Errorf("%w: %s %s", ErrNoHello, c.Hello.Type, c.Hello.Reason)
	}
	return c, nil
}

func (c *Conn) read() {
	defer close(c.frames)
	for {
		_, data, err := c.WS.ReadMessage()
		if err != nil {
			c.err = err
			return
		}
		var e Envelope
		if json.Unmarshal(data, &e) == nil {
			c.frames <- e
		}
	}
}

// Next waits for the next frame.
func (c *Conn) Next(ctx context.Context) (Envelope, error) {
	select {
	case e, ok := <-c.frames:
		if !ok {
			return Envelope{}, c.err
		}
		return e, nil
	case <-ctx.Done():
		return Envelope{}, ctx.Err()
	}
}

// Ack acknowledges an envelope, with a payload or nil.
func (c *Conn) Ack(id string, payload any) error {
	m := map[string]any{"envelope_id": id}
	if payload != nil {
		m["payload"] = payload
	}
	return c.WS.WriteJSON(m)
}

// Close says goodbye and closes.
func (c *Conn) Close() error {
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = c.WS.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) // closing anyway
	return c.WS.Close()
}

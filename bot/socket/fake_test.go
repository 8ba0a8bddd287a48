package socket_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/bot/socket"

	"github.com/coder/websocket"
)

// patient is how long a test waits for something that must happen: what is there ends
// the wait at once.
const patient = time.Minute

// server is the WebSocket half of Slack; each test scripts its connections.
type server struct {
	t     *testing.T
	http  *httptest.Server
	opens atomic.Int32
	conns atomic.Int32
	wg    sync.WaitGroup
	done  chan struct{}
}

// peer is one connection as Slack sees it.
type peer struct {
	s      *server
	ws     *websocket.Conn
	number int // 1 for the first connection
}

// newServer plays script on every connection; the connection ends with it.
func newServer(t *testing.T, script func(p *peer)) *server {
	t.Helper()
	s := &server{t: t, done: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		s.wg.Add(1)
		defer s.wg.Done()
		defer ws.CloseNow()
		script(&peer{s: s, ws: ws, number: int(s.conns.Add(1))})
	}))
	t.Cleanup(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
		s.wg.Wait()
	})
	return s
}

// open is Config.Open.
func (s *server) open(context.Context) (string, error) {
	n := s.opens.Add(1)
	return "ws" + strings.TrimPrefix(s.http.URL, "http") + fmt.Sprintf("/link/?ticket=secret-%d", n), nil
}

func (p *peer) send(message string) {
	ctx, stop := context.WithTimeout(context.Background(), patient)
	defer stop()
	_ = p.ws.Write(ctx, websocket.MessageText, []byte(message))
}

func (p *peer) hello() {
	p.send(`{"type":"hello","num_connections":1,"connection_info":{"app_id":"A1"},"debug_info":{"host":"h","approximate_connection_time":18060}}`)
}

func (p *peer) event(id string) {
	p.send(fmt.Sprintf(`{"type":"events_api","envelope_id":%q,"payload":{"type":"event_callback"},"accepts_response_payload":false,"retry_attempt":0,"retry_reason":""}`, id))
}

func (p *peer) click(id string) {
	p.send(fmt.Sprintf(`{"type":"interactive","envelope_id":%q,"payload":{"type":"block_actions"},"accepts_response_payload":true}`, id))
}

// next returns the next message of the bot, or "" when the connection ended.
func (p *peer) next() string {
	ctx, stop := context.WithTimeout(context.Background(), patient)
	defer stop()
	_, data, err := p.ws.Read(ctx)
	if err != nil {
		return ""
	}
	return string(data)
}

// ackID returns the envelope that the next message acknowledges.
func (p *peer) ackID() string {
	var a struct {
		ID string `json:"envelope_id"`
	}
	_ = json.Unmarshal([]byte(p.next()), &a)
	return a.ID
}

// linger reads, and so answers pings, until the connection ends; it returns
// the code of the Close frame, -1 if there was none.
func (p *peer) linger() websocket.StatusCode {
	for {
		_, _, err := p.ws.Read(context.Background())
		if err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// quick are durations for tests: no failure wait matters, nothing times out.
func quick() socket.Timing {
	return socket.Timing{
		Hello: patient, Dead: patient, Ping: patient, Close: time.Second,
		StableAfter: time.Hour, Stagger: time.Millisecond,
		BackoffMin: time.Millisecond, BackoffMax: 5 * time.Millisecond,
		SlowMin: time.Hour, SlowMax: time.Hour,
	}
}

// ackAll acknowledges everything.
func ackAll(context.Context, socket.Envelope) socket.Response {
	return socket.Response{Ack: true}
}

// bot is a running transport.
type bot struct {
	*socket.Transport
	log    *logBuffer
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

// start runs a transport with one connection against s, unless cfg says more.
func start(t *testing.T, s *server, cfg socket.Config) *bot {
	t.Helper()
	if cfg.Open == nil {
		cfg.Open = s.open
	}
	if cfg.Handle == nil {
		cfg.Handle = ackAll
	}
	if cfg.Connections == 0 {
		cfg.Connections = 1
	}
	if cfg.Timing == (socket.Timing{}) {
		cfg.Timing = quick()
	}
	b := &bot{log: &logBuffer{}, ended: make(chan struct{})}
	cfg.Logger = slog.New(slog.NewTextHandler(b.log, nil))
	b.Transport = socket.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go func() {
		b.err = b.Run(ctx)
		close(b.ended)
	}()
	t.Cleanup(func() { b.stop(t) })
	return b
}

// stop ends the transport and returns what Run returned.
func (b *bot) stop(t *testing.T) error {
	t.Helper()
	b.cancel()
	receive(t, "end of Run", b.ended)
	return b.err
}

// receive waits for a value or the closing of ch.
func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patient):
		t.Fatalf("no %s within %s", what, patient)
		panic("unreachable")
	}
}

// eventually polls, because the numbers of Status have no signal of their own.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// logBuffer collects log output of several goroutines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

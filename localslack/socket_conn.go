package localslack

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// maxAck is the size from which Slack ignores an ack, in bytes.
const maxAck = 20_480

// debugLife is how long a connection lives that asked for debug_reconnects.
const debugLife = 360 * time.Second

// conn is one Socket Mode connection.
type conn struct {
	k      *socket
	number int
	ws     *websocket.Conn
	raw    net.Conn
	frames *frameWatch
	ring   chan struct{}
	gone   chan struct{}
	once   sync.Once

	mu        sync.Mutex
	queue     []outFrame
	pong      time.Time
	noPings   bool // half open: TCP lives, Slack's side does not
	blackHole bool // nothing goes out, what comes in is not looked at
}

type outFrame struct {
	kind int // websocket.TextMessage …; 0: raw bytes
	data []byte
	then func()
}

// serveLink upgrades a connection that brings a good ticket.
func (s *Server) serveLink(w http.ResponseWriter, r *http.Request) {
	if !s.spendTicket(r.URL.Query().Get("ticket")) {
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	watch := &frameWatch{}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // a ticket is the permission
	ws, err := up.Upgrade(&watchedWriter{ResponseWriter: w, watch: watch}, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	c := &conn{k: s.socket, ws: ws, raw: ws.NetConn(), frames: watch, ring: make(chan struct{}, 1), gone: make(chan struct{}), pong: s.wall()}
	s.socket.join(c, r.URL.Query().Get("debug_reconnects") == "true")
}

// join lets a connection in and runs it until it ends.
func (k *socket) join(c *conn, debug bool) {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		c.close()
		return
	}
	k.count++
	c.number = k.count
	full := len(k.conns) >= maxConnections
	if !full {
		k.conns = append(k.conns, c)
	}
	n := len(k.conns)
	k.wg.Add(2)
	k.mu.Unlock()
	k.s.ws.hub.publish(Change{Kind: ChangeSocket})
	if full {
		c.write(disconnectFrame("too_many_websockets"))
		c.enqueue(outFrame{kind: websocket.CloseMessage, data: websocket.FormatCloseMessage(1008, ""), then: c.close})
	} else {
		c.write(k.hello(n, debug))
	}
	if debug {
		k.later(debugLife, func() { c.disconnect("refresh_requested", k.s.cfg.Timing.Warning) })
	}
	go c.writeLoop()
	if !full {
		k.restore()
	}
	c.readLoop()
	k.leave(c)
}

func (k *socket) hello(n int, debug bool) []byte {
	life := 18060
	if debug {
		life = int(debugLife.Seconds())
	}
	raw, _ := json.Marshal(object{ // plain values always marshal
		"type": "hello", "num_connections": n, "connection_info": object{"app_id": k.s.cfg.App.App.ID},
		"debug_info": object{"host": fmt.Sprintf("applink-local-%d", n), "build_number": 1, "approximate_connection_time": life},
	})
	return raw
}

func (k *socket) leave(c *conn) {
	c.close()
	k.mu.Lock()
	k.conns = slices.DeleteFunc(k.conns, func(x *conn) bool { return x == c })
	k.mu.Unlock()
	k.s.ws.hub.publish(Change{Kind: ChangeSocket})
}

func (c *conn) write(data []byte) { c.enqueue(outFrame{kind: websocket.TextMessage, data: data}) }

// enqueue never blocks; the writer takes the frames in order.
func (c *conn) enqueue(f outFrame) {
	c.mu.Lock()
	c.queue = append(c.queue, f)
	c.mu.Unlock()
	select {
	case c.ring <- struct{}{}:
	default:
	}
}

func (c *conn) writeLoop() {
	defer c.k.wg.Done()
	t := c.k.s.cfg.Timing
	tick := time.NewTicker(t.Ping)
	defer tick.Stop()
	for {
		select {
		case <-c.gone:
			return
		case <-tick.C:
			c.ping(t.Pong)
		case <-c.ring:
			c.flush()
		}
	}
}

// ping sends Slack's ping, and gives up on a client that answers none.
func (c *conn) ping(patience time.Duration) {
	c.mu.Lock()
	silent, dead := c.noPings || c.blackHole, c.k.s.wall().Sub(c.pong) > patience
	c.mu.Unlock()
	switch {
	case silent:
	case dead:
		c.close()
	default:
		_ = c.ws.WriteControl(websocket.PingMessage, fmt.Appendf(nil, "Ping from applink-local-%d", c.number), time.Now().Add(time.Second)) // a dead peer shows itself by its missing pong
	}
}

func (c *conn) flush() {
	c.mu.Lock()
	frames := c.queue
	c.queue = nil
	hole := c.blackHole
	c.mu.Unlock()
	for _, f := range frames {
		if !hole && c.put(f) != nil {
			c.close()
			return
		}
		if f.then != nil {
			f.then()
		}
	}
}

func (c *conn) put(f outFrame) error {
	_ = c.ws.SetWriteDeadline(time.Now().Add(5 * time.Second)) // fails only on a closed connection, as the write will
	if f.kind == 0 {
		_, err := c.raw.Write(f.data)
		return err
	}
	return c.ws.WriteMessage(f.kind, f.data)
}

// readLoop takes acks and pongs until the connection ends.
func (c *conn) readLoop() {
	defer c.k.wg.Done()
	c.ws.SetReadLimit(1 << 20)
	c.ws.SetPongHandler(func(string) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pong = c.k.s.wall()
		return nil
	})
	for {
		kind, data, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		fragmented := c.frames.next()
		c.mu.Lock()
		deaf := c.blackHole || c.noPings
		c.mu.Unlock()
		if !deaf {
			c.k.acked(c, ackFrame{text: kind == websocket.TextMessage, data: data, fragmented: fragmented})
		}
	}
}

func (c *conn) close() {
	c.once.Do(func() {
		close(c.gone)
		c.ws.Close()
	})
}

func disconnectFrame(reason string) []byte {
	raw, _ := json.Marshal(object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "applink-local"}})
	return raw
}

// disconnect announces the end and closes after a while.
func (c *conn) disconnect(reason string, after time.Duration) {
	c.write(disconnectFrame(reason))
	c.k.later(after, func() {
		c.enqueue(outFrame{kind: websocket.CloseMessage, data: websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), then: c.close})
	})
}

func (k *socket) all() []*conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.conns)
}

func (k *socket) closeAll() {
	k.mu.Lock()
	k.closed = true
	for _, f := range k.flights {
		f.timer.Stop()
	}
	k.mu.Unlock()
	for _, c := range k.all() {
		c.close()
	}
}

func (k *socket) wait() { k.wg.Wait() }

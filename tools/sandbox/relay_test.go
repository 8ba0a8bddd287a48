package sandbox_test

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
)

// relay is a socket between the sandbox and the engine, which can be cut.
type relay struct {
	socket, engine string

	mu       sync.Mutex
	listener net.Listener
	open     []net.Conn
}

func newRelay(t *testing.T, engine string) *relay {
	t.Helper()
	r := &relay{socket: filepath.Join(t.TempDir(), "relay.sock"), engine: engine}
	r.listen(t)
	t.Cleanup(r.breakOff)
	return r
}

func (r *relay) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.listener = l
	r.mu.Unlock()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.pass(c)
		}
	}()
}

func (r *relay) pass(c net.Conn) {
	e, err := net.Dial("unix", r.engine)
	if err != nil {
		_ = c.Close()
		return
	}
	r.mu.Lock()
	r.open = append(r.open, c, e)
	r.mu.Unlock()
	for _, way := range [][2]net.Conn{{c, e}, {e, c}} {
		go func() {
			_, _ = io.Copy(way[1], way[0])
			_ = c.Close()
			_ = e.Close()
		}()
	}
}

// breakOff closes everything; nobody answers until listen is called again.
func (r *relay) breakOff() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.listener.Close()
	for _, c := range r.open {
		_ = c.Close()
	}
	r.open = nil
}

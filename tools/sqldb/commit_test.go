package sqldb_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/tools"
)

// lossy is a proxy before Postgres that cuts the line when the client sends the mark.
type lossy struct {
	address string
	mark    atomic.Pointer[string]
	deliver atomic.Bool   // pass the mark on to the server before cutting
	done    chan struct{} // one for each delivery that the server has dealt with
}

func startLossy(t *testing.T, server string) *lossy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &lossy{address: l.Addr().String(), done: make(chan struct{}, 8)}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.relay(client, server)
		}
	}()
	return p
}

func (p *lossy) relay(client net.Conn, server string) {
	defer client.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		_, _ = io.Copy(client, up)
		client.Close()
		_, _ = io.Copy(io.Discard, up) // the client is gone; the server may still be at work
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		mark := p.mark.Load()
		if mark == nil || !bytes.Contains(buf[:n], []byte(*mark)) {
			_, _ = up.Write(buf[:n])
			continue
		}
		client.Close() // before the server can answer
		if p.deliver.Load() {
			_, _ = up.Write(buf[:n])
			_ = up.(*net.TCPConn).CloseWrite()
			<-answers
			p.done <- struct{}{}
		}
		return
	}
}

// TestLostConnection: before COMMIT is sent nothing can have happened; from then on
// it is not known, whether or not the server got it.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	p := postgresPlace(t)
	u, err := url.Parse(p.cfg.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := startLossy(t, u.Host)
	u.Host = proxy.address
	p.cfg.URL = u.String()
	const sql = "UPDATE orders SET status = 'x' WHERE id = 2"
	shown := p.preview(t, sql)

	early := "SAVEPOINT"
	proxy.mark.Store(&early)
	_, err = p.execute(t, sql, &shown)
	failed(t, err, "unavailable")

	late := "COMMIT"
	proxy.mark.Store(&late)
	for _, delivered := range []bool{false, true} {
		proxy.deliver.Store(delivered)
		_, err := p.execute(t, sql, &shown)
		if _, known := errors.AsType[*tools.Failure](err); err == nil || known {
			t.Fatalf("delivered %v: error %v, want one that leaves the outcome open", delivered, err)
		}
		if strings.Contains(err.Error(), proxy.address) {
			t.Errorf("the error holds an address: %v", err)
		}
		if delivered {
			<-proxy.done
		}
		want := map[bool]string{false: "open", true: "x"}[delivered]
		if got := p.value(t, "SELECT status FROM orders WHERE id = 2"); got != want {
			t.Errorf("delivered %v: status %q, want %q", delivered, got, want)
		}
	}
}

// TestDeferredConstraintsAreCheckedBeforehand: a change that only fails at its commit is not shown as one that works.
func TestDeferredConstraintsAreCheckedBeforehand(t *testing.T) {
	t.Parallel()
	p := postgresPlace(t)
	p.exec(t, "CREATE TABLE late (id int PRIMARY KEY, customer_id int REFERENCES customers (id) DEFERRABLE INITIALLY DEFERRED)")
	const sql = "INSERT INTO late (id, customer_id) VALUES (1, 99)"
	_, err := p.tool(t, "execute_sql").(tools.Previewer).Preview(t.Context(), call(sql))
	failed(t, err, "sql_error")
	_, err = p.execute(t, sql, nil)
	failed(t, err, "sql_error")
	if n := p.value(t, "SELECT count(*) FROM late"); n != "0" {
		t.Errorf("%s rows", n)
	}
}

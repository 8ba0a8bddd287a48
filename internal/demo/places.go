package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"countersign/internal/fault"
)

// places are where the demo's parts listen. The ports are kept in the folder: a
// card that was shown before a restart names the shop's address, and a browser
// that is still open finds the page again.
type places struct {
	slack, shop, model net.Listener
}

func (p *places) close() {
	for _, l := range []net.Listener{p.slack, p.shop, p.model} {
		if l != nil {
			_ = l.Close() // the servers that use them have closed most already
		}
	}
}

func listen(ctx context.Context, o Options) (*places, error) {
	path := filepath.Join(o.Dir, "ports.json")
	kept := map[string]string{}
	if text, err := os.ReadFile(path); err == nil {
		if json.Unmarshal(text, &kept) != nil {
			kept = map[string]string{}
		}
	}
	p := &places{}
	var err error
	if p.slack, err = page(ctx, o.Addr, kept["page"]); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name string
		l    *net.Listener
	}{{"shop", &p.shop}, {"model", &p.model}} {
		if *part.l, err = again(ctx, kept[part.name]); err != nil {
			p.close()
			return nil, fmt.Errorf("listen for the %s: %w", part.name, err)
		}
	}
	now, err := json.Marshal(map[string]string{"page": p.slack.Addr().String(), "shop": p.shop.Addr().String(), "model": p.model.Addr().String()})
	if err != nil {
		return nil, err
	}
	return p, os.WriteFile(path, now, 0o600)
}

// page listens where the page was before, where it was asked for, or anywhere.
func page(ctx context.Context, wanted, before string) (net.Listener, error) {
	if wanted == "" {
		if before != "" {
			return again(ctx, before)
		}
		return again(ctx, DefaultAddr)
	}
	l, err := bind(ctx, wanted)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "The page cannot listen on %s: choose another address with --addr.", wanted)
	}
	return l, nil
}

// DefaultAddr is where the page is when nothing else listens there.
const DefaultAddr = "127.0.0.1:8765"

func again(ctx context.Context, addr string) (net.Listener, error) {
	if addr != "" {
		if l, err := bind(ctx, addr); err == nil {
			return l, nil
		}
	}
	return bind(ctx, "127.0.0.1:0")
}

func bind(ctx context.Context, addr string) (net.Listener, error) {
	if err := loopback(addr); err != nil {
		return nil, err
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
}

// loopback refuses an address that others reach: whoever reaches the page can be anybody in it.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "--addr takes HOST:PORT, for example %s.", DefaultAddr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fault.New(fault.Invalid, "The demo listens on loopback alone, not on %s: whoever reaches its page can be anybody in it. Use %s, from another machine through a tunnel (ssh -L).", addr, DefaultAddr)
	}
	return nil
}

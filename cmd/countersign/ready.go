package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"countersign/internal/fault"
)

type readyCmd struct{}

// Run asks the process that serves with this configuration whether it is ready: for
// health checks in containers, where there is no other program to ask with.
func (*readyCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(cfg.HTTP.Addr)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "http.addr (COUNTERSIGN_HTTP_ADDR) names no listener that could be asked.")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	said, ok, err := ask(e.ctx, "http://"+net.JoinHostPort(host, port)+"/readyz")
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "Nobody answers at %s.", cfg.HTTP.Addr)
	}
	if !ok {
		return fault.New(fault.Unavailable, "Not ready: %s.", said)
	}
	fmt.Fprintln(e.out, said)
	return nil
}

func ask(ctx context.Context, address string) (said string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return "", false, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	return strings.TrimSpace(string(body)), res.StatusCode == http.StatusOK, err
}

package app

import (
	"context"
	"os"

	"countersign/internal/fault"
	"countersign/tools"
	"countersign/tools/sandbox"
)

// sandboxTools gives run_command. Its label is the host's name: stable over
// restarts, so that a start finds what its predecessor left, and another one on
// every replica.
func (a *edition) sandboxTools(ctx context.Context) ([]tools.Tool, error) {
	s := a.cfg.Tools.Sandbox
	if s == nil {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "countersign"
	}
	c := sandbox.Config{
		Image: s.Image, Memory: int64(s.Memory), Pids: s.Pids, Timeout: a.cfg.Limits.ToolTimeout, Label: host, Now: a.now, Logger: a.log,
		Getenv: os.Getenv, Env: map[string]string{},
	}
	for name, value := range s.Env {
		c.Env[name] = value.Reveal()
	}
	for _, m := range s.Mounts {
		c.Mounts = append(c.Mounts, sandbox.Mount{Host: m.Host, At: m.At})
	}
	t, closer, err := sandbox.New(ctx, c)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "tools.sandbox: %s.", err)
	}
	a.closers.add(closer.Close)
	return restrict([]tools.Tool{t}, s.Access), nil
}

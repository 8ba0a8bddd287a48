package app

import (
	"context"
	"time"

	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/tools"
	"countersign/tools/mcp"
	"countersign/tools/metrics"
)

// mcpPatience is how long a start waits for one MCP server. Its tools come later
// when it does.
const mcpPatience = 3 * time.Second

// wireServers connects the MCP servers and keeps the registry current with what
// they offer.
func (a *edition) wireServers(ctx context.Context) error {
	told := func(mcp.Progress) {}
	if a.store != nil && len(a.cfg.Tools.MCP) > 0 {
		n := a.wireNotes()
		a.closers.add(n.close)
		told = n.take
	}
	for _, c := range a.cfg.Tools.MCP {
		declared := a.mcpConfig(c)
		declared.Progress = told
		s, err := mcp.Connect(ctx, declared)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "tools.mcp %s: %s.", c.Name, err)
		}
		a.closers.add(s.Close)
		a.servers = append(a.servers, s)
		wait, cancel := context.WithTimeout(ctx, mcpPatience)
		if err := s.Ready(wait); err != nil {
			a.log.WarnContext(ctx, "an MCP server is not there yet; its tools come when it is", "server", c.Name, "error", err)
		}
		cancel()
		s.Register(a.registry)
	}
	return nil
}

func (a *edition) mcpConfig(c config.MCP) mcp.Config {
	var pins mcp.Pins // without a database, as for a check of the configuration, nothing is pinned for good
	if a.store != nil {
		pins = a.store
	}
	return mcp.Config{
		Name: c.Name, Command: c.Command, URL: c.URL, Headers: revealed(c.Headers), Env: revealed(c.Env), Trusted: c.Trusted,
		Risk: tools.Risk(c.Risk), Allow: c.Allow, MayChange: c.MayChange, Roles: c.Roles, Channels: idsOf(c.Channels), Private: c.Private, Egress: c.Egress,
		Timeout: a.cfg.Limits.ToolTimeout, Pins: pins, Logger: a.log, Version: "1",
		Taken: func(name string) bool { _, ok := a.registry.Get(name); return ok },
	}
}

func revealed(secrets map[string]config.Secret) map[string]string {
	out := map[string]string{}
	for name, s := range secrets {
		out[name] = s.Reveal()
	}
	return out
}

func (a *edition) metricTools() ([]tools.Tool, error) {
	m := a.cfg.Tools.Metrics
	if m == nil {
		return nil, nil
	}
	t, err := metrics.New(metrics.Config{
		URL: m.PrometheusURL, Roles: m.Roles, Channels: idsOf(m.Channels), Risk: tools.Risk(m.Risk), Private: m.Private, Egress: m.Egress, Now: a.now,
	})
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "tools.metrics: %s.", err)
	}
	return []tools.Tool{t}, nil
}

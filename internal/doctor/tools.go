package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"time"

	"countersign/internal/config"
	"countersign/tools"
)

// readier is a tool that can say whether what it needs is there.
type readier interface {
	Ready(ctx context.Context) error
}

// tools builds the tools as serve would, and tries what each needs with a read.
func (e *examiner) tools(ctx context.Context) {
	if e.Tools == nil {
		return
	}
	registry, err := e.Tools(ctx)
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			e.broken("config", "Correct that setting; `countersign config check` reads it again.", "%s.", p)
		}
		return
	}
	if err != nil {
		e.broken("tools", "Correct that setting.", "%s", sentence(err))
		return
	}
	e.servers()
	specs := registry.Specs()
	if len(specs) == 0 {
		e.warn("tools", "Configure tools (files, docs, sql, http …), or it can only talk.", "No tool is configured.")
		return
	}
	e.reads(ctx, registry)
	for _, s := range specs {
		if t, _ := registry.Get(s.Name); t != nil {
			e.ready(ctx, s.Name, t)
			e.cautions(ctx, t)
		}
	}
	e.services(ctx)
}

// servers tells of each MCP server whether it is there.
func (e *examiner) servers() {
	if e.Absent == nil {
		return
	}
	absent := e.Absent()
	for _, s := range e.Config.Tools.MCP {
		if why, ok := absent[s.Name]; ok {
			e.warn("tools", "Start the server, or correct command or url of tools.mcp.", "The MCP server %s is not connected, so its tools are missing: %s.", s.Name, why)
			continue
		}
		e.ok("tools", "The MCP server %s is connected.", s.Name)
	}
}

// ready asks a tool itself, where it can be asked.
func (e *examiner) ready(ctx context.Context, name string, t tools.Tool) {
	r, ok := unwrap(t).(readier)
	if !ok {
		return
	}
	if err := r.Ready(ctx); err != nil {
		e.broken("tools", "Start what the tool needs, or take it out of the configuration.", "%s cannot be used: %s", name, failure(err))
		return
	}
	e.ok("tools", "%s is ready.", name)
}

// cautious is a tool that knows what is dangerous about how it is set up.
type cautious interface {
	Cautions(ctx context.Context) []string
}

func (e *examiner) cautions(ctx context.Context, t tools.Tool) {
	c, ok := unwrap(t).(cautious)
	if !ok {
		return
	}
	for _, text := range c.Cautions(ctx) {
		e.warn("tools", "Give the tool a role of its own, with the rights that docs/tools.md names.", "As it is set up, %s.", text)
	}
}

// unwrap looks below what was laid over a tool.
func unwrap(t tools.Tool) tools.Tool {
	for {
		w, ok := t.(interface{ Unwrap() tools.Tool })
		if !ok {
			return t
		}
		t = w.Unwrap()
	}
}

func failure(err error) string {
	var f *tools.Failure
	if errors.As(err, &f) {
		return f.Message
	}
	return sentence(err)
}

// trial is a harmless read of something that tools work on.
type trial struct {
	tool string
	args string
	what string
	fix  string
}

// reads makes one harmless read of each folder and database.
func (e *examiner) reads(ctx context.Context, registry *tools.Registry) {
	c := e.Config.Tools
	var trials []trial
	if c.Files != nil {
		trials = append(trials, trial{"list_files", `{"path":"."}`, "The folder " + c.Files.Root, "Let this process read the folder tools.files.root."})
	}
	if c.Docs != nil {
		trials = append(trials, trial{"search_docs", `{"query":"a"}`, "The folder " + c.Docs.Path, "Let this process read the folder tools.docs.path."})
	}
	for _, db := range c.SQL {
		args, err := json.Marshal(map[string]string{"database": db.Name})
		if err != nil || len(c.SQL) == 1 {
			args = []byte(`{}`)
		}
		trials = append(trials, trial{"get_schema", string(args), "The database " + db.Name, "Correct the url of tools.sql, or start that database."})
	}
	for _, t := range trials {
		e.read(ctx, registry, t)
	}
}

func (e *examiner) read(ctx context.Context, registry *tools.Registry, t trial) {
	tool, ok := registry.Get(t.tool)
	if !ok {
		return
	}
	args, err := tools.Parse(registry.Schema(t.tool), t.args)
	if err != nil {
		return // the tool takes other arguments than ours: nothing is known of it
	}
	ctx, cancel := context.WithTimeout(ctx, e.Config.Limits.ToolTimeout)
	defer cancel()
	if _, err = tool.Call(ctx, tools.Call{Run: "doctor", Step: "1", Args: args.Canonical}); err != nil {
		e.broken("tools", t.fix, "%s cannot be read: %s", t.what, failure(err))
		return
	}
	e.ok("tools", "%s can be read.", t.what)
}

// services looks whether somebody listens where http tools would call. It calls
// none of them: a declared call may do anything.
func (e *examiner) services(ctx context.Context) {
	seen := map[string]bool{}
	for _, h := range e.Config.Tools.HTTP {
		u, err := url.Parse(h.URL)
		if err != nil || u.Host == "" || seen[u.Host] {
			continue
		}
		seen[u.Host] = true
		e.listens(ctx, h.Name, u)
	}
}

func (e *examiner) listens(ctx context.Context, name string, u *url.URL) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		e.warn("tools", "Start the service, or correct the url of tools.http.", "Nobody answers at %s, which %s calls.", u.Host, name)
		return
	}
	if err := conn.Close(); err != nil {
		return // it was reached
	}
	e.ok("tools", "%s, which %s calls, can be reached.", u.Host, name)
}

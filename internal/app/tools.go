package app

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/internal/store"
	"countersign/tools"
	"countersign/tools/docs"
	"countersign/tools/files"
	"countersign/tools/httpapi"
	"countersign/tools/sqldb"
	"countersign/tools/stats"
)

func (a *edition) wireTools(ctx context.Context) error {
	if err := a.guardPaths(); err != nil {
		return err
	}
	if a.hands != nil { // those of the edition before
		return a.wirePolicy()
	}
	a.hands = &hands{}
	var all []tools.Tool
	for _, build := range []func() ([]tools.Tool, error){a.fileTools, a.sqlTools, a.httpTools, a.openAPITools, a.metricTools,
		func() ([]tools.Tool, error) { return a.docTools(ctx) },
		func() ([]tools.Tool, error) { return a.sandboxTools(ctx) },
	} {
		ts, err := build()
		if err != nil {
			return err
		}
		all = append(all, ts...)
	}
	registry, err := tools.NewRegistry(append(all, a.opt.Extra...)...)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "A tool cannot be used as it is configured: %s.", err)
	}
	a.registry = registry
	if err := a.wireServers(ctx); err != nil {
		return err
	}
	return a.wirePolicy()
}

func (a *edition) fileTools() ([]tools.Tool, error) {
	f := a.cfg.Tools.Files
	if f == nil {
		return nil, nil
	}
	ts, err := files.New(f.Root)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "tools.files.root: the folder %s cannot be used: %s.", f.Root, err)
	}
	return restrict(append(ts, stats.New()), f.Access), nil
}

func (a *edition) docTools(ctx context.Context) ([]tools.Tool, error) {
	d := a.cfg.Tools.Docs
	if d == nil {
		return nil, nil
	}
	ts, closer, err := docs.New(ctx, docs.Config{Path: d.Path, Index: a.docsIndex(), Warm: a.store != nil, Now: a.now, Logger: a.log})
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "tools.docs.path: the folder %s cannot be used: %s.", d.Path, err)
	}
	a.closers.add(closer.Close)
	return restrict(ts, d.Access), nil
}

// docsIndex is a file beside our own SQLite database, which one process serves at a time.
// On Postgres, where there may be replicas, and without a database each process keeps
// its index in memory.
func (a *edition) docsIndex() string {
	file, ok := strings.CutPrefix(a.cfg.Database.URL.Reveal(), "sqlite:")
	if !ok || a.store == nil {
		return ""
	}
	return file + "-docs"
}

func (a *edition) sqlTools() ([]tools.Tool, error) {
	if len(a.cfg.Tools.SQL) == 0 {
		return nil, nil
	}
	var dbs []sqldb.Database
	for _, d := range a.cfg.Tools.SQL {
		dbs = append(dbs, sqldb.Database{
			Name: d.Name, URL: d.URL.Reveal(), Write: d.Write, Private: d.Private, Roles: d.Roles, Channels: idsOf(d.Channels), MaxCost: d.MaxCost,
			Refuse: store.OwnTables(),
		})
	}
	ts, closer, err := sqldb.New(dbs, sqldb.Limits{Timeout: a.cfg.Limits.ToolTimeout})
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "tools.sql: %s.", err)
	}
	a.closers.add(closer.Close)
	return restrict(ts, sharedAccess(a.cfg.Tools.SQL)), nil
}

// sharedAccess is the strictest of what is said of the databases: they share their tools.
func sharedAccess(dbs []config.SQL) config.Access {
	out := dbs[0].Access
	for _, d := range dbs {
		if d.Risk == string(tools.High) || out.Risk != string(tools.High) && d.Risk == string(tools.Medium) {
			out.Risk = d.Risk
		}
		out.Private = out.Private || d.Private
		if d.Egress != nil && (out.Egress == nil || *d.Egress) {
			out.Egress = d.Egress
		}
	}
	return out
}

func (a *edition) httpTools() ([]tools.Tool, error) {
	var out []tools.Tool
	for _, h := range a.cfg.Tools.HTTP {
		t, err := httpapi.New(declared(h), httpapi.Options{})
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "tools.http: %s.", err)
		}
		out = append(out, t)
	}
	return out, nil
}

func declared(h config.HTTPTool) httpapi.Tool {
	t := httpapi.Tool{
		Name: h.Name, Description: h.Description, Method: h.Method, URL: h.URL, Headers: map[string]string{}, Parameters: h.Parameters,
		Body: h.Body, ContentType: h.ContentType,
		Risk: tools.Risk(h.Risk), Roles: h.Roles, Channels: idsOf(h.Channels), Idempotent: h.Idempotent, Window: h.Window,
		Private: h.Private, PrivateNetwork: h.PrivateNetwork, Egress: h.Egress, Timeout: h.Timeout, MaxBytes: int(h.MaxBytes),
	}
	for name, value := range h.Headers {
		t.Headers[name] = value.Reveal()
	}
	if h.Pages != nil {
		t.Pages = &httpapi.Pages{Next: h.Pages.Next, Limit: h.Pages.Limit}
	}
	if h.Probe != nil {
		t.Probe = &httpapi.Read{Method: h.Probe.Method, URL: h.Probe.URL, Fields: h.Probe.Fields}
	}
	if h.Preview != nil {
		t.Preview = &httpapi.Read{Method: h.Preview.Method, URL: h.Preview.URL, Fields: h.Preview.Fields}
	}
	return t
}

func idsOf[S ~string](in []S) []string {
	var out []string
	for _, s := range in {
		out = append(out, string(s))
	}
	return out
}

// guardPaths refuses to start when a tool could reach what keeps the promises: our
// own database or configuration through a folder or a sql tool, our own listener
// through an address.
func (a *edition) guardPaths() error {
	own := a.ownFiles()
	roots := map[string]string{}
	if f := a.cfg.Tools.Files; f != nil {
		roots["tools.files.root"] = f.Root
	}
	if d := a.cfg.Tools.Docs; d != nil {
		roots["tools.docs.path"] = d.Path
	}
	for key, root := range roots {
		for _, file := range own {
			if within(root, file) {
				return fault.New(fault.Invalid, "%s: the folder %s holds %s, which no tool may reach. Move one of them.", key, root, file)
			}
		}
	}
	for _, d := range a.cfg.Tools.SQL {
		if config.SameDatabase(d.URL.Reveal(), a.cfg.Database.URL.Reveal()) {
			return fault.New(fault.Invalid, "tools.sql %s is countersign's own database, which no tool may reach. Give one of them another address.", d.Name)
		}
	}
	for _, h := range a.cfg.Tools.HTTP {
		if a.ownAddress(h.URL) {
			return fault.New(fault.Invalid, "tools.http %s calls countersign's own listener %s, which no tool may reach.", h.Name, a.cfg.HTTP.Addr)
		}
	}
	return nil
}

func (a *edition) ownFiles() []string {
	own := a.cfg.Files()
	if path, ok := strings.CutPrefix(a.cfg.Database.URL.Reveal(), "sqlite:"); ok {
		own = append(own, path)
	}
	return own
}

// within says whether a file lies in a folder, links resolved.
func within(folder, file string) bool {
	if file == "" {
		return false
	}
	rel, err := filepath.Rel(resolve(folder), resolve(file))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		return resolved
	}
	// The file may not exist yet: then its folder decides.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		return filepath.Join(dir, filepath.Base(abs))
	}
	return abs
}

func (a *edition) ownAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil || a.cfg.HTTP.Addr == "" {
		return false
	}
	_, port, err := net.SplitHostPort(a.cfg.HTTP.Addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	local := strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), "localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
	return local && hostPort(u, "80") == u.Hostname()+":"+port
}

func hostPort(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	return fmt.Sprintf("%s:%s", u.Hostname(), port)
}

package config

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ownFile is a file of ours that no tool may reach.
type ownFile struct {
	path string
	what string
}

// self refuses tools that would reach the bot itself: its database, in which
// approvals are rows, its configuration, its secrets, its own listener.
func (k *checker) self() {
	own := k.ownFiles()
	if t := k.Tools.Files; t != nil {
		k.apart("tools.files.root", t.Root, own)
	}
	if t := k.Tools.Docs; t != nil {
		k.apart("tools.docs.path", t.Path, own)
	}
	if t := k.Tools.Sandbox; t != nil {
		for i, m := range t.Mounts {
			k.apart(item("tools.sandbox.mounts", i)+".host", m.Host, own)
		}
	}
	for i, db := range k.Tools.SQL {
		if SameDatabase(db.URL.Reveal(), k.Database.URL.Reveal()) {
			k.fail(item("tools.sql", i)+".url", "is our own database, where approvals are kept; the agent gets no access to it")
		}
	}
	k.notOurListener()
}

func (k *checker) ownFiles() []ownFile {
	var own []ownFile
	if file, ok := sqliteFile(k.Database.URL.Reveal()); ok {
		own = append(own, ownFile{file, "our own database"})
	}
	if k.source.file != "" {
		own = append(own, ownFile{k.source.file, "our own configuration"})
	}
	for _, file := range k.source.secretFiles {
		own = append(own, ownFile{file, "a secret of ours"})
	}
	return own
}

// apart refuses a folder that holds, or is, one of our own files.
func (k *checker) apart(key, folder string, own []ownFile) {
	if folder == "" {
		return
	}
	for _, f := range own {
		if within(realPath(folder), realPath(f.path)) {
			k.fail(key, "holds %s (%s); name a folder apart from it", f.what, f.path)
		}
	}
}

func within(folder, file string) bool {
	rel, err := filepath.Rel(folder, file)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// realPath follows symbolic links as far as the path exists.
func realPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	rest := ""
	for p := abs; ; p = filepath.Dir(p) {
		if found, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(found, rest)
		}
		if filepath.Dir(p) == p {
			return abs
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// sqliteFile gives the file of sqlite:FILE, without options behind a question mark.
func sqliteFile(address string) (string, bool) {
	rest, ok := strings.CutPrefix(address, "sqlite:")
	file, _, _ := strings.Cut(rest, "?")
	return file, ok && file != ""
}

// SameDatabase reports whether two addresses lead to one database, as far as
// that can be told without asking the network.
func SameDatabase(a, b string) bool {
	fileA, sqliteA := sqliteFile(a)
	fileB, sqliteB := sqliteFile(b)
	if sqliteA || sqliteB {
		return sqliteA && sqliteB && sameFile(fileA, fileB)
	}
	return samePostgres(a, b)
}

// samePostgres reads two addresses as the driver does: the host, the port and the name of
// the database may stand in several places, and there may be several hosts.
func samePostgres(a, b string) bool {
	x, errX := pgconn.ParseConfig(a)
	y, errY := pgconn.ParseConfig(b)
	if errX != nil || errY != nil || x.Database != y.Database {
		return false
	}
	places := hostsOf(y)
	return slices.ContainsFunc(hostsOf(x), func(p pgconn.FallbackConfig) bool {
		return slices.ContainsFunc(places, func(q pgconn.FallbackConfig) bool { return p.Port == q.Port && sameHost(p.Host, q.Host) })
	})
}

func hostsOf(c *pgconn.Config) []pgconn.FallbackConfig {
	hosts := []pgconn.FallbackConfig{{Host: c.Host, Port: c.Port}}
	for _, f := range c.Fallbacks {
		hosts = append(hosts, *f)
	}
	return hosts
}

// sameFile sees through symbolic and, for files that exist, hard links.
func sameFile(a, b string) bool {
	if realPath(a) == realPath(b) {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func orPort(u *url.URL, standard string) string {
	if p := u.Port(); p != "" {
		return p
	}
	return standard
}

// sameHost compares host names; every name of this machine's loopback is one.
func sameHost(a, b string) bool {
	return strings.EqualFold(a, b) || loopback(a) && loopback(b)
}

func loopback(host string) bool {
	if host == "" || strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// notOurListener refuses tools whose address is our own listener.
func (k *checker) notOurListener() {
	check := func(key, address string) {
		u, err := url.Parse(address)
		host, port, splitErr := net.SplitHostPort(k.HTTP.Addr)
		if address == "" || err != nil || splitErr != nil {
			return
		}
		standard := "80"
		if u.Scheme == "https" {
			standard = "443"
		}
		if orPort(u, standard) == port && sameHost(u.Hostname(), host) {
			k.fail(key, "is our own listener (http.addr is %s)", k.HTTP.Addr)
		}
	}
	for i, t := range k.Tools.HTTP {
		key := item("tools.http", i)
		check(key+".url", t.URL)
		if t.Preview != nil {
			check(key+".preview.url", t.Preview.URL)
		}
		if t.Probe != nil {
			check(key+".probe.url", t.Probe.URL)
		}
	}
	for i, m := range k.Tools.MCP {
		check(item("tools.mcp", i)+".url", m.URL)
	}
	if m := k.Tools.Metrics; m != nil {
		check("tools.metrics.prometheus_url", m.PrometheusURL)
	}
}

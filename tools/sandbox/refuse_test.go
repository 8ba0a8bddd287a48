package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
	"countersign/tools/sandbox"
)

func hasCode(err error, code string) bool {
	f, ok := errors.AsType[*tools.Failure](err)
	return ok && f.Code == code
}

// nowhere is a configuration whose engine does not exist.
func nowhere(t *testing.T) sandbox.Config {
	t.Helper()
	return sandbox.Config{Host: "unix://" + filepath.Join(t.TempDir(), "none.sock"), Image: "none"}
}

func TestWithoutAnEngine(t *testing.T) {
	t.Parallel()
	s := open(t, nowhere(t))
	if err := s.Ready(t.Context()); !errors.Is(err, sandbox.ErrNoEngine) {
		t.Errorf("Ready: %v", err)
	}
	f := failure(t, s, "true")
	if f.Code != "no_engine" {
		t.Errorf("Call: %v", f)
	}
	contains(t, f.Message, "nothing was run", "start Docker or Podman")
	if _, err := s.Preview(t.Context(), call("1", "true")); !hasCode(err, "no_engine") {
		t.Errorf("Preview: %v", err)
	}
}

func TestEngineMayComeLater(t *testing.T) {
	t.Parallel()
	e := realEngine(t)
	link := filepath.Join(t.TempDir(), "engine.sock")
	s := open(t, sandbox.Config{Host: "unix://" + link, Image: e.Image})
	if f := failure(t, s, "true"); f.Code != "no_engine" {
		t.Errorf("got %v", f)
	}
	if err := os.Symlink(strings.TrimPrefix(e.Host, "unix://"), link); err != nil {
		t.Fatal(err)
	}
	contains(t, run(t, s, "echo here"), "here")
}

func TestWithoutTheImage(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *sandbox.Config) { c.Image = "localhost/nothing:1" })
	if err := s.Ready(t.Context()); !errors.Is(err, sandbox.ErrNoImage) {
		t.Errorf("Ready: %v", err)
	}
	f := failure(t, s, "true")
	if f.Code != "no_image" {
		t.Errorf("got %v", f)
	}
	contains(t, f.Message, "localhost/nothing:1")
}

func TestImageWithVolumesIsRefused(t *testing.T) {
	t.Parallel()
	const name = "localhost/countersign-test-volumes:latest"
	if err := realEngine(t).MakeImage(t.Context(), name, "VOLUME /var/lib/something"); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(c *sandbox.Config) { c.Image = name })
	if err := s.Ready(t.Context()); !errors.Is(err, sandbox.ErrVolumes) {
		t.Errorf("Ready: %v", err)
	}
	if f := failure(t, s, "true"); f.Code != "no_image" || !strings.Contains(f.Message, "volumes") {
		t.Errorf("got %v", f)
	}
}

func TestImageWithoutAShellIsRefused(t *testing.T) {
	t.Parallel()
	const name = "localhost/countersign-test-empty:latest"
	if err := realEngine(t).MakeEmptyImage(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(c *sandbox.Config) { c.Image = name })
	if err := s.Ready(t.Context()); err == nil {
		t.Error("Ready found a shell")
	}
	if f := failure(t, s, "true"); f.Code != "not_started" {
		t.Errorf("got %v", f)
	}
	noContainers(t)
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"tcp://user:secret@10.0.0.1:2375", "ssh://secret@host", "relative.sock"} {
		s := open(t, sandbox.Config{Getenv: func(name string) string {
			return map[string]string{"DOCKER_HOST": host}[name]
		}, Image: "none"})
		err := s.Ready(t.Context())
		if !errors.Is(err, sandbox.ErrNoEngine) {
			t.Fatalf("%s: %v", host, err)
		}
		contains(t, err.Error(), "must be a socket of this machine")
		lacks(t, err.Error(), "secret")
	}
}

func TestHostOfTheEnvironment(t *testing.T) {
	t.Parallel()
	e := realEngine(t)
	for _, name := range []string{"CONTAINER_HOST", "DOCKER_HOST"} {
		s := start(t, func(c *sandbox.Config) {
			c.Host = ""
			c.Getenv = func(asked string) string { return map[string]string{name: e.Host}[asked] }
		})
		contains(t, run(t, s, "echo "+name), name)
	}
}

func TestRefusedMounts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, link, sockets := filepath.Join(folder, "file"), filepath.Join(folder, "link"), filepath.Join(folder, "sockets")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("/etc", link), os.Mkdir(sockets, 0o700), os.Mkdir(folder+"/a,b", 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ host, at, want string }{
		{"/", "/data", "never shown"},
		{"/etc", "/data", "never shown"},
		{"/etc/ssl", "/data", "never shown"},
		{"/etc/../etc", "/data", "never shown"},
		{"/proc", "/data", "never shown"},
		{"/proc/self", "/data", "never shown"},
		{"/sys", "/data", "never shown"},
		{"/dev", "/data", "never shown"},
		{"/var", "/data", "never shown"},
		{link, "/data", "never shown"},
		{sockets, "/data", "socket of a container engine"},
		{folder, "/data", "socket of a container engine"},
		{file, "/data", "not a folder"},
		{folder + "/missing", "/data", "no such file"},
		{"", "/data", "no path"},
		{folder + "/a,b", "/data", "comma"},
		{"OK", "data", "absolute path"},
		{"OK", "/", "absolute path"},
		{"OK", "/data/../etc", "absolute path"},
		{"OK", "/tmp", "belongs to the container"},
		{"OK", "/tmp/data", "belongs to the container"},
		{"OK", "/proc", "belongs to the container"},
		{"OK", "/usr", "belongs to the container"},
		{"OK", "/bin", "belongs to the container"},
		{"OK", "/a:ro,rw", "colon"},
	} {
		cfg := nowhere(t)
		cfg.Host = "unix://" + sockets + "/engine.sock"
		if c.host == "OK" {
			c.host = t.TempDir()
		}
		cfg.Mounts = []sandbox.Mount{{Host: c.host, At: c.at}}
		if _, _, err := sandbox.New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at %s: %v, want %q", c.host, c.at, err, c.want)
		}
	}
}

func TestMountsMustNotOverlap(t *testing.T) {
	t.Parallel()
	cfg := nowhere(t)
	cfg.Mounts = []sandbox.Mount{{Host: t.TempDir(), At: "/data"}, {Host: t.TempDir(), At: "/data/more"}}
	if _, _, err := sandbox.New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "/data is taken") {
		t.Errorf("got %v", err)
	}
}

func TestRefusedConfigurations(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*sandbox.Config){
		"no image":    func(c *sandbox.Config) { c.Image = "" },
		"memory":      func(c *sandbox.Config) { c.Memory = 1 << 20 },
		"pids":        func(c *sandbox.Config) { c.Pids = -1 },
		"cpus":        func(c *sandbox.Config) { c.CPUs = -1 },
		"timeout":     func(c *sandbox.Config) { c.Timeout = -1 },
		"environment": func(c *sandbox.Config) { c.Env = map[string]string{"A=B": "c"} },
		"parallel":    func(c *sandbox.Config) { c.Parallel = -1 },
	} {
		cfg := nowhere(t)
		change(&cfg)
		if _, _, err := sandbox.New(t.Context(), cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestRefusedCommands(t *testing.T) {
	t.Parallel()
	s := open(t, nowhere(t))
	for _, command := range []string{"", " \n\t", "a\x00b"} {
		c := call("1", command)
		if err := s.Check(t.Context(), c.Args); !hasCode(err, "invalid_arguments") {
			t.Errorf("%q: Check: %v", command, err)
		}
		if _, err := s.Call(t.Context(), c); !hasCode(err, "invalid_arguments") {
			t.Errorf("%q: Call: %v", command, err)
		}
	}
}

func TestPassesTheGates(t *testing.T) {
	t.Parallel()
	s := open(t, nowhere(t))
	r, err := tools.NewRegistry(s)
	if err != nil {
		t.Fatal(err)
	}
	spec := s.Spec()
	if spec.Risk != tools.High || !spec.Effects || spec.Egress {
		t.Errorf("got %+v", spec)
	}
	for raw, ok := range map[string]bool{
		`{"command":"ls"}`: true, `{}`: false, `{"command":"` + strings.Repeat("x", 4001) + `"}`: false, `{"command":"ls","user":"root"}`: false,
	} {
		if _, err := tools.Parse(r.Schema("run_command"), raw); (err == nil) != ok {
			t.Errorf("%.40s: %v", raw, err)
		}
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	folder := publicFolder(t)
	s := start(t, func(c *sandbox.Config) {
		c.Mounts = []sandbox.Mount{{Host: folder, At: "/data"}}
		c.Env = map[string]string{"TOKEN": leaked}
	})
	c := call(t.Name(), "ls /data\nimage: mine")
	p, err := s.Preview(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, p.Detail, "command:     ls /data\n             image: mine\n", "sha256:", folder+" at /data (read-only)", "memory 64 MiB, /tmp 8 MiB, 64 processes, 1 CPU, 1m0s", "environment: TOKEN")
	lacks(t, p.Detail, leaked)
	again, err := s.Preview(t.Context(), c)
	if err != nil || cmp.Diff(p, again) != "" {
		t.Errorf("the second differs: %s, %v", cmp.Diff(p, again), err)
	}
	c.Preview = &p
	if _, err := s.Call(t.Context(), c); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	for name := range p.Material {
		changed := p
		changed.Material = map[string]string{}
		for n, value := range p.Material {
			changed.Material[n] = value
		}
		changed.Material[name] += "!"
		c.Preview = &changed
		if _, err := s.Call(t.Context(), c); !hasCode(err, "changed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

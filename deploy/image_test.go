package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// containers is a Podman with a store of its own.
type containers struct {
	t      *testing.T
	podman string
	at     []string // flags that name the store
}

func podman(t *testing.T) containers {
	t.Helper()
	program := tool(t, "podman", "COUNTERSIGN_SANDBOX")
	if os.Getuid() != 0 {
		t.Skip("images are built as root here")
	}
	store := t.TempDir()
	return containers{t, program, []string{
		"--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run"), "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs",
	}}
}

// args are a command's, with the store.
func (c containers) args(args ...string) []string { return append(c.at[:len(c.at):len(c.at)], args...) }

func (c containers) run(args ...string) string {
	c.t.Helper()
	return run(c.t, c.podman, c.args(args...)...)
}

// image packs a program into the image that needs no base from a registry.
func (c containers) image(program []byte) {
	c.t.Helper()
	folder := c.t.TempDir()
	root := filepath.Join(folder, "dist/image/root")
	for _, dir := range []string{filepath.Join(folder, "dist/image/state/data"), filepath.Join(root, "etc/ssl/certs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "countersign"), program, 0o555); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"), []byte("placeholder\n"), 0o444); err != nil {
		c.t.Fatal(err)
	}
	dockerfile, err := filepath.Abs("Dockerfile")
	if err != nil {
		c.t.Fatal(err)
	}
	c.run("build", "--quiet", "--target", "prebuilt", "--tag", "countersign:test", "--file", dockerfile, folder)
}

// The image that packs a program built before: it needs no base from a registry.
func TestImage(t *testing.T) {
	t.Parallel()
	c := podman(t)
	c.image([]byte("placeholder\n"))
	var about []struct {
		Config struct {
			User, WorkingDir string
			Entrypoint, Cmd  []string
			Env              []string
		}
	}
	if err := json.Unmarshal([]byte(c.run("image", "inspect", "countersign:test")), &about); err != nil {
		t.Fatal(err)
	}
	is := about[0].Config
	got := fmt.Sprintf("%s %s %s %s", is.User, is.WorkingDir, is.Entrypoint, is.Cmd)
	if got != "65532:65532 /data [/countersign] [serve --log-format json]" || !strings.Contains(fmt.Sprint(is.Env), "DATABASE_URL=sqlite:/data/countersign.db") {
		t.Errorf("%s, %v", got, is.Env)
	}
	mounted := strings.TrimSpace(c.run("image", "mount", "countersign:test"))
	files := run(t, "find", mounted, "-mindepth", "1", "-printf", "%P %m %U\n")
	for _, want := range []string{"countersign 555 0\n", "data 755 65532\n", "etc/ssl/certs/ca-certificates.crt 444 0\n"} {
		if !strings.Contains(files, want) {
			t.Errorf("the image lacks %q:\n%s", want, files)
		}
	}
	c.run("image", "umount", "countersign:test")
}

package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The image that packs a program built before: it needs no base from a registry.
func TestImage(t *testing.T) {
	t.Parallel()
	podman := tool(t, "podman", "COUNTERSIGN_SANDBOX")
	if os.Getuid() != 0 {
		t.Skip("images are built as root here")
	}
	folder := t.TempDir()
	root := filepath.Join(folder, "dist/image/root")
	for _, dir := range []string{filepath.Join(folder, "dist/image/state/data"), filepath.Join(root, "etc/ssl/certs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, mode := range map[string]os.FileMode{"countersign": 0o555, "etc/ssl/certs/ca-certificates.crt": 0o444} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("placeholder\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	dockerfile, err := filepath.Abs("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(folder, "store")
	at := []string{"--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run"), "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"}
	with := func(args ...string) string { return run(t, podman, append(at[:len(at):len(at)], args...)...) }
	with("build", "--quiet", "--target", "prebuilt", "--tag", "countersign:test", "--file", dockerfile, folder)

	var about []struct {
		Config struct {
			User, WorkingDir string
			Entrypoint, Cmd  []string
			Env              []string
		}
	}
	if err := json.Unmarshal([]byte(with("image", "inspect", "countersign:test")), &about); err != nil {
		t.Fatal(err)
	}
	c := about[0].Config
	got := fmt.Sprintf("%s %s %s %s", c.User, c.WorkingDir, c.Entrypoint, c.Cmd)
	if got != "65532:65532 /data [/countersign] [serve --log-format json]" || !strings.Contains(fmt.Sprint(c.Env), "DATABASE_URL=sqlite:/data/countersign.db") {
		t.Errorf("%s, %v", got, c.Env)
	}
	mounted := strings.TrimSpace(with("image", "mount", "countersign:test"))
	files := run(t, "find", mounted, "-mindepth", "1", "-printf", "%P %m %U\n")
	for _, want := range []string{"countersign 555 0\n", "data 755 65532\n", "etc/ssl/certs/ca-certificates.crt 444 0\n"} {
		if !strings.Contains(files, want) {
			t.Errorf("the image lacks %q:\n%s", want, files)
		}
	}
	with("image", "umount", "countersign:test")
}

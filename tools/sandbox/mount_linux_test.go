package sandbox_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"countersign/tools/sandbox"
)

// Why binds are not recursive. It needs the right to mount.
func TestMountsInsideMountsAreNotShown(t *testing.T) {
	t.Parallel()
	folder := publicFolder(t)
	inner := filepath.Join(folder, "inner")
	if err := os.Mkdir(inner, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", inner, "tmpfs", 0, "mode=777"); err != nil {
		t.Logf("mounting is not allowed here (%v); only the folder itself is looked at", err)
	} else {
		t.Cleanup(func() { _ = syscall.Unmount(inner, 0) })
		if err := os.WriteFile(filepath.Join(inner, "hidden"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, func(c *sandbox.Config) { c.Mounts = []sandbox.Mount{{Host: folder, At: "/data"}} })
	text := run(t, s, "ls /data/inner; echo x > /data/inner/new; echo exit: $?")
	contains(t, text, "exit: 1")
	lacks(t, text, "hidden")
}

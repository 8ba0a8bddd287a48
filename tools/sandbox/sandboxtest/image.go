package sandboxtest

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// busyboxPaths is where distributions put a static busybox.
var busyboxPaths = []string{"/bin/busybox", "/usr/bin/busybox", "/bin/busybox.static", "/usr/local/bin/busybox"}

// busyboxArchive is a root file system: busybox, a link for each of its commands, the
// usual folders, and /tmp for everybody, since runtimes copy its mode to what they mount there.
func busyboxArchive(ctx context.Context) (io.Reader, error) {
	program, content, err := findBusybox()
	if err != nil {
		return nil, err
	}
	commands, err := exec.CommandContext(ctx, program, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", program, err)
	}
	var out bytes.Buffer
	w := &archive{Writer: tar.NewWriter(&out)}
	for _, folder := range []string{"bin", "etc", "proc", "sys", "dev", "var", "run"} {
		w.add(tar.Header{Name: folder + "/", Typeflag: tar.TypeDir, Mode: 0o755}, nil)
	}
	w.add(tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil)
	// Everybody may write there, unless the root is read-only.
	w.add(tar.Header{Name: "srv/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil)
	w.add(tar.Header{Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n"))
	w.add(tar.Header{Name: "bin/busybox", Mode: 0o755}, content)
	for _, name := range strings.Fields(string(commands)) {
		if name != "busybox" {
			w.add(tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox", Mode: 0o777}, nil)
		}
	}
	w.note(w.Close())
	return &out, w.err
}

// findBusybox takes the first that needs no shared library.
func findBusybox() (program string, content []byte, err error) {
	for _, p := range busyboxPaths {
		content, err := os.ReadFile(p)
		if err == nil && isStatic(content) {
			return p, content, nil
		}
	}
	return "", nil, fmt.Errorf("%w: install busybox-static", ErrMissing)
}

func isStatic(content []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return false
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

// archive remembers its first error.
type archive struct {
	*tar.Writer
	err error
}

func (a *archive) add(h tar.Header, content []byte) {
	h.Size, h.ModTime = int64(len(content)), time.Unix(0, 0)
	if h.Typeflag == 0 {
		h.Typeflag = tar.TypeReg
	}
	a.note(a.WriteHeader(&h))
	_, err := a.Write(content)
	a.note(err)
}

func (a *archive) note(err error) {
	if a.err == nil {
		a.err = err
	}
}

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"countersign/tools"
)

// errMount is matched by every refusal of a mount.
var errMount = errors.New("mount")

// closedFolders are not mounted, nor anything in them, nor anything around them: the
// system's interfaces and accounts, and the engines' own files.
var closedFolders = []string{
	"/proc", "/sys", "/dev", "/etc", "/boot",
	"/var/lib/docker", "/var/lib/containers", "/var/lib/containerd", "/run/containers", "/run/containerd",
}

// closedPoints are places in a container that belong to its set-up.
var closedPoints = []string{"/proc", "/sys", "/dev", "/tmp", "/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/lib"}

// resolveMounts checks what is declared and follows symlinks, so that the folder that
// was checked is the one that is mounted. Sockets are those of engines.
func resolveMounts(declared []Mount, sockets []string) ([]Mount, error) {
	var out []Mount
	for _, m := range declared {
		host, err := resolveHost(m.Host, sockets)
		if err != nil {
			return nil, err
		}
		if err := checkPoint(m.At, out); err != nil {
			return nil, err
		}
		out = append(out, Mount{Host: host, At: m.At})
	}
	return out, nil
}

func resolveHost(declared string, sockets []string) (string, error) {
	full, err := filepath.Abs(declared)
	if err != nil || declared == "" {
		return "", fmt.Errorf("%w: %q is no path", errMount, declared)
	}
	host, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", fmt.Errorf("%w of %s: %w", errMount, declared, err)
	}
	if info, err := os.Stat(host); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%w of %s: it is not a folder", errMount, declared)
	}
	if strings.ContainsAny(host, ":,\"\n\r\x00") {
		return "", fmt.Errorf("%w of %s: engines cannot mount a path with a colon, comma, quote or line break", errMount, declared)
	}
	for _, closed := range closedFolders {
		if target := realPath(closed); within(host, target) || within(target, host) {
			return "", fmt.Errorf("%w of %s: %s is never shown to a container", errMount, declared, closed)
		}
	}
	for _, socket := range sockets {
		if within(realPath(socket), host) {
			return "", fmt.Errorf("%w of %s: it holds %s, the socket of a container engine", errMount, declared, socket)
		}
	}
	return host, nil
}

// realPath follows symlinks as far as the path exists: /var/run is often a link.
func realPath(p string) string {
	for rest := ""; ; {
		if target, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(target, rest)
		}
		if p == "/" {
			return filepath.Join(p, rest)
		}
		p, rest = filepath.Dir(p), filepath.Join(filepath.Base(p), rest)
	}
}

// within says whether p is the folder or lies in it.
func within(p, folder string) bool {
	return p == folder || folder == "/" || strings.HasPrefix(p, folder+"/")
}

func checkPoint(at string, before []Mount) error {
	switch {
	case !path.IsAbs(at) || path.Clean(at) != at || at == "/":
		return fmt.Errorf("%w at %q: it must be an absolute path below /, like /data", errMount, at)
	case strings.ContainsAny(at, ":,\"\n\r\x00"):
		return fmt.Errorf("%w at %q: engines cannot mount at a path with a colon, comma, quote or line break", errMount, at)
	}
	for _, closed := range closedPoints {
		if within(at, closed) || within(closed, at) {
			return fmt.Errorf("%w at %s: %s belongs to the container itself", errMount, at, closed)
		}
	}
	for _, m := range before {
		if within(at, m.At) || within(m.At, at) {
			return fmt.Errorf("%w at %s: %s is taken", errMount, at, m.At)
		}
	}
	return nil
}

// maxLook bounds the search through a mounted folder.
const maxLook = 20000

// stillMountable is asked before each command. A socket or pipe in a folder is a way out
// that read-only mounts leave open, since talking through it does not write to the
// folder; and a folder that was exchanged for a link was not checked.
func stillMountable(m Mount) error {
	if target, err := filepath.EvalSymlinks(m.Host); err != nil || target != m.Host {
		return &tools.Failure{Code: "mount", Message: "The folder for " + m.At + " is gone or was replaced; an operator has to look at it."}
	}
	seen := 0
	way := ""
	err := filepath.WalkDir(m.Host, func(p string, entry fs.DirEntry, err error) error {
		if seen++; seen > maxLook {
			return fs.SkipAll
		}
		if err == nil && !slices.Contains([]fs.FileMode{0, fs.ModeDir, fs.ModeSymlink}, entry.Type()) {
			way = p
			return fs.SkipAll
		}
		return nil // what we cannot read, the container's user most likely cannot either
	})
	if err == nil && way == "" {
		return nil
	}
	inside := m.At + strings.TrimPrefix(way, m.Host)
	return &tools.Failure{Code: "mount", Message: inside + " is a socket, pipe or device, through which a command could leave the container; an operator has to take it out of the folder."}
}

func mountPoints(ms []Mount) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.At)
	}
	return out
}

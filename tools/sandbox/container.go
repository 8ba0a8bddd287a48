package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// nobody is the user of every command: it owns nothing.
const nobody = "65534:65534"

// Labels by which our containers are found again.
const (
	labelOwner = "countersign.sandbox"       // Config.Label of the process that made it
	labelUntil = "countersign.sandbox.until" // unix seconds after which nobody wants it any more
)

// Limits of the kernel's own kind. They are always sent, since an engine's defaults may
// exceed what the machine grants to the engine. Those of processes count for the user on
// the whole machine, so they are far above Pids, which does the work.
const (
	maxFiles     = 1024
	minProcesses = 1024
	shmBytes     = 16 << 20
)

// proxyVariables are blanked, since Podman hands those of its own environment to every
// container, and they may hold credentials.
var proxyVariables = []string{
	"http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy",
	"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY",
}

// job is one command to run.
type job struct {
	name    string // of the container
	image   string // id
	command string
}

// creation is the whole request for a container.
func (s *Sandbox) creation(j job) client.ContainerCreateOptions {
	now := 0 // seconds between the signal to stop and the kill
	return client.ContainerCreateOptions{
		Name: j.name,
		Config: &container.Config{
			Image: j.image, Entrypoint: []string{"/bin/sh", "-c", "--"}, Cmd: []string{j.command},
			User: nobody, WorkingDir: "/tmp", Env: s.environment(), Hostname: "sandbox",
			AttachStdout: true, AttachStderr: true, NetworkDisabled: true,
			StopSignal: "SIGKILL", StopTimeout: &now, Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
			Labels: map[string]string{labelOwner: s.cfg.Label, labelUntil: s.until()},
		},
		HostConfig: s.walls(),
	}
}

// walls are what keeps a command in.
func (s *Sandbox) walls() *container.HostConfig {
	pids := int64(s.cfg.Pids)
	processes := max(minProcesses, 2*pids*int64(s.cfg.Parallel))
	return &container.HostConfig{
		NetworkMode: "none", IpcMode: "private", ReadonlyRootfs: true, ShmSize: shmBytes,
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		Tmpfs: s.tmpfs(), Mounts: s.binds(),
		// The engine keeps no log of the output: a flood would fill the machine's disk.
		LogConfig:     container.LogConfig{Type: "none"},
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Resources: container.Resources{
			Memory: s.cfg.Memory, MemorySwap: s.cfg.Memory, PidsLimit: &pids,
			NanoCPUs: int64(s.cfg.CPUs * 1e9),
			Ulimits: []*container.Ulimit{
				{Name: "nofile", Soft: maxFiles, Hard: maxFiles},
				{Name: "nproc", Soft: processes, Hard: processes},
				{Name: "core", Soft: 0, Hard: 0},
			},
		},
	}
}

// tmpfs is what a command may write to, and what Podman would make writable besides,
// unless it is told otherwise: there, programs could be stored and started.
func (s *Sandbox) tmpfs() map[string]string {
	const closed = "ro,nosuid,nodev,noexec,mode=755,size=4k"
	return map[string]string{
		"/tmp": fmt.Sprintf("rw,nosuid,nodev,noexec,mode=1777,size=%d", s.cfg.Tmp),
		"/run": closed, "/var/tmp": closed,
	}
}

// binds are the mounts. Not recursive: what is mounted inside a folder would stay
// writable with engines that make only the folder itself read-only.
func (s *Sandbox) binds() []mount.Mount {
	var out []mount.Mount
	for _, m := range s.cfg.Mounts {
		out = append(out, mount.Mount{
			Type: mount.TypeBind, Source: m.Host, Target: m.At, ReadOnly: true,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate, NonRecursive: true},
		})
	}
	return out
}

func (s *Sandbox) environment() []string {
	all := map[string]string{"HOME": "/tmp"}
	for _, name := range proxyVariables {
		all[name] = ""
	}
	maps.Copy(all, s.cfg.Env)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out
}

func (s *Sandbox) until() string {
	return strconv.FormatInt(s.cfg.Now().Add(s.cfg.Timeout+grace).Truncate(time.Second).Unix(), 10)
}

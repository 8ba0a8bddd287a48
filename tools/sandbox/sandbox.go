// Package sandbox runs shell commands in containers, through the Docker Engine API
// (which Podman's service speaks too). A container has no network, a read-only root,
// read-only mounts, no capabilities, an ordinary user, and limits of memory, processes,
// processor, time and output; it lives for one command and is always removed.
//
// Nothing outside can be changed by a command, so an outcome is never uncertain: what
// did not end by itself was stopped and removed, and may be run again.
package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"countersign/tools"
)

// Config says where commands run and within which limits. Only Image is required.
type Config struct {
	Host        string              // the engine's socket, unix:///path; empty: CONTAINER_HOST, DOCKER_HOST, then the usual sockets
	Image       string              // must be there and hold /bin/sh; it is never pulled
	Mounts      []Mount             // folders of this machine, read-only
	Memory      int64               // bytes, /tmp included; swap is off; 0: 256 MiB
	Pids        int                 // processes and threads; 0: 64
	CPUs        float64             // processors; 0: 1
	Tmp         int64               // bytes of /tmp; 0: a quarter of Memory
	Timeout     time.Duration       // of one command; 0: 30 s
	OutputBytes int                 // kept of each of stdout and stderr, half from its head and half from its tail; 0: 64 KiB
	Parallel    int                 // commands at a time, others wait; 0: 4
	Env         map[string]string   // the environment, beside the image's own; values are not shown to approvers
	Label       string              // names this process among those that share the engine; containers that a predecessor of this name left are removed at start. Empty: only overdue ones are
	Getenv      func(string) string // nil: os.Getenv
	Now         func() time.Time    // nil: time.Now
	Logger      *slog.Logger        // nil: nothing is logged
}

// Mount shows a folder of this machine in the container, read-only. What is mounted
// inside the folder is not shown.
type Mount struct {
	Host string // a folder of this machine
	At   string // absolute path in the container
}

// Defaults of Config.
const (
	defaultMemory   = 256 << 20
	defaultPids     = 64
	defaultTimeout  = 30 * time.Second
	defaultOutput   = 64 << 10
	defaultParallel = 4
	minMemory       = 6 << 20 // the engines refuse less
)

// grace is what a call may take beside the waiting and the command itself: creating,
// starting, killing and removing a container.
const grace = 20 * time.Second

// sweepEvery is how often overdue containers are looked for.
const sweepEvery = time.Minute

// maxCommand is in characters; a person has to read all of it.
const maxCommand = 4000

// Sandbox is the tool run_command.
type Sandbox struct {
	cfg    Config
	spec   tools.Spec
	slots  chan struct{}
	cancel context.CancelFunc
	swept  chan struct{}

	mu     sync.Mutex
	client *client.Client // nil until an engine answered
	reaped bool           // what a predecessor left was removed
}

// New checks the configuration and returns the tool, a *Sandbox. An engine or an image
// that is missing is no error: each call then says so, until they are there. The closer
// ends the search for overdue containers.
func New(ctx context.Context, cfg Config) (tools.Tool, io.Closer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, nil, fmt.Errorf("sandbox: %w", err)
	}
	s := &Sandbox{cfg: cfg, slots: make(chan struct{}, cfg.Parallel), swept: make(chan struct{})}
	s.spec = s.describe()
	if _, err := s.engine(ctx); err != nil {
		cfg.Logger.WarnContext(ctx, "no container engine: run_command refuses until there is one", "error", err)
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go s.sweep(background)
	return s, s, nil
}

func (c Config) withDefaults() Config {
	c.Memory = orElse(c.Memory, defaultMemory)
	c.Pids = orElse(c.Pids, defaultPids)
	c.CPUs = orElse(c.CPUs, 1)
	c.Tmp = orElse(c.Tmp, c.Memory/4)
	c.Timeout = orElse(c.Timeout, defaultTimeout)
	c.OutputBytes = orElse(c.OutputBytes, defaultOutput)
	c.Parallel = orElse(c.Parallel, defaultParallel)
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func orElse[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// check refuses limits that no engine keeps, and resolves the mounts.
func (c *Config) check() error {
	switch {
	case c.Image == "":
		return fmt.Errorf("no image is named")
	case c.Memory < minMemory:
		return fmt.Errorf("memory of %d bytes is too little; at least %d are needed", c.Memory, minMemory)
	case c.Pids < 1 || c.CPUs <= 0 || c.Tmp < 1 || c.Timeout <= 0 || c.OutputBytes < 2 || c.Parallel < 1:
		return fmt.Errorf("a limit is negative")
	}
	for name, value := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("environment: %q is no name of a variable, or its value holds a NUL", name)
		}
	}
	mounts, err := resolveMounts(c.Mounts, c.sockets())
	c.Mounts = mounts
	return err
}

// describe is the tool's contract. It has effects as far as the gates are concerned, so
// that somebody countersigns it; and since a container leaves nothing behind but its
// output, running the same step again harms nobody: it is idempotent.
func (s *Sandbox) describe() tools.Spec {
	c := s.cfg
	text := fmt.Sprintf("Run one shell command line with /bin/sh -c in a fresh container, which is removed afterwards. "+
		"No network; only /tmp can be written (%s, working directory, nothing in it can be executed); "+
		"%s of memory, %d processes, %s.", size(c.Tmp), size(c.Memory), c.Pids, c.Timeout)
	if len(c.Mounts) > 0 {
		text += " Read-only folders: " + strings.Join(mountPoints(c.Mounts), ", ") + "."
	}
	return tools.Spec{
		Name: "run_command", Description: text, Parameters: parameters(),
		Risk: tools.High, Effects: true, Idempotent: true,
		Timeout: 2*c.Timeout + grace, // waiting for a place, then running
		Target:  fmt.Sprint(c.sockets(), c.Image, c.Mounts, slices.Sorted(maps.Keys(c.Env))),
	}
}

func parameters() json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{"command":{"type":"string","minLength":1,"maxLength":%d,`+
		`"description":"Shell command line."}},"required":["command"],"additionalProperties":false}`, maxCommand)
}

// Spec describes run_command.
func (s *Sandbox) Spec() tools.Spec { return s.spec }

// Check refuses a command that is none.
func (s *Sandbox) Check(_ context.Context, args json.RawMessage) error {
	_, err := commandOf(args)
	return err
}

func commandOf(args json.RawMessage) (string, error) {
	var in struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return "", &tools.Failure{Code: "invalid_arguments", Message: "The arguments are not a JSON object with a command."}
	}
	if strings.TrimSpace(in.Command) == "" {
		return "", &tools.Failure{Code: "invalid_arguments", Pointer: "/command", Message: "The command is empty."}
	}
	if strings.ContainsRune(in.Command, 0) {
		return "", &tools.Failure{Code: "invalid_arguments", Pointer: "/command", Message: "The command holds a NUL character, which no shell takes."}
	}
	return in.Command, nil
}

// Close ends the search for overdue containers and the connections to the engine. It
// does not end commands: their contexts do.
func (s *Sandbox) Close() error {
	s.cancel()
	<-s.swept
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"countersign/tools"
)

// Why there is nothing to run a command in.
var (
	// ErrNoEngine is matched by errors that say that no container engine answers.
	ErrNoEngine = errors.New("no container engine answers")
	// ErrNoImage is matched by errors that say that the engine does not have the image.
	ErrNoImage = errors.New("the image is not there")
	// ErrVolumes is matched by errors that say that the image declares volumes: they
	// would be writable, and as large as the machine's disk.
	ErrVolumes = errors.New("the image declares volumes")
)

// errInterrupted is why the outcome of a command that had begun is not known.
var errInterrupted = errors.New("the command was interrupted")

// minVersion of the Engine API is what the oldest engine that is tested speaks: Podman 4.3.
const minVersion = "1.41"

// dialTimeout bounds the question whether an engine answers at all.
const dialTimeout = 3 * time.Second

// sockets are where an engine may be, the most wanted first. What the configuration or
// the environment names is not second-guessed.
func (c Config) sockets() []string {
	for _, host := range []string{c.Host, c.Getenv("CONTAINER_HOST"), c.Getenv("DOCKER_HOST")} {
		if host != "" {
			return []string{strings.TrimPrefix(host, "unix://")}
		}
	}
	usual := []string{"/var/run/docker.sock", "/run/podman/podman.sock"}
	if dir := c.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		usual = append(usual, dir+"/podman/podman.sock", dir+"/docker.sock")
	}
	return usual
}

// engine connects to the first engine that answers, and keeps the connection. The first
// time, it removes what a predecessor left; no command of ours runs yet.
func (s *Sandbox) engine(ctx context.Context) (*client.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, nil
	}
	var failed []error
	for _, socket := range s.cfg.sockets() {
		c, err := dial(ctx, socket)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		s.client = c
		if !s.reaped {
			err := s.reap(ctx, c, true)
			s.reaped = err == nil
		}
		return c, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrNoEngine, errors.Join(failed...))
}

// dial takes unix sockets alone: mounts are folders of this machine, and an engine that
// is reached over a network hands out the rights of its machine's root.
func dial(ctx context.Context, socket string) (*client.Client, error) {
	if !strings.HasPrefix(socket, "/") {
		return nil, fmt.Errorf("the engine must be a socket of this machine, unix:///path, not %s", schemeOf(socket))
	}
	if _, err := os.Stat(socket); err != nil {
		return nil, err
	}
	c, err := client.New(client.WithHost("unix://"+socket), client.WithUserAgent("countersign"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	ping, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	if err == nil && versions.LessThan(ping.APIVersion, minVersion) {
		err = fmt.Errorf("the engine at %s speaks API %s; at least %s is needed", socket, ping.APIVersion, minVersion)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// schemeOf tells an address without what may be secret in it.
func schemeOf(address string) string {
	scheme, _, found := strings.Cut(address, "://")
	if !found {
		return "a relative path"
	}
	return scheme
}

// lost forgets an engine that does not answer any more, so that the next call looks anew.
func (s *Sandbox) lost(c *client.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == c {
		s.client = nil
	}
}

// image is what a command will run in, by its content and not by its name.
type image struct {
	id     string // digest of the image's configuration
	digest string // digest in the registry that it came from, when it did
}

func (s *Sandbox) image(ctx context.Context, c *client.Client) (image, error) {
	found, err := c.ImageInspect(ctx, s.cfg.Image)
	if cerrdefs.IsNotFound(err) {
		return image{}, fmt.Errorf("%w: %s", ErrNoImage, s.cfg.Image)
	}
	if err != nil {
		return image{}, err
	}
	if found.Config != nil && len(found.Config.Volumes) > 0 {
		return image{}, fmt.Errorf("%w: %s", ErrVolumes, s.cfg.Image)
	}
	i := image{id: found.ID}
	if len(found.RepoDigests) > 0 {
		i.digest = found.RepoDigests[0]
	}
	return i, nil
}

// Ready says whether a command would run: it tries one that does nothing. The error
// matches ErrNoEngine, ErrNoImage or ErrVolumes where that is the reason; it is for operators and
// may name paths of this machine.
func (s *Sandbox) Ready(ctx context.Context) error {
	c, err := s.engine(ctx)
	if err != nil {
		return err
	}
	i, err := s.image(ctx, c)
	if err != nil {
		return s.noted(c, err)
	}
	for _, m := range s.cfg.Mounts {
		if err := stillMountable(m); err != nil {
			return err
		}
	}
	out, err := s.run(ctx, c, job{name: namePrefix + "ready-" + randomPart(), image: i.id, command: "exit 0"})
	switch {
	case err != nil:
		return s.noted(c, err)
	case out.exit != 0:
		return fmt.Errorf("a command that does nothing ended with exit status %d: %s", out.exit, out.stderr.text())
	}
	return nil
}

// noted forgets the engine when the error says that it is gone.
func (s *Sandbox) noted(c *client.Client, err error) error {
	if client.IsErrConnectionFailed(err) {
		s.lost(c)
		return fmt.Errorf("%w: %w", ErrNoEngine, err)
	}
	return err
}

// refusal tells the model why there is no result. Engines' own words name paths of this
// machine, so they go to the log.
func (s *Sandbox) refusal(ctx context.Context, c *client.Client, err error) error {
	if known, ok := errors.AsType[*tools.Failure](err); ok {
		return known
	}
	if c != nil {
		err = s.noted(c, err)
	}
	s.cfg.Logger.ErrorContext(ctx, "a command could not be run in a container", "error", err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &tools.Failure{Code: "cancelled", Message: "The command was given up before it ended; its container was removed and nothing outside was changed."}
	case errors.Is(err, errInterrupted):
		return &tools.Failure{Code: "interrupted", Message: "The container or its engine was stopped by something else while the command ran, so its output is lost; nothing outside was changed. It may be run again."}
	case errors.Is(err, ErrNoEngine):
		return &tools.Failure{Code: "no_engine", Message: "No container engine answers, so nothing was run: an operator has to start Docker or Podman's service, or name its socket in DOCKER_HOST."}
	case errors.Is(err, ErrNoImage):
		return &tools.Failure{Code: "no_image", Message: "The container engine does not have the image " + s.cfg.Image + ", so nothing was run: an operator has to pull or build it."}
	case errors.Is(err, ErrVolumes):
		return &tools.Failure{Code: "no_image", Message: "The image " + s.cfg.Image + " declares volumes, which could be written to, so nothing was run: an operator has to choose an image without."}
	}
	return &tools.Failure{Code: "not_started", Message: "The container engine could not start the command; nothing was run. The log of the bot says why."}
}

package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"countersign/tools"
)

// errTimeout is why a command was stopped.
var errTimeout = errors.New("the command took too long")

// outcome is how a command ended.
type outcome struct {
	exit           int
	stopped        error // errTimeout or errFlood; exit means nothing then
	stdout, stderr *capture
}

// Call runs the command. An exit status other than zero is a result, for the model to
// read; every error is a *tools.Failure, since nothing outside can have changed.
func (s *Sandbox) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	command, err := commandOf(c.Args)
	if err != nil {
		return tools.Result{}, err
	}
	release, err := s.place(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	defer release()
	engine, i, err := s.prepare(ctx)
	if err != nil {
		return tools.Result{}, s.refusal(ctx, engine, err)
	}
	if err := unchanged(c.Preview, s.material(i, command)); err != nil {
		return tools.Result{}, err
	}
	out, err := s.run(ctx, engine, job{name: nameOf(c), image: i.id, command: command})
	if err != nil {
		return tools.Result{}, s.refusal(ctx, engine, err)
	}
	return s.report(out)
}

// place waits until fewer than Parallel commands run.
func (s *Sandbox) place(ctx context.Context) (release func(), err error) {
	timer := time.NewTimer(s.cfg.Timeout)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil, &tools.Failure{Code: "busy", Message: fmt.Sprintf("%d other commands are running; nothing was run. Try again later.", s.cfg.Parallel)}
}

// prepare finds the engine and the image and looks at the mounts once more. The engine
// is returned with an error too, when it was found.
func (s *Sandbox) prepare(ctx context.Context) (*client.Client, image, error) {
	c, err := s.engine(ctx)
	if err != nil {
		return nil, image{}, err
	}
	i, err := s.image(ctx, c)
	if err != nil {
		return c, i, err
	}
	for _, m := range s.cfg.Mounts {
		if err := stillMountable(m); err != nil {
			return c, i, err
		}
	}
	return c, i, nil
}

const namePrefix = "countersign-"

// nameOf is the same for every attempt at one step, so that a second attempt removes
// what the first one left before it begins.
func nameOf(c tools.Call) string {
	return namePrefix + tools.Digest("sandbox", c.Run, c.Step)[:32]
}

func randomPart() string { return rand.Text()[:16] }

// run makes the container, runs the command in it and removes it, whatever happens.
func (s *Sandbox) run(ctx context.Context, c *client.Client, j job) (outcome, error) {
	s.remove(ctx, c, j.name)
	defer s.remove(ctx, c, j.name) // by name: it may exist although the answer got lost
	created, err := c.ContainerCreate(ctx, s.creation(j))
	if err != nil {
		return outcome{}, err
	}
	// Attached before it starts, so that nothing of the output is missed.
	stream, err := c.ContainerAttach(ctx, created.ID, client.ContainerAttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return outcome{}, err
	}
	defer stream.Close()
	if _, err := c.ContainerStart(ctx, created.ID, client.ContainerStartOptions{}); err != nil {
		return outcome{}, s.startError(ctx, c, created.ID, err)
	}
	out, err := s.watch(ctx, c, created.ID, stream.HijackedResponse)
	if err != nil {
		err = fmt.Errorf("%w: %w", errInterrupted, err)
	}
	return out, err
}

// startError tells a start that failed, so that nothing ran, from one that something
// came between: a lost answer, or a container that was removed meanwhile.
func (s *Sandbox) startError(ctx context.Context, c *client.Client, id string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	found, lost := c.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if lost == nil && found.Container.State != nil && neverStarted(found.Container.State) {
		return err
	}
	return fmt.Errorf("%w: %w", errInterrupted, errors.Join(err, lost))
}

func neverStarted(state *container.State) bool {
	at, err := time.Parse(time.RFC3339Nano, state.StartedAt)
	return state.Status == container.StateCreated || err == nil && at.IsZero()
}

// watch reads the output to its end, then asks how the command ended: waiting by the
// engine's own call is slower, since Podman looks only four times a second.
func (s *Sandbox) watch(ctx context.Context, c *client.Client, id string, stream client.HijackedResponse) (outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, errTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, stream.Close)()
	m := &meter{left: int64(s.cfg.OutputBytes) * floodFactor}
	out := outcome{stdout: newCapture(s.cfg.OutputBytes, m), stderr: newCapture(s.cfg.OutputBytes, m)}
	_, err := stdcopy.StdCopy(out.stdout, out.stderr, stream.Reader)
	if errors.Is(err, errFlood) {
		out.stopped = errFlood
		return out, nil
	}
	if err == nil || ctx.Err() != nil {
		out.exit, err = exitOf(ctx, c, id)
	}
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), errTimeout) {
		out.stopped = errTimeout
		return out, nil
	}
	return out, err
}

// exitOf waits until the container does not run any more. After the end of its output
// that is a matter of milliseconds, unless the command closed its output itself.
func exitOf(ctx context.Context, c *client.Client, id string) (int, error) {
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		found, err := c.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		if err != nil {
			return 0, err
		}
		if state := found.Container.State; state != nil && !state.Running && state.Status != container.StateCreated {
			return state.ExitCode, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// removeTimeout bounds the removal of one container, which goes on when the call was
// cancelled.
const removeTimeout = 10 * time.Second

// remove kills and removes a container by id or name. One that is not there is fine;
// one that stays is found again when it is overdue.
func (s *Sandbox) remove(ctx context.Context, c *client.Client, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	// Killed first, since a forced removal may ask politely and wait.
	if _, err := c.ContainerKill(ctx, name, client.ContainerKillOptions{Signal: "SIGKILL"}); cerrdefs.IsNotFound(err) {
		return
	}
	_, err := c.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !cerrdefs.IsNotFound(err) {
		s.cfg.Logger.ErrorContext(ctx, "a container could not be removed", "container", name, "error", err)
	}
}

// Package sandboxtest gives tests a real container engine with a small image: a Podman
// service of their own, with its own storage, or the engine that TEST_CONTAINER_HOST
// names. Nothing is pulled from a registry.
package sandboxtest

import (
	"archive/tar"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"
)

// ErrMissing is matched when something has to be installed first; its text says what.
var ErrMissing = errors.New("no container engine for tests")

// Image is the name of the image that Start makes: busybox alone.
const Image = "localhost/countersign-test-busybox:latest"

// startTimeout is generous: the first start writes the storage's files.
const startTimeout = 60 * time.Second

// idleSeconds is after how much silence a service ends that nobody stopped.
const idleSeconds = "120"

//go:embed containers.conf
var containersConf []byte

// Engine is a running container engine.
type Engine struct {
	Host   string // unix:///path of its socket
	Image  string // name of an image with /bin/sh
	client *client.Client
	folder string    // empty: the engine is not ours
	server *exec.Cmd // nil: the engine is not ours
	ended  chan struct{}
	log    *os.File
}

// Start starts an engine and makes the image. The caller stops it. Environment is what
// the service gets beside the test's own, NAME=value.
func Start(ctx context.Context, environment ...string) (*Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	e := &Engine{Host: os.Getenv("TEST_CONTAINER_HOST"), Image: Image}
	if e.Host == "" {
		if err := e.serve(environment); err != nil {
			return nil, errors.Join(err, e.Stop())
		}
	}
	if err := e.connect(ctx); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	if err := e.MakeImage(ctx, Image); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// serve starts Podman's service with storage, locks and settings of its own.
func (e *Engine) serve(environment []string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: run the tests as root, or set TEST_CONTAINER_HOST to the socket of a running engine", ErrMissing)
	}
	podman, err := exec.LookPath("podman")
	if err != nil {
		return fmt.Errorf("%w: install podman and runc, or set TEST_CONTAINER_HOST to the socket of a running engine", ErrMissing)
	}
	if _, err := exec.LookPath("runc"); err != nil {
		return fmt.Errorf("%w: install runc", ErrMissing)
	}
	if e.folder, err = os.MkdirTemp("", "sandboxtest"); err != nil {
		return err
	}
	if err := e.settings(); err != nil {
		return err
	}
	socket := e.in("engine.sock")
	e.Host = "unix://" + socket
	//nolint:noctx // it outlives the context of its start
	e.server = exec.Command(podman, "--root", e.in("storage"), "--runroot", e.in("run"), "--tmpdir", e.in("tmp"),
		"--storage-driver", "vfs", "system", "service", "--time="+idleSeconds, e.Host)
	e.server.Env = append(ownEnvironment(), "CONTAINERS_CONF="+e.in("containers.conf"), "CONTAINERS_STORAGE_CONF="+e.in("storage.conf"))
	e.server.Env = append(e.server.Env, environment...)
	e.server.Dir = e.folder // conmon leaves notes in its working directory
	e.server.Stdout, e.server.Stderr = e.log, e.log
	if err := e.server.Start(); err != nil {
		return err
	}
	e.ended = make(chan struct{})
	go func() {
		defer close(e.ended)
		_ = e.server.Wait() // that a signal ended it is no news
	}()
	return nil
}

// ownEnvironment is the test's without CONTAINER_HOST, whose mere presence makes Podman
// a client of another engine.
func ownEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CONTAINER_HOST=") })
}

func (e *Engine) settings() error {
	var err error
	if e.log, err = os.Create(e.in("log")); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(e.in("containers.conf"), containersConf, 0o600),
		os.WriteFile(e.in("storage.conf"), []byte("[storage]\ndriver = \"vfs\"\ngraphroot = \""+e.in("storage")+"\"\nrunroot = \""+e.in("run")+"\"\n"), 0o600),
	)
}

func (e *Engine) in(name string) string { return filepath.Join(e.folder, name) }

// connect waits until the engine answers.
func (e *Engine) connect(ctx context.Context) error {
	var err error
	if e.client, err = client.New(client.WithHost(e.Host)); err != nil {
		return err
	}
	for {
		_, err := e.client.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
		if err == nil {
			return nil
		}
		select {
		case <-e.ended:
			return fmt.Errorf("podman's service ended: %s", e.said())
		case <-ctx.Done():
			return fmt.Errorf("the engine does not answer: %w\n%s", err, e.said())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// said is what the engine logged.
func (e *Engine) said() string {
	if e.folder == "" {
		return ""
	}
	text, err := os.ReadFile(e.in("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// MakeImage imports busybox as an image of that name, NAME:tag, changed by instructions
// of a Dockerfile.
func (e *Engine) MakeImage(ctx context.Context, image string, changes ...string) error {
	archive, err := busyboxArchive(ctx)
	if err != nil {
		return err
	}
	return e.importImage(ctx, image, archive, changes)
}

// MakeEmptyImage imports an image that holds nothing but an empty folder.
func (e *Engine) MakeEmptyImage(ctx context.Context, image string) error {
	var out bytes.Buffer
	w := &archive{Writer: tar.NewWriter(&out)}
	w.add(tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil)
	w.note(w.Close())
	if w.err != nil {
		return w.err
	}
	return e.importImage(ctx, image, &out, nil)
}

func (e *Engine) importImage(ctx context.Context, image string, archive io.Reader, changes []string) error {
	name, tag, _ := strings.Cut(image, ":")
	answer, err := e.client.ImageImport(ctx, client.ImageImportSource{Source: archive, SourceName: "-"}, name, client.ImageImportOptions{Tag: tag, Changes: changes})
	if err != nil {
		return fmt.Errorf("importing the image: %w\n%s", err, e.said())
	}
	_, err = io.Copy(io.Discard, answer)
	return errors.Join(err, answer.Close())
}

// Containers lists the ids of all containers that there are, running or not.
func (e *Engine) Containers(ctx context.Context) ([]string, error) { return e.list(ctx, nil) }

// Labelled lists the ids of the containers with a label NAME=value.
func (e *Engine) Labelled(ctx context.Context, label string) ([]string, error) {
	return e.list(ctx, client.Filters{}.Add("label", label))
}

// Running lists the ids of the running containers with a label NAME=value.
func (e *Engine) Running(ctx context.Context, label string) ([]string, error) {
	return e.list(ctx, client.Filters{}.Add("label", label).Add("status", "running"))
}

func (e *Engine) list(ctx context.Context, filters client.Filters) ([]string, error) {
	found, err := e.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, c := range found.Items {
		ids = append(ids, c.ID)
	}
	return ids, nil
}

// Stop ends the engine with all its containers and removes its files. An engine that
// was there before goes on.
func (e *Engine) Stop() error {
	if e.server == nil {
		return os.RemoveAll(e.folder)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var errs []error
	if e.client != nil {
		ids, err := e.Containers(ctx)
		errs = append(errs, err)
		for _, id := range ids {
			_, err := e.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true})
			errs = append(errs, err)
		}
		errs = append(errs, e.client.Close())
	}
	if e.ended != nil {
		_ = e.server.Process.Signal(syscall.SIGTERM) // it may be gone already
		<-e.ended
	}
	errs = append(errs, e.log.Close(), e.cleanUp(ctx))
	return errors.Join(errs...)
}

// cleanUp removes the files. Podman cleans up after each container in a process of its
// own, which may still be writing.
func (e *Engine) cleanUp(ctx context.Context) error {
	for {
		err := os.RemoveAll(e.folder)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

package storetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Server is a throw-away Postgres server on a free port, which can be stopped and
// started again with everything in it.
type Server struct {
	Address string

	bin, dir string
	port     int
	as       *syscall.SysProcAttr
	running  *exec.Cmd
}

// NewServer starts a server that ends with the test. Where none is installed the test is skipped.
func NewServer(t testing.TB) *Server {
	t.Helper()
	if _, err := binaries(); err != nil && os.Getenv(requireVariable) != "require" {
		t.Skipf("no Postgres: %v", err)
	}
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.remove() })
	return s
}

func newServer() (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin}
	if s.dir, err = os.MkdirTemp("", "countersign-postgres-"); err != nil {
		return nil, err
	}
	if err := s.init(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *Server) init() (err error) {
	if s.as, err = ordinary(s.dir); err != nil {
		return err
	}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
	initdb.SysProcAttr, initdb.Dir = s.as, s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	if s.port, err = FreePort(); err != nil {
		return err
	}
	s.Address = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
	return s.Start()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Start runs the server and waits until it answers.
func (s *Server) Start() error {
	s.running = exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir, "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200")
	s.running.SysProcAttr, s.running.Dir = s.as, s.dir
	if err := s.running.Start(); err != nil {
		return err
	}
	return await(s.Address)
}

// Stop ends the server at once, with every connection to it.
func (s *Server) Stop() {
	if s.running == nil || s.running.Process == nil {
		return
	}
	_ = s.running.Process.Signal(syscall.SIGQUIT)
	_ = s.running.Wait() // its exit code says only that it was told to
}

func (s *Server) remove() error {
	s.Stop()
	return os.RemoveAll(s.dir)
}

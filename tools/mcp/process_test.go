//go:build unix

package mcp

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"countersign/tools"
)

// played is a server that this test binary plays.
func played(t *testing.T, role string, env map[string]string) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{roleVariable: role}
	for name, value := range env {
		all[name] = value
	}
	return Config{Command: []string{self}, Env: all}
}

func TestEnvironmentIsDeclared(t *testing.T) {
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-of-the-parent")
	r, err := call(t, connect(t, played(t, "environment", map[string]string{"A": "b"})), "srv_env", `{}`)
	if want := "A=b\n" + roleVariable + "=environment"; err != nil || r.Text != want {
		t.Errorf("got %q, %v, want %q", r.Text, err, want)
	}
}

// What a server started dies with it.
func TestCloseEndsTheGroup(t *testing.T) {
	t.Parallel()
	s := connect(t, played(t, "parent", map[string]string{"PATH": os.Getenv("PATH")}))
	r, err := call(t, s, "srv_child", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(r.Text)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatal("the child does not run:", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the child", func() bool { return gone(pid) })
	_, err = call(t, s, "srv_child", `{}`)
	wantFailure(t, err, "unavailable")
}

// gone says whether a process ended; one that nobody has waited for yet counts.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// A server that dies during a call leaves the outcome open, is called no second time,
// and is there again for the next call.
func TestDeathDuringACall(t *testing.T) {
	t.Parallel()
	lives := filepath.Join(t.TempDir(), "lives")
	s := connect(t, played(t, "mortal", map[string]string{"LIVES": lives}))
	_, err := call(t, s, "srv_die", `{}`)
	var lost *LostError
	if !errors.As(err, &lost) {
		t.Fatalf("got %v", err)
	}
	if f, ok := errors.AsType[*tools.Failure](err); ok {
		t.Errorf("an unknown outcome is told as known: %v", f)
	}
	if r, err := call(t, s, "srv_live", `{}`); err != nil || r.Text != "alive" {
		t.Error(r, err)
	}
	if count, err := os.ReadFile(lives); err != nil || string(count) != "x" {
		t.Errorf("it was called %q, %v", count, err)
	}
}

// records keeps what is logged.
type records struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func TestStderrIsBounded(t *testing.T) {
	t.Parallel()
	var log records
	cfg := played(t, "loud", map[string]string{"TOKEN": "s3cret-token"})
	cfg.Name, cfg.Logger = "srv", slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	eventually(t, "the bound", func() bool { return strings.Contains(log.String(), "the rest is left out") })
	text := log.String()
	if strings.Contains(text, "s3cret-token") || !strings.Contains(text, "token •••") {
		t.Error("the secret is in the log, or its line is not")
	}
	if lines := strings.Count(text, "line="); lines != maxLines {
		t.Errorf("%d lines", lines)
	}
	if strings.Contains(text, strings.Repeat("y", maxLine+1)) {
		t.Error("a line is not bounded")
	}
}

// An answer that is too large ends the session, not us; what it was an answer to is not
// known, and the server is there again for the next call.
func TestFloodOnStdout(t *testing.T) {
	t.Parallel()
	s := connect(t, played(t, "flood", nil))
	_, err := call(t, s, "srv_much", `{}`)
	if lost, ok := errors.AsType[*LostError](err); !ok {
		t.Errorf("got %.200v (%v)", err, lost)
	}
	if r, err := call(t, s, "srv_little", `{}`); err != nil || r.Text != "here" {
		t.Error(r.Text, err)
	}
}

func TestProgramThatSaysNothing(t *testing.T) {
	t.Parallel()
	cfg := played(t, "silent", nil)
	cfg.pace = quick
	cfg.pace.connect, cfg.pace.patience = 100e6, 100e6 // 100 ms
	s := begun(t, cfg)
	eventually(t, "a failed attempt", func() bool { return strings.Contains(s.Status().Error, "deadline") })
}

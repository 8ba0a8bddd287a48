package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/tools/sandbox"
)

// noContainers fails when a container under the test's own label is left.
func noContainers(t *testing.T) {
	t.Helper()
	if left := labelled(t, t.Name()); len(left) > 0 {
		t.Errorf("containers left behind: %v", left)
	}
}

func labelled(t *testing.T, label string) []string {
	t.Helper()
	ids, err := engine.Labelled(t.Context(), "countersign.sandbox="+label)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// untilRunning polls, since the engine is another process.
func untilRunning(t *testing.T, label string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		ids, err := engine.Running(t.Context(), "countersign.sandbox="+label)
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d containers of %s are running", len(ids), label)
		}
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	s := start(t)
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	noContainers(t)
}

func TestCancelledCallLeavesNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Call(ctx, call(t.Name(), "sleep 1000"))
		ended <- err
	}()
	untilRunning(t, t.Name())
	cancel()
	if err := <-ended; !hasCode(err, "cancelled") {
		t.Errorf("got %v", err)
	}
	noContainers(t)
}

func TestPanicLeavesNothing(t *testing.T) {
	t.Parallel()
	var s *sandbox.Sandbox
	armed := make(chan struct{}, 1)
	s = start(t, func(c *sandbox.Config) {
		c.Now = func() time.Time {
			select {
			case <-armed:
				panic("no time")
			default:
				return time.Now()
			}
		}
	})
	armed <- struct{}{}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nothing panicked")
			}
		}()
		_, _ = s.Call(t.Context(), call(t.Name(), "true"))
	}()
	noContainers(t)
	contains(t, run(t, s, "echo on"), "on") // and the place was given back
}

// A second attempt at a step removes what the first one left, and answers.
func TestSecondAttemptReplacesTheFirst(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := make(chan error, 1)
	go func() {
		_, err := s.Call(t.Context(), call("same", "sleep 1000"))
		first <- err
	}()
	untilRunning(t, t.Name())
	result, err := s.Call(t.Context(), call("same", "echo again"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, result.Text, "again")
	if err := <-first; err != nil && !hasCode(err, "interrupted") {
		t.Errorf("the first ended with %v", err)
	}
	noContainers(t)
}

// An engine that goes away in the middle leaves no doubt and no lasting container.
func TestEngineLostWhileRunning(t *testing.T) {
	t.Parallel()
	relay := newRelay(t, strings.TrimPrefix(realEngine(t).Host, "unix://"))
	s := start(t, func(c *sandbox.Config) { c.Host = "unix://" + relay.socket })
	ended := make(chan error, 1)
	go func() {
		_, err := s.Call(t.Context(), call("lost", "echo working; sleep 1000"))
		ended <- err
	}()
	untilRunning(t, t.Name())
	relay.breakOff()
	if err := <-ended; !hasCode(err, "interrupted") && !hasCode(err, "no_engine") {
		t.Errorf("got %v", err)
	}
	if f := failure(t, s, "true"); f.Code != "no_engine" {
		t.Errorf("got %v", f)
	}
	relay.listen(t)
	result, err := s.Call(t.Context(), call("lost", "echo again"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, result.Text, "again")
	noContainers(t)
}

func TestKilledBotIsCleanedUpAfter(t *testing.T) {
	t.Parallel()
	e := realEngine(t)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), "SANDBOX_TEST_CHILD="+e.Host)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	untilRunning(t, "killed")
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // that it was killed is no news
	start(t, func(c *sandbox.Config) { c.Label = "another" })
	if left := labelled(t, "killed"); len(left) != 1 {
		t.Errorf("another process removed what may be alive: %v", left)
	}
	start(t, func(c *sandbox.Config) { c.Label = "killed" })
	if left := labelled(t, "killed"); len(left) != 0 {
		t.Errorf("the successor left %v", left)
	}
}

// It has the engine to itself: every other test that starts would do the removing.
func TestOverdueContainersAreRemovedByAnybody(t *testing.T) {
	past := start(t, func(c *sandbox.Config) {
		c.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	})
	ended := make(chan error, 1)
	go func() {
		_, err := past.Call(t.Context(), call(t.Name(), "sleep 1000"))
		ended <- err
	}()
	untilRunning(t, t.Name())
	start(t, func(c *sandbox.Config) { c.Label = "somebody" })
	<-ended
	noContainers(t)
}

func TestTwentyAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *sandbox.Config) { c.Parallel, c.Timeout = 5, time.Minute })
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			n := strconv.Itoa(i)
			result, err := s.Call(t.Context(), call(t.Name()+n, "echo number "+n+"; exit "+n))
			if want := "exit status " + n + "\nstdout:\nnumber " + n; err != nil || result.Text != want {
				t.Errorf("got %q, %v; want %q", result.Text, err, want)
			}
		})
	}
	all.Wait()
	noContainers(t)
}

func TestFullSandboxSaysSo(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *sandbox.Config) { c.Parallel = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Call(ctx, call("first", "sleep 1000"))
		ended <- err
	}()
	untilRunning(t, t.Name())
	gone, done := context.WithCancel(t.Context())
	done()
	if _, err := s.Call(gone, call("second", "true")); !hasCode(err, "busy") {
		t.Errorf("got %v", err)
	}
	cancel()
	<-ended
}
